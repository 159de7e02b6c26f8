"""Reads the journals of a run from disk, also those of clients that were killed."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovemq.core.errors import DoveError
from dovemq.load.journals import (
    DTYPES,
    HEAD_LENGTH,
    HEAD_STEP_BYTES,
    MAGIC,
    SUFFIX,
    JournalHeader,
    head_bytes,
)

Rows: TypeAlias = NDArray[Any]
"""Structured rows."""

BLOCK_ROWS: Final = 65_536
_HEAD_BYTES_MAX: Final = 1_024 * HEAD_STEP_BYTES


class JournalUnreadable(DoveError):
    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be read as a journal: {reason}")


class JournalsDiffer(DoveError):
    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is of another {what} than the journals before it: check each run by itself"
        )


class JournalsMissing(DoveError):
    def __init__(self, places: Sequence[Path]) -> None:
        found = ", ".join(map(str, places))
        super().__init__(f"no sender journal (*{SUFFIX}) in {found}: nothing can be checked")


class Source(Protocol):
    """One journal: its header, and its rows in the order in which they were written."""

    @property
    def heading(self) -> JournalHeader: ...

    def blocks(self, rows_max: int = BLOCK_ROWS) -> Iterator[Rows]: ...


class Kept(Struct, frozen=True):
    """A journal in memory."""

    heading: JournalHeader
    rows: Any

    def blocks(self, rows_max: int = BLOCK_ROWS) -> Iterator[Rows]:
        for start in range(0, len(self.rows), rows_max):
            yield self.rows[start : start + rows_max]


class JournalFile:
    """A journal on disk. Incomplete rows at its end are skipped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heading, self._offset = _opened(path)

    def blocks(self, rows_max: int = BLOCK_ROWS) -> Iterator[Rows]:
        dtype = DTYPES[self.heading.kind]
        with self.path.open("rb") as file:
            file.seek(self._offset)
            while data := file.read(rows_max * dtype.itemsize):
                whole = len(data) // dtype.itemsize * dtype.itemsize
                rows = np.frombuffer(data[:whole], dtype)
                yield rows[rows["mark"] != 0]


def open_journals(places: Iterable[Path]) -> list[JournalFile]:
    """Opens the journals of one run: files, or all journals of directories, in order of name."""
    given = list(places)
    paths: list[Path] = []
    for place in given:
        paths.extend(sorted(place.rglob(f"*{SUFFIX}")) if place.is_dir() else [place])
    journals = [JournalFile(path) for path in dict.fromkeys(paths)]
    for journal in journals:
        first = journals[0].heading
        if journal.heading.run != first.run:
            raise JournalsDiffer(journal.path, "run")
        if journal.heading.queues != first.queues:
            raise JournalsDiffer(journal.path, "list of queues")
    if not any(journal.heading.kind == "sender" for journal in journals):
        raise JournalsMissing(given)
    return journals


def _opened(path: Path) -> tuple[JournalHeader, int]:
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC) + HEAD_LENGTH.size)
            if not start.startswith(MAGIC) or len(start) < len(MAGIC) + HEAD_LENGTH.size:
                raise JournalUnreadable(path, "it has no journal header")
            (length,) = HEAD_LENGTH.unpack(start[len(MAGIC) :])
            if length > _HEAD_BYTES_MAX:
                raise JournalUnreadable(path, "its header is too long")
            return msgspec.json.decode(file.read(length), type=JournalHeader), head_bytes(length)
    except OSError as error:
        raise JournalUnreadable(path, error.strerror or str(error)) from None
    except msgspec.DecodeError as error:
        raise JournalUnreadable(path, str(error)) from None
