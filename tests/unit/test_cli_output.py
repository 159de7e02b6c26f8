"""Tables, sizes and the progress line."""

import asyncio
import io
import itertools
import os
import signal
import threading

import pytest

from dovemq.cli.output import Progress, print_pairs, print_table, size_text, working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_table_is_as_wide_as_its_cells_with_numbers_to_the_right(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("QUEUE", "N"), [("a", 5), ("longer", 1234)])
    assert capsys.readouterr().out == "QUEUE      N\na          5\nlonger  1234\n"


def test_table_without_rows_is_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("QUEUE", "N"), [])
    assert capsys.readouterr().out == "QUEUE  N\n"


def test_pairs_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    print_pairs([("a", 1), ("longer", "x")])
    assert capsys.readouterr().out == "a       1\nlonger  x\n"


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")],
)
def test_sizes_are_shown_in_readable_units(size: int, text: str) -> None:
    assert size_text(size) == text


async def test_progress_is_written_over_and_wiped_at_the_end() -> None:
    stream = Terminal()

    shown = asyncio.Event()

    def text() -> str:
        shown.set()
        return "7 done"

    async with Progress(text, stream, after_seconds=0):
        await shown.wait()
    assert stream.getvalue() == "\r7 done\r      \r"


async def test_progress_is_a_line_now_and_then_where_there_is_no_terminal() -> None:
    stream = io.StringIO()

    done = itertools.count(1)
    enough = asyncio.Event()

    def text() -> str:
        number = next(done)
        if number == 3:
            enough.set()
        return f"{number} done"

    async with Progress(text, stream, line_every_seconds=0):
        await enough.wait()
    assert stream.getvalue() == "1 done\n2 done\n3 done\n"


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
async def test_short_work_has_no_progress(stream: io.StringIO) -> None:
    async with Progress(lambda: "7 done", stream):
        await asyncio.sleep(0)
    assert stream.getvalue() == ""


class Stopped(Exception):
    """The failure of work that was asked to stop."""


def test_interrupted_work_is_asked_to_stop_until_it_has_ended() -> None:
    started, asked = threading.Event(), threading.Semaphore(0)

    def work() -> None:
        started.set()
        for _ in range(3):
            asked.acquire()
        raise Stopped

    def interrupt() -> None:
        started.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        working(lambda: "", work, asked.release)
    assert started.is_set()


def test_work_that_ends_is_not_asked_to_stop() -> None:
    asked: list[bool] = []
    assert working(lambda: "", lambda: 7, lambda: asked.append(True)) == 7
    with pytest.raises(Stopped):
        working(lambda: "", _fail, lambda: asked.append(True))
    assert asked == []


def _fail() -> None:
    raise Stopped
