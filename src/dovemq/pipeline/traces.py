"""Finds the files of a trace on this machine, for DuckDB, and the files that are refused."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from dovemq.pipeline.errors import TracesMissing
from dovemq.pipeline.places import path_here
from dovemq.telemetry.schema import COLUMNS, Form

ENDING: Final = ".parquet"
NOT_PARQUET: Final = "it is not a readable Parquet file"
_TEXTS: Final = (pa.string(), pa.large_string())
_NUMBERS: Final = {"int32": pa.int32(), "int64": pa.int64(), "uint32": pa.uint32()}
EVENT_SCHEMA: Final = pa.schema(
    [(column.name, _NUMBERS.get(column.form, pa.string())) for column in COLUMNS]
)


def wrong_type(column: str) -> str:
    return f"its column {column} has another type than in a trace"


class Refusal(Struct, frozen=True):
    """A file that is not read; `file` is its URI."""

    file: str
    reason: str


class Traces(Struct, frozen=True):
    files: tuple[Path, ...]
    rows: int
    refused: tuple[Refusal, ...]

    @property
    def paths(self) -> list[str]:
        return [str(file) for file in self.files]


def find_traces(places: Sequence[str]) -> Traces:
    """Finds files, and all Parquet files in and below directories, each once."""
    found = list(dict.fromkeys(path.resolve() for path in _paths(places)))
    if not found:
        raise TracesMissing(places)
    looked = [_look(path) for path in found]
    return Traces(
        tuple(path for path, rows in zip(found, looked, strict=True) if isinstance(rows, int)),
        sum(rows for rows in looked if isinstance(rows, int)),
        tuple(each for each in looked if isinstance(each, Refusal)),
    )


def _paths(places: Iterable[str]) -> Iterator[Path]:
    for place in places:
        path = path_here(place)
        if path.is_dir():
            yield from sorted(path.rglob(f"*{ENDING}"))
        elif path.exists():
            yield path
        else:
            raise TracesMissing([place])


def _look(path: Path) -> int | Refusal:
    """Returns the number of rows from the footer, or why the file is refused."""
    try:
        with pq.ParquetFile(path) as file:
            rows, schema = file.metadata.num_rows, file.schema_arrow
    except (pa.ArrowException, OSError):
        return Refusal(path.as_uri(), NOT_PARQUET)
    for column in COLUMNS:
        place = schema.get_field_index(column.name)
        if place >= 0 and not _is_of(schema.field(place).type, column.form):
            return Refusal(path.as_uri(), wrong_type(column.name))
    return int(rows)


def _is_of(found: Any, form: Form) -> bool:
    """A trace that Spark has rewritten has integers of another size."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    return found in _TEXTS if form in ("label", "text") else bool(pa.types.is_integer(found))
