"""The output of commands: tables for people, JSON for programs, progress of long work."""

import argparse
import asyncio
import contextlib
import datetime
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, TextIO, TypeVar

import msgspec

from dovemq.cli.command import OK

Result = TypeVar("Result")
Columns = Mapping[str, str | Callable[[Any], object]]
"""The columns of a table by their heads: a key of each record, or a function of it."""

PROGRESS_AFTER_SECONDS: Final = 2.0
PROGRESS_EVERY_SECONDS: Final = 0.2
PROGRESS_LINE_EVERY_SECONDS: Final = 10.0
STOP_EVERY_SECONDS: Final = 0.2


def json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def print_result(
    args: argparse.Namespace, value: Any, text: str | Callable[[], object], code: int = OK
) -> int:
    """Print `value` under --json, else `text`, which may be a function that prints.

    The result is `code`, the exit code of the command.
    """
    if args.json:
        print(json_text(value))
    elif isinstance(text, str):
        print(text)
    else:
        text()
    return code


def fields(value: object, *names: str) -> dict[str, Any]:
    """The named attributes of a value, for a JSON document. Infinity and NaN become null there."""
    return {name: getattr(value, name) for name in names}


def print_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns that are as wide as their longest cell, with numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    numeric = [
        bool(cells) and all(row[place].isdecimal() for row in cells) for place in range(len(heads))
    ]
    for row in [list(heads), *cells]:
        aligned = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        print("  ".join(aligned).rstrip())


def print_records(records: Iterable[Any], columns: Columns) -> None:
    """Print a row for each record. A value that is missing or empty is shown as a dash."""
    cells = [column if callable(column) else itemgetter(column) for column in columns.values()]
    rows = [[cell(record) for cell in cells] for record in records]
    print_table(
        tuple(columns), [["-" if cell in (None, "") else cell for cell in row] for row in rows]
    )


def print_pairs(pairs: Iterable[tuple[str, object]]) -> None:
    for line in pair_lines(pairs):
        print(line)


def pair_lines(pairs: Iterable[tuple[str, object]]) -> list[str]:
    listed = list(pairs)
    width = max((len(name) for name, _ in listed), default=0)
    return [f"{name.ljust(width)}  {value}" for name, value in listed]


def time_text(at_ms: int | None) -> str:
    """A time such as `2026-01-31 12:00:00Z`, or `never` for None."""
    if at_ms is None:
        return "never"
    moment = datetime.datetime.fromtimestamp(at_ms // 1_000, datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%SZ}"


def size_text(size_bytes: int) -> str:
    """A size such as `1.5 KiB`."""
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


@dataclass(slots=True)
class Progress:
    """A line about running work on standard error, for `async with`.

    On a terminal the line appears after two seconds and is overwritten as the work goes on.
    Elsewhere a new line is written every ten seconds. `text` is called for each update.
    """

    text: Callable[[], str]
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    after_seconds: float = PROGRESS_AFTER_SECONDS
    line_every_seconds: float = PROGRESS_LINE_EVERY_SECONDS
    _length: int = 0
    _task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        ticking = self._tick() if self.stream.isatty() else self._tick_lines()
        self._task = asyncio.get_running_loop().create_task(ticking)

    async def __aexit__(self, *error: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._length:
            self._write("")
            self.stream.write("\r")
            self.stream.flush()

    async def _tick(self) -> None:
        await asyncio.sleep(self.after_seconds)
        while True:
            self._write(self.text())
            await asyncio.sleep(PROGRESS_EVERY_SECONDS)

    async def _tick_lines(self) -> None:
        while True:
            await asyncio.sleep(self.line_every_seconds)
            print(self.text(), file=self.stream, flush=True)

    def _write(self, text: str) -> None:
        self.stream.write("\r" + text.ljust(self._length))
        self.stream.flush()
        self._length = len(text)


def working(
    text: Callable[[], str],
    work: Callable[[], Result],
    stop: Callable[[], object] = lambda: None,
) -> Result:
    """Run `work` in a thread, with a line about its progress; Ctrl-C interrupts it.

    After an interruption `stop` is called repeatedly until the work has ended.
    """

    async def run() -> Result:
        async with Progress(text):
            doing = asyncio.get_running_loop().run_in_executor(None, work)
            try:
                return await asyncio.shield(doing)
            except asyncio.CancelledError:
                while not doing.done():
                    stop()
                    await asyncio.wait([doing], timeout=STOP_EVERY_SECONDS)
                # asyncio warns about an exception that nobody retrieves.
                doing.exception()
                raise

    return asyncio.run(run())
