"""The root account's access key: created at the first start, in a file of the data directory.

Only its owner can read the file, and it is never overwritten. To replace a lost key, remove the
file; the next start creates a new one.
"""

import contextlib
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from dovemq.core.access import AccessKey, Choose, new_key_id, new_secret
from dovemq.core.errors import StoreUnusable

KEY_FILE: Final = "root-key.json"
KEY_FILE_BYTES_MAX: Final = 4_096


class _KeyFile(Struct, frozen=True, forbid_unknown_fields=True):
    access_key_id: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_]{16,128}\Z")]
    secret_access_key: Annotated[str, Meta(pattern=r"\A[!-~]{16,128}\Z")]


def key_path(directory: Path) -> Path:
    return directory / KEY_FILE


def read_key(path: Path, account: str) -> AccessKey:
    """Read the key; a file that others can read is refused."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(KEY_FILE_BYTES_MAX + 1)
    except OSError as error:
        found = f"cannot be read ({error.strerror})"
        raise StoreUnusable(str(path), found, "start the service once to make it") from None
    if stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO):
        raise StoreUnusable(
            str(path), f"others may read it (mode {stat.S_IMODE(mode):04o})", "chmod 600 it"
        )
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
    if path.exists():
        return path
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = _KeyFile(new_key_id(choose), new_secret(choose))
        _create(path, msgspec.json.format(msgspec.json.encode(key)) + b"\n")
    except OSError as error:
        found = f"cannot be made ({error.strerror})"
        raise StoreUnusable(str(path), found, "make the directory writable") from None
    return path


def _create(path: Path, contents: bytes) -> None:
    """Create a file, complete and durable; an existing file is left unchanged."""
    # A random name: a killed process leaves its draft, and process ids are reused.
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with open(descriptor, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
