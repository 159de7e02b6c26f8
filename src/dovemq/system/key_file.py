"""The root account's access key: created at the first start, in a file of the data directory.

Only the owner can read the file, and it is never overwritten. To replace a lost key, remove the
file: the next start makes a new one.
"""

import contextlib
import os
import secrets
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from dovemq.core.access import AccessKey, Choose, new_key_id, new_secret
from dovemq.core.errors import StoreUnusable
from dovemq.system.private_files import (
    check_closed,
    make_private_directory,
    new_private_file,
    open_private,
)

KEY_FILE: Final = "root-key.json"
KEY_FILE_BYTES_MAX: Final = 4_096


class _KeyFile(Struct, frozen=True, forbid_unknown_fields=True):
    access_key_id: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_]{16,128}\Z")]
    secret_access_key: Annotated[str, Meta(pattern=r"\A[!-~]{16,128}\Z")]


def key_path(directory: Path) -> Path:
    return directory / KEY_FILE


def read_key(path: Path, account: str) -> AccessKey:
    """The key; refuses a file that others can read or have planted."""
    try:
        with open(open_private(path, os.O_RDONLY), "rb") as file:
            found = os.fstat(file.fileno())
            text = file.read(KEY_FILE_BYTES_MAX + 1)
        # Root may read the key of another user's data directory, as its owner left it.
        trusted = (os.geteuid(), 0, path.parent.stat().st_uid)
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
        raise StoreUnusable(str(path), reason, "start the service once to make it") from None
    if found.st_uid not in trusted:
        remedy = "remove it, and the next start makes a new key"
        raise StoreUnusable(str(path), f"belongs to user {found.st_uid}", remedy)
    check_closed(path, found.st_mode)
    try:
        kept = msgspec.json.decode(text, type=_KeyFile)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise StoreUnusable(
            str(path), "is not a key file", "remove it, and the next start makes a new key"
        ) from None
    return AccessKey(kept.access_key_id, kept.secret_access_key, account)


def ensure_key(directory: Path, choose: Choose = secrets.choice) -> Path:
    """The path of the key file, which is created with its directory if it does not exist."""
    path = key_path(directory)
    make_private_directory(directory)
    if path.exists():
        return path
    key = _KeyFile(new_key_id(choose), new_secret(choose))
    try:
        # A file that came in between is left as it is.
        with contextlib.suppress(FileExistsError), new_private_file(path) as file:
            file.write(msgspec.json.format(msgspec.json.encode(key)) + b"\n")
    except OSError as error:
        found = f"cannot be made ({error.strerror})"
        raise StoreUnusable(str(path), found, "make the directory writable") from None
    return path
