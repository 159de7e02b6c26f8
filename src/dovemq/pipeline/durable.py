"""Files that are complete and on disk or do not exist, and folders locked by one process."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from dovemq.pipeline.errors import FolderTaken
from dovemq.system.private_files import sync_directory, sync_file

PARTIAL: Final = ".partial"
"""The suffix of a file that is being written; such files are removed after a crash."""


def write_durably(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file under another name, and then gives it its name, replacing an existing file."""
    partial = path.with_name(path.name + PARTIAL)
    write(partial)
    sync_file(partial)
    partial.replace(path)
    sync_directory(path.parent)


def publish_first(partial: Path, path: Path) -> bool:
    """Gives a file its name unless that exists. Returns False if another file was first.

    Removes the partial file in either case. Needs hard links.
    """
    try:
        sync_file(partial)
        with contextlib.suppress(FileExistsError):
            os.link(partial, path)
        # A file server may repeat a link whose answer was lost; then the existing file is ours.
        won = path.exists() and path.samefile(partial)
    finally:
        partial.unlink()
    sync_directory(path.parent)
    return won


def lock_of(folder: Path) -> int | None:
    """Returns a descriptor that locks the folder until it is closed, or None if it is locked."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Locks the folder for this process; raises FolderTaken if another process has it."""
    lock = lock_of(folder)
    if lock is None:
        raise FolderTaken(folder)
    try:
        yield
    finally:
        os.close(lock)
