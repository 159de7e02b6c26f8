"""The data directory: checked, locked by one process, with a reserve for a full disk."""

import contextlib
import errno
import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

from dovemq.core.errors import StoreUnusable
from dovemq.system.private_files import make_private, make_private_directory, open_private

DATABASE_NAME: Final = "dovemq.db"
SEALS_NAME: Final = "dovemq.seals"
LOCK_NAME: Final = "lock"
RESERVE_NAME: Final = "reserve"
EVIDENCE_NAME: Final = "damage"

COPY_PREFIX: Final = "http-backup-"
PARTIAL_SUFFIX: Final = ".partial"

RESERVE_BYTES: Final = 8 * 1024 * 1024
"""Given back to the file system when it is full, so that settles can still be written."""

SPACE_BYTES_MIN: Final = 3 * RESERVE_BYTES
"""Sends resume when this much is free."""

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
    """Held from construction to `release`; the kernel lets go of it when the process dies."""

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
            # Only a hint for people; a full disk must not keep the store from opening.
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Reserve:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / RESERVE_NAME

    def make(self) -> bool:
        """Whether the reserve is there now."""
        try:
            file = open_private(self._path, os.O_RDWR | os.O_CREAT)
            try:
                os.posix_fallocate(file, 0, RESERVE_BYTES)
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
