"""The data directory: checked, locked by one process, with a reserve for a full disk."""

import contextlib
import errno
import fcntl
import logging
import os
import shutil
from pathlib import Path
from typing import Final

from dovemq.core.errors import StoreFull, StoreUnusable
from dovemq.stores.owned.statistics import Statistics, StoreState
from dovemq.system.private_files import make_private, make_private_directory, open_private

DATABASE_NAME: Final = "dovemq.db"
SEALS_NAME: Final = "dovemq.seals"
LOCK_NAME: Final = "lock"
RESERVE_NAME: Final = "reserve"
EVIDENCE_NAME: Final = "damage"

COPY_PREFIX: Final = "http-backup-"
PARTIAL_SUFFIX: Final = ".partial"

RESERVE_BYTES_MAX: Final = 8 * 1024 * 1024
RESERVE_SHARE: Final = 8
"""The reserve takes this part of a small volume: an eighth."""

RESERVES_FREE_MIN: Final = 3
"""Sends resume when there is free space for this many reserves."""

SPACE_CHECK_MS: Final = 1_000

_OCCUPIED: Final = (errno.EAGAIN, errno.EACCES)
_DATABASE_SUFFIXES: Final = ("", "-wal", "-shm", "-journal", ".rebuilt")
_FILES: Final = (
    *(DATABASE_NAME + suffix for suffix in _DATABASE_SUFFIXES),
    SEALS_NAME,
    LOCK_NAME,
    RESERVE_NAME,
    EVIDENCE_NAME,
)
_LEFTOVERS: Final = (f"{COPY_PREFIX}*", f"{DATABASE_NAME}*{PARTIAL_SUFFIX}")

_log = logging.getLogger(__name__)


def prepare_directory(directory: Path) -> None:
    """Make the directory if it is missing; refuse it, or a file of it, that others control."""
    make_private_directory(directory)
    for name in _FILES:
        make_private(directory / name)


def remove_leftovers(directory: Path) -> None:
    """Remove half-made copies of a process that was killed. The directory must be locked."""
    for pattern in _LEFTOVERS:
        for path in directory.glob(pattern):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


class DirectoryLock:
    """A lock that is held from construction to `release`, or until the process ends."""

    def __init__(self, directory: Path) -> None:
        path = directory / LOCK_NAME
        try:
            self._file = open_private(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StoreUnusable(
                str(directory), f"cannot write there ({error.strerror})", "make it writable"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            if error.errno not in _OCCUPIED:
                raise StoreUnusable(
                    str(directory), f"cannot be locked ({error.strerror})", "use a local disk"
                ) from error
            raise StoreUnusable(
                str(directory),
                f"in use by process {holder}",
                "stop that process or choose another directory",
            ) from None
        with contextlib.suppress(OSError):
            # Only a hint for people: a full disk must not prevent the start.
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Reserve:
    """A file that is given back to the file system when it is full.

    A full disk must still take deletes, and those need two things: room in the log, and a
    checkpoint, which lets the log start from its beginning again. The database may grow during a
    checkpoint by the pages of the log. The reserve has room for that, so `size` is also the bound
    of the log between two checkpoints.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / RESERVE_NAME
        volume = os.statvfs(directory)
        share = volume.f_blocks * volume.f_frsize // RESERVE_SHARE
        # Some file systems report a size of 0.
        self.size = min(RESERVE_BYTES_MAX, share or RESERVE_BYTES_MAX)

    def make(self) -> bool:
        """Whether the reserve is there now."""
        try:
            file = open_private(self._path, os.O_RDWR | os.O_CREAT)
            try:
                os.posix_fallocate(file, 0, self.size)
            finally:
                os.close(file)
        except OSError:
            self.release()
            return False
        return True

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def free_bytes(self) -> int:
        found = os.statvfs(self._directory)
        return found.f_bavail * found.f_frsize


class Space:
    """Decides when sends stop and resume on a full disk. Looks when asked, never by itself.

    Free space is what the file system has, and the pages inside the database that deleted messages
    have left.
    """

    def __init__(self, reserve: Reserve, statistics: Statistics) -> None:
        self._reserve = reserve
        self._statistics = statistics
        self._checked_ms = 0
        self._free_pages_bytes = 0

    def ran_out(self, now_ms: int) -> None:
        self._checked_ms = now_ms

    def refuse_sends(self) -> None:
        if self._statistics.state is StoreState.OK:
            _log.error("the disk is full: sends are refused until space returns")
        self._statistics.state = StoreState.FULL

    def check_returned(self, now_ms: int) -> None:
        """Raise `StoreFull` until there is space again. Looks once a second at most."""
        if now_ms - self._checked_ms < SPACE_CHECK_MS:
            raise StoreFull()
        self._checked_ms = now_ms
        if not self._has(RESERVES_FREE_MIN):
            raise StoreFull()
        self._statistics.state = StoreState.OK

    def is_short(self, free_pages_bytes: int | None) -> bool:
        """Whether sends must stop. `free_pages_bytes` is None while the reserve is there.

        Without a reserve the last pages belong to the deletes: once a log has grown that no
        checkpoint can empty, nothing could be deleted any more.
        """
        self._free_pages_bytes = free_pages_bytes or 0
        return free_pages_bytes is not None and not self._has(1)

    def _has(self, reserves: int) -> bool:
        free = self._reserve.free_bytes() + self._free_pages_bytes
        return free >= reserves * self._reserve.size
