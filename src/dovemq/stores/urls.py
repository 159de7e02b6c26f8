"""Where messages live, as an operator writes it: `embedded://` or `memory://`."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from dovemq.settings import SettingInvalid

EMBEDDED: Final = "embedded://"
MEMORY: Final = "memory://"


class EmbeddedPlace(Struct, frozen=True):
    directory: Path


class MemoryPlace(Struct, frozen=True):
    """Gone when the process ends."""


Place = EmbeddedPlace | MemoryPlace


def parse_store_url(url: str, data: Path) -> Place:
    if url == EMBEDDED:
        return EmbeddedPlace(data)
    if url == MEMORY:
        return MemoryPlace()
    raise SettingInvalid("store", f"{url!r} names no store", f"use {EMBEDDED} or {MEMORY}")


def parse_path(path: str | Path) -> Place:
    """What a program opens: a directory, or the URL of a store without one."""
    if isinstance(path, str) and "://" in path:
        if path == MEMORY:
            return MemoryPlace()
        raise SettingInvalid("path", f"{path!r} names no store", f"use a directory or {MEMORY}")
    return EmbeddedPlace(Path(path).expanduser())
