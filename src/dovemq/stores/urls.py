"""The location of a store, parsed from `embedded://`, `memory://` or a directory."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.settings import SettingInvalid

EMBEDDED: Final = "embedded://"
MEMORY: Final = "memory://"


class EmbeddedLocation(Struct, frozen=True):
    directory: Path


class MemoryLocation(Struct, frozen=True):
    """Memory of the process: messages are gone when it ends."""


StoreLocation = EmbeddedLocation | MemoryLocation


def parse_store_url(url: str, data: Path) -> StoreLocation:
    if url == EMBEDDED:
        return EmbeddedLocation(data)
    if url == MEMORY:
        return MemoryLocation()
    raise SettingInvalid("store", f"{url!r} names no store", f"use {EMBEDDED} or {MEMORY}")


def parse_path(path: str | Path) -> StoreLocation:
    """The location that `dovemq.open` is given: a directory, or `memory://`."""
    if isinstance(path, str) and "://" in path:
        if path == MEMORY:
            return MemoryLocation()
        raise SettingInvalid("path", f"{path!r} names no store", f"use a directory or {MEMORY}")
    return EmbeddedLocation(Path(path).expanduser())
