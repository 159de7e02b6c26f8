"""Which files hold a trace: their rows as their footers tell, and why others are refused.

The columns that are read are named here, with the Arrow types in which they may come.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from dovemq.pipeline.errors import TracesMissing
from dovemq.telemetry.schema import COLUMNS, Form

ENDING: Final = ".parquet"
READ: Final = (
    "ts_us",
    "event",
    "queue",
    "message_id",
    "sender",
    "send_seq",
    "receive_seq",
    "client",
    "front_end",
    "body_crc32",
    "latency_us",
    "at_us",
    "it_us",
    "ot_us",
)
FORMS: Final[Mapping[str, Form]] = {
    column.name: column.form for column in COLUMNS if column.name in READ
}
_TEXTS: Final = (pa.string(), pa.large_string())
_NUMBERS: Final = {"int32": pa.int32(), "int64": pa.int64(), "uint32": pa.uint32()}
ARROW_SCHEMA: Final = pa.schema(
    [(name, _NUMBERS.get(form, pa.string())) for name, form in FORMS.items()]
)


class TraceFile(Struct, frozen=True):
    path: Path
    rows: int


class Refusal(Struct, frozen=True):
    """`rows` is 0 where nobody can count them."""

    path: Path
    rows: int
    reason: str


class Traces(Struct, frozen=True):
    files: tuple[TraceFile, ...]
    refused: tuple[Refusal, ...]

    @property
    def rows(self) -> int:
        """Of the files that are read."""
        return sum(file.rows for file in self.files)

    @property
    def paths(self) -> list[str]:
        return [str(file.path) for file in self.files]


def find_traces(places: Sequence[Path]) -> Traces:
    """Files, and all Parquet files in and below directories; each once."""
    found = list(dict.fromkeys(path.resolve() for path in _paths(places)))
    if not found:
        raise TracesMissing(places)
    looked = [_look(path) for path in found]
    return Traces(
        tuple(each for each in looked if isinstance(each, TraceFile)),
        tuple(each for each in looked if isinstance(each, Refusal)),
    )


def readable_traces(places: Sequence[Path]) -> Traces:
    """Not without a file that can be read."""
    traces = find_traces(places)
    if not traces.files:
        raise TracesMissing(places)
    return traces


def _paths(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_dir():
            yield from sorted(place.rglob(f"*{ENDING}"))
        elif place.exists():
            yield place
        else:
            raise TracesMissing([place])


def _look(path: Path) -> TraceFile | Refusal:
    try:
        with pq.ParquetFile(path) as file:
            rows, schema = file.metadata.num_rows, file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        return Refusal(path, 0, f"it is no Parquet file: {str(error).splitlines()[0]}")
    for name, form in FORMS.items():
        if name not in schema.names:
            return Refusal(path, rows, f"it has no column {name}")
        if not _is_of(schema.field(name).type, form):
            return Refusal(path, rows, f"its column {name} is {schema.field(name).type}, no {form}")
    return TraceFile(path, rows)


def _is_of(found: Any, form: Form) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    return found in _TEXTS if form in ("label", "text") else found == _NUMBERS[form]
