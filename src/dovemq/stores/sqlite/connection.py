"""Opens connections to the database, and translates their errors.

The one place that knows SQLite's pragmas and error codes. Nobody else sets a pragma on an open
store, and only the writer thread's connection writes or checkpoints.
"""

import contextlib
from pathlib import Path
from typing import Final

import apsw

from dovemq.core.errors import StoreUnusable
from dovemq.system.private_files import create_private

LIBRARY_VERSION_MIN: Final = (3, 51, 3)
"""Older versions may corrupt a database when a reader meets the reset of the write-ahead log."""

BUSY_MS_MAX: Final = 10_000
CACHE_KIB: Final = 8_192
WAL_BYTES_KEPT: Final = 64 * 1024 * 1024
STATEMENTS_CACHED: Final = 64

_READ_ONLY: Final = apsw.SQLITE_OPEN_READONLY
_READ_WRITE: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


def check_library(found: str) -> None:
    version = tuple(int(part) for part in found.split("."))
    if version < LIBRARY_VERSION_MIN:
        least = ".".join(map(str, LIBRARY_VERSION_MIN))
        raise StoreUnusable("SQLite library", f"version {found}", f"install {least} or newer")


def open_reader(path: Path, vfs: str | None = None) -> apsw.Connection:
    return _open(path, _READ_ONLY, vfs)


def open_writer(path: Path, vfs: str | None = None) -> apsw.Connection:
    """A connection for writing; opening it only undoes an interrupted transaction."""
    with contextlib.suppress(OSError):
        # Made here, so that it is for its owner alone: SQLite gives the files beside it the same
        # mode. An error is left for SQLite to report.
        create_private(path)
    return _open(path, _READ_WRITE, vfs)


def start_log(connection: apsw.Connection, path: Path) -> None:
    """Switch to the write-ahead log: from now on each commit is synced."""
    mode = connection.pragma("journal_mode", "wal")
    if mode != "wal":
        raise StoreUnusable(
            str(path),
            f"the file system keeps journal mode {mode}",
            "use a local file system that supports shared memory",
        )
    connection.pragma("synchronous", "FULL")
    connection.pragma("journal_size_limit", WAL_BYTES_KEPT)
    connection.wal_autocheckpoint(0)


def _open(path: Path, flags: int, vfs: str | None) -> apsw.Connection:
    connection = apsw.Connection(
        str(path), flags=flags, vfs=vfs, statementcachesize=STATEMENTS_CACHED
    )
    connection.set_busy_timeout(BUSY_MS_MAX)
    # Closing must not write: after a failed fsync the file has to stay as it is.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.pragma("cache_size", -CACHE_KIB)
    return connection


def out_of_space(error: BaseException) -> bool:
    """Whether the disk is full, also where SQLite reports it as a failure to grow shared memory."""
    if isinstance(error, apsw.FullError):
        return True
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE


def unusable(path: Path, error: apsw.Error | OSError) -> StoreUnusable:
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        remedy = "restore a backup into an empty directory; the file was left as it is"
    elif isinstance(error, apsw.FullError):
        remedy = "free disk space"
    else:
        remedy = "check that the directory is writable and its disk is sound"
    return StoreUnusable(str(path), f"the database cannot be read ({error})", remedy)
