"""Where messages live, as an operator writes it: `embedded://` or `memory://`."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.settings import SettingInvalid

EMBEDDED: Final = "embedded://"
MEMORY: Final = "memory://"


class EmbeddedLocation(Struct, frozen=True):
    directory: Path


class MemoryLocation(Struct, frozen=True):
    """Gone when the process ends."""


StoreLocation = EmbeddedLocation | MemoryLocation


def parse_store_url(url: str, data: Path) -> StoreLocation:
    if url == EMBEDDED:
        return EmbeddedLocation(data)
    if url == MEMORY:
        return MemoryLocation()
    raise SettingInvalid("store", f"{url!r} names no store", f"use {EMBEDDED} or {MEMORY}")


def parse_path(path: str | Path) -> StoreLocation:
    """What a program opens: a directory, or the URL of a store without one."""
    if isinstance(path, str) and "://" in path:
        if path == MEMORY:
            return MemoryLocation()
        raise SettingInvalid("path", f"{path!r} names no store", f"use a directory or {MEMORY}")
    return EmbeddedLocation(Path(path).expanduser())
