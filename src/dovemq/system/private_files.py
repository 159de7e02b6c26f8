"""Files and directories that only their owner may use.

A data directory holds messages and the secrets of access keys. Whoever can write to it, or can
plant a link in it, can read or replace all of that. The checks here therefore accept a file only if
it belongs to the user of this process or to root, is no symbolic link, and is closed to others.
"""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from dovemq.core.errors import StoreUnusable

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_NO_LINK: Final = "replace the link by the file itself, or remove it if you did not make it"


def make_private_directory(directory: Path) -> None:
    """Make the directory if it is missing; refuse it if another user could change what is in it."""
    try:
        directory.mkdir(mode=0o700, parents=True)
        sync_directory(directory.parent)
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreUnusable(
            str(directory), f"cannot be made a directory ({error.strerror})", "choose another"
        ) from error
    check_private_directory(directory)


def check_private_directory(directory: Path) -> None:
    """Refuse a directory that another user controls, or in which one could change something."""
    # The owner of a symbolic link decides where it leads.
    _check_owner(directory, directory.lstat().st_uid)
    found = directory.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise StoreUnusable(str(directory), "is not a directory", "choose another")
    _check_owner(directory, found.st_uid)
    if found.st_mode & _OTHERS_WRITE:
        raise StoreUnusable(
            str(directory),
            f"other users may write to it (mode {stat.S_IMODE(found.st_mode):04o})",
            "look for files in it that you did not make, then run chmod go-w on it",
        )


def make_private(path: Path) -> None:
    """Take away other users' access to the file; refuse it if that fails or a check does.

    A missing file passes.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise StoreUnusable(str(path), "is a symbolic link", _NO_LINK)
    _check_owner(path, found.st_uid)
    if not found.st_mode & _OTHERS:
        return
    with contextlib.suppress(PermissionError):
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
    check_closed(path, path.lstat().st_mode)


def check_closed(path: Path, mode: int) -> None:
    if mode & _OTHERS:
        raise StoreUnusable(
            str(path), f"others may read it (mode {stat.S_IMODE(mode):04o})", "chmod 600 it"
        )


def check_shown(path: Path, found: os.stat_result) -> None:
    """Check a secret that an operator, or root for this process, has put where it is to be read.

    Root may leave it readable by a group: systemd's credentials and the volumes of Kubernetes give
    a file of root to a service in this way.
    """
    _check_owner(path, found.st_uid)
    is_lent = found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IXGRP)
    check_closed(path, found.st_mode & ~stat.S_IRGRP if is_lent else found.st_mode)


def open_private(path: Path, flags: int) -> int:
    """A descriptor of the file, which is for its owner alone if it is made here."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreUnusable(str(path), "is a symbolic link", _NO_LINK) from None
        raise


def create_private(path: Path) -> None:
    """Make an empty file for its owner alone; raises `FileExistsError` if something is there."""
    os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))


@contextlib.contextmanager
def new_private_file(path: Path, *, replace: bool = False) -> Iterator[BinaryIO]:
    """A new file that gets its name, durably, when the block ends without an error.

    Until then it has a random name beside `path`, made exclusively: a link that somebody planted
    is never followed. If `path` exists by then, the file replaces it or raises `FileExistsError`.
    """
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        try:
            # Unlike a rename, a link does not replace a file that came in between.
            (os.rename if replace else os.link)(name, path)
        except PermissionError:
            # The file system has no hard links.
            os.rename(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
    sync_directory(path.absolute().parent)


def sync_file(path: Path) -> None:
    _sync(path, os.O_RDONLY)


def sync_directory(directory: Path) -> None:
    _sync(directory, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_owner(path: Path, owner: int) -> None:
    user = os.geteuid()
    if owner not in (user, 0):
        raise StoreUnusable(
            str(path),
            f"belongs to user {owner}, and this process runs as user {user}",
            f"run it as user {owner}, or chown it if you trust what is in it",
        )
