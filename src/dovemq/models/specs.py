"""Reads parsed TOML into structs, where an error names the place in the file, and writes TOML."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from dovemq.models.errors import ModelSpecInvalid

T = TypeVar("T")

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
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


def toml_text(content: Mapping[str, Any], place: str = "") -> str:
    """Writes tables of texts, numbers, flags, lists and tables, as `tomllib` reads them."""
    tables = {key: each for key, each in content.items() if isinstance(each, Mapping)}
    lines = [f"{_key(key)} = {_value(content[key])}" for key in content if key not in tables]
    if place and (lines or not tables):
        lines.insert(0, f"[{place}]")
    texts = ["".join(f"{line}\n" for line in lines)] if lines else []
    for key, each in tables.items():
        texts.append(toml_text(each, f"{place}.{_key(key)}" if place else _key(key)))
    return "\n".join(texts)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
        return f"{{ {pairs} }}"
    return repr(value)
