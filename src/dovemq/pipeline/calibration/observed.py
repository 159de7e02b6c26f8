"""The observations of a trace: small tables that are the same from every engine."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
from msgspec import Struct

from dovemq.pipeline.traces import Refusal

SLICES: Final = 20
"""Slices of a front end's time. Neighbouring requests are correlated, slices hardly."""

_TIMES: Final = pa.schema(
    [
        ("kind", pa.string()),
        ("place", pa.string()),
        ("stream", pa.string()),
        ("bin", pa.int64()),
        ("count", pa.int64()),
        ("independent", pa.int64()),
        ("sum_us", pa.int64()),
    ]
)
_OUTCOMES: Final = pa.schema(
    [
        ("queue", pa.string()),
        ("settled", pa.int64()),
        ("failed", pa.int64()),
        ("leased", pa.int64()),
        ("first_us", pa.int64()),
        ("last_us", pa.int64()),
    ]
)
_PRESENCES: Final = pa.schema(
    [
        ("queue", pa.string()),
        ("client", pa.string()),
        ("messages", pa.int64()),
        ("first_us", pa.int64()),
        ("last_us", pa.int64()),
    ]
)
_FRONT_ENDS: Final = pa.schema(
    [
        ("front_end", pa.string()),
        ("first_us", pa.int64()),
        ("last_us", pa.int64()),
        ("slice", pa.int64()),
        ("event", pa.string()),
        ("requests", pa.int64()),
        ("latency_us", pa.int64()),
        ("busy_us", pa.int64()),
    ]
)
SCHEMAS: Final[Mapping[str, Any]] = {
    "times": _TIMES,
    "outcomes": _OUTCOMES,
    "presences": _PRESENCES,
    "front_ends": _FRONT_ENDS,
}
"""The schemas by table."""
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
    def of(cls, table: Callable[[str], Any], **told: Any) -> "Observed":
        """Collects the tables; their rows may be in any order."""
        tables = {}
        for name, schema in SCHEMAS.items():
            order = [(column, "ascending") for column in KEYS[name]]
            tables[name] = table(name).cast(schema).sort_by(order).combine_chunks()
        return cls(tables, **told)
