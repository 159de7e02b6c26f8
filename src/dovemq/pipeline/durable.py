"""Files that are there whole, and on disk, or not at all; folders that one process works in."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

PARTIAL: Final = ".partial"
"""Ends the name of a file that is being written; whoever finds one after a crash removes it."""


def write_durably(path: Path, write: Callable[[Path], object]) -> None:
    partial = path.with_name(path.name + PARTIAL)
    write(partial)
    publish(partial, path)


def publish(partial: Path, path: Path) -> None:
    """What was written gets its name; one that was there is replaced."""
    _sync(partial)
    partial.replace(path)
    _sync(path.parent)


def publish_first(partial: Path, path: Path) -> bool:
    """The file gets its name unless that exists; False: another file was first.

    The partial file is removed in either case. Needs hard links.
    """
    try:
        _sync(partial)
        with contextlib.suppress(FileExistsError):
            os.link(partial, path)
        # A file server may repeat a link whose answer was lost: then the existing file is ours.
        won = path.exists() and path.samefile(partial)
    finally:
        partial.unlink()
    _sync(path.parent)
    return won


def lock_of(folder: Path) -> int | None:
    """A descriptor that holds the folder until it is closed; None while another process does."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


@contextlib.contextmanager
def locked(folder: Path, taken: Exception) -> Iterator[None]:
    """The folder is this process's meanwhile; `taken` is raised while it is another's."""
    lock = lock_of(folder)
    if lock is None:
        raise taken
    try:
        yield
    finally:
        os.close(lock)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
