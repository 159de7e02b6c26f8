"""Folders for the files of a trace: a directory of this machine, or one of another file system.

A file has its name only when it is complete. In a directory a file is written under a name that
ends in `.partial`, synced and then renamed. A killed process may leave such a partial file, which
the next start in that directory removes.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from dovemq.system.private_files import sync_directory

PREFIX: Final = "trace-"
SUFFIX: Final = ".parquet"
PARTIAL: Final = ".partial"
_ANY_NUMBER: Final = 1 << 62


class PendingFile(Protocol):
    """A file that is being written; readers do not see it yet."""

    @property
    def sink(self) -> Any:
        """The object or path that Arrow writes to."""

    @property
    def full(self) -> bool:
        """Whether the file has reached its size."""

    def publish(self) -> None:
        """Give the file its name.

        If this fails, there is no file. On an object store there may be a complete one, since the
        reply to the last request can be lost.
        """

    def discard(self) -> None:
        """Remove the file, whatever its state. This never fails."""


class Folder(Protocol):
    """A folder of trace files. One thread uses it; other processes may use the same folder."""

    @property
    def removals_max(self) -> int:
        """The most files to remove after one was added: each removal costs a request."""

    def begin(self, name: str) -> PendingFile: ...

    def whole_files(self) -> list[tuple[str, int]]:
        """The names and sizes in bytes of all complete files, the oldest first."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is still there."""


class LocalFolder:
    removals_max: Final = _ANY_NUMBER

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._remove_leftovers()

    def begin(self, name: str) -> "LocalPendingFile":
        return LocalPendingFile(self._directory / name)

    def whole_files(self) -> list[tuple[str, int]]:
        return list(self._sized())

    def remove(self, name: str) -> None:
        (self._directory / name).unlink(missing_ok=True)

    def _sized(self) -> Iterator[tuple[str, int]]:
        # Names begin with the time.
        for path in sorted(self._directory.glob(f"{PREFIX}*{SUFFIX}")):
            with contextlib.suppress(FileNotFoundError):
                # Another front end may remove files of the same directory.
                yield path.name, path.stat().st_size

    def _remove_leftovers(self) -> None:
        """Remove partial files that no process has locked."""
        for left in self._directory.glob(f"{PREFIX}*{SUFFIX}{PARTIAL}"):
            with contextlib.suppress(OSError), left.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()


class LocalPendingFile:
    full: Final = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path.with_name(path.name + PARTIAL)
        self._descriptor = os.open(self._partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        # Locked until the end: it tells this file from one that a dead process left.
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @property
    def sink(self) -> str:
        return str(self._partial)

    def publish(self) -> None:
        os.fsync(self._descriptor)
        self._partial.rename(self._path)
        sync_directory(self._path.parent)
        os.close(self._descriptor)

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
        with contextlib.suppress(OSError):
            self._partial.unlink()
