"""The log of the faults of a run: time, course, decision and effect.

It has one JSON document per line, with the fault specification first, and can be read back for a
replay.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Final, Self

import msgspec
from msgspec import Struct

from dovemq.load.faults.decisions import Decision, Mishap
from dovemq.load.faults.spec import FaultSpec, FaultSpecInvalid

LINE_BYTES_MAX: Final = 65_536


class FaultLogHeader(Struct, frozen=True):
    spec: FaultSpec
    seed: int


class FaultLogEntry(Struct, frozen=True):
    """One fault. `number` is its position in the course, from 0; `effect` describes what it did.

    `fired` is false if the fault had no effect, such as failing syncs when there was no sync.
    """

    at_ms: int
    course: str
    number: int
    decision: Decision
    effect: str = ""
    fired: bool = True


class FaultLog:
    """Writes to a new file, or only counts if there is no path."""

    def __init__(
        self,
        heading: FaultLogHeader,
        path: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.fired: Counter[Mishap] = Counter()
        self._monotonic = monotonic
        self._start = monotonic()
        self._file: IO[bytes] | None = path.open("xb") if path else None
        self._encode = msgspec.json.Encoder().encode
        self._write(heading)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file:
            self._file.close()

    def note(
        self, course: str, number: int, decision: Decision, effect: str = "", *, fired: bool = True
    ) -> None:
        self.fired[decision.mishap] += fired
        at_ms = round(1_000 * (self._monotonic() - self._start))
        self._write(FaultLogEntry(at_ms, course, number, decision, effect, fired))

    def _write(self, value: FaultLogHeader | FaultLogEntry) -> None:
        if self._file:
            self._file.write(self._encode(value) + b"\n")
            self._file.flush()


def read_log(path: Path) -> tuple[FaultLogHeader, Mapping[str, Mapping[int, Decision]]]:
    """Reads a log; an incomplete last line is skipped."""
    logged: dict[str, dict[int, Decision]] = {}
    decode = msgspec.json.Decoder(FaultLogEntry).decode
    try:
        with path.open("rb") as file:
            heading = msgspec.json.decode(file.readline(LINE_BYTES_MAX), type=FaultLogHeader)
            for line in file:
                if line.endswith(b"\n"):
                    entry = decode(line)
                    logged.setdefault(entry.course, {})[entry.number] = entry.decision
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FaultSpecInvalid(str(path), f"not a log of faults ({error})") from None
    except OSError as error:
        raise FaultSpecInvalid(str(path), error.strerror or str(error)) from None
    return heading, logged
