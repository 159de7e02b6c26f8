"""The data directory: made private, locked by one process, with a reserve for a full disk."""

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import Final

from dovemq.core.errors import StoreUnusable

DATABASE_NAME: Final = "dovemq.db"
LOCK_NAME: Final = "lock"
RESERVE_NAME: Final = "reserve"

RESERVE_BYTES: Final = 8 * 1024 * 1024
"""Given back to the file system when it is full, so that settles can still be written."""

SPACE_BYTES_MIN: Final = 3 * RESERVE_BYTES
"""Sends resume when this much is free."""

_OCCUPIED: Final = (errno.EAGAIN, errno.EACCES)


class DirectoryLock:
    """Held from construction to `release`; the kernel lets go of it when the process dies."""

    def __init__(self, directory: Path) -> None:
        path = directory / LOCK_NAME
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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


def make_directory(directory: Path) -> None:
    """Private when made here; an existing one keeps its mode."""
    if directory.is_dir():
        return
    try:
        directory.mkdir(mode=0o700, parents=True)
        sync_directory(directory.parent)
    except OSError as error:
        raise StoreUnusable(
            str(directory), f"cannot be made a directory ({error.strerror})", "choose another"
        ) from error


def sync_directory(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
