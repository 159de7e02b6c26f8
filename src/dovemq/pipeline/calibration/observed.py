"""The observations of a trace: small tables that are the same from every engine."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
from msgspec import Struct

from dovemq.pipeline.traces import Refusal

SLICES: Final = 20
"""Slices of a front end's time. Neighbouring requests are correlated, slices hardly."""

_TEXTS: Final = ("kind", "place", "stream", "queue", "client", "front_end", "event")
"""The columns of text; all others are whole numbers."""
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "times": ("kind", "place", "stream", "bin", "count", "independent", "sum_us"),
    "outcomes": ("queue", "settled", "failed", "leased", "first_us", "last_us"),
    "presences": ("queue", "client", "messages", "first_us", "last_us"),
    "front_ends": (
        *("front_end", "first_us", "last_us", "slice", "event"),
        *("requests", "latency_us", "busy_us"),
    ),
}
"""The columns of each table."""
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "times": ("kind", "place", "stream", "bin"),
    "outcomes": ("queue",),
    "presences": ("queue", "client"),
    "front_ends": ("front_end", "slice", "event"),
}
"""The columns that identify a row, and by which rows are sorted."""


class Observed(Struct, frozen=True):
    """The tables. `rows` were read, `quarantined` of them are invalid, `refused` files were not
    read."""

    tables: Mapping[str, Any]
    rows: int
    quarantined: int
    refused: tuple[Refusal, ...]
    engine: str

    @classmethod
    def of(cls, table: Callable[[str], Any], **counts: Any) -> "Observed":
        """Collects the tables, whose rows may be in any order; `counts` are the other fields."""
        tables = {}
        for name, columns in COLUMNS.items():
            order = [(column, "ascending") for column in KEYS[name]]
            found = table(name).select(columns).cast(_schema(columns))
            tables[name] = found.sort_by(order).combine_chunks()
        return cls(tables, **counts)


def _schema(columns: Iterable[str]) -> pa.Schema:
    return pa.schema([(each, pa.string() if each in _TEXTS else pa.int64()) for each in columns])
