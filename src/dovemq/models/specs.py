"""Reads parsed TOML into structs; an error names the place in the file."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from dovemq.models.errors import ModelSpecInvalid

T = TypeVar("T")

_FIELD: Final = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
_FIELD_REASONS: Final = {"missing required": "missing", "contains unknown": "unknown key"}


class SpecTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a file. Keys that are not fields are refused."""


def read_table(content: Any, kind: type[T], place: str = "") -> T:
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        where = f"{place}{path.rstrip('`')}"
        if found := _FIELD.fullmatch(reason):
            where, reason = f"{where}.{found[2]}", _FIELD_REASONS[found[1]]
        raise ModelSpecInvalid(where.lstrip(".") or "file", reason) from None


def read_tables(content: Any, kind: type[T], place: str) -> Iterator[tuple[str, T]]:
    """Yields the tables of a table by name, or those of a list by their numbers."""
    if isinstance(content, list):
        content = {str(number): each for number, each in enumerate(content, 1)}
    if not isinstance(content, Mapping):
        raise ModelSpecInvalid(place, "tables are needed")
    for name, each in content.items():
        yield name, read_table(each, kind, f"{place}.{name}")
