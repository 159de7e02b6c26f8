"""Finds the files of a trace on this machine for DuckDB, and names damaged files.

Also reads the SQL statements of the DuckDB engines.
"""

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from dovemq.pipeline.errors import StorageFailed, TraceDamaged, TracesMissing
from dovemq.pipeline.places import path_here
from dovemq.telemetry.schema import COLUMNS, Form

ENDING: Final = ".parquet"
NOT_PARQUET: Final = "it is not a readable Parquet file"
_TEXTS: Final = (pa.string(), pa.large_string())
_TYPES: Final = {"int32": pa.int32(), "label": pa.string(), "text": pa.string()}
EVENT_SCHEMA: Final = pa.schema(
    [(column.name, _TYPES.get(column.form, pa.int64())) for column in COLUMNS]
)
"""The schema of a trace; an unsigned 32-bit number is a long, as Spark has no such type."""


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


_FILE: Final = re.compile(r"Encountered error while reading file (\S+?)\.?\s")
_COLUMN: Final = re.compile(r"mismatches when reading Parquet column \[([^\]]*)\]")
_STORAGE: Final = re.compile(
    r"(No FileSystem for scheme.*|Class \S+FileSystem not found|\S*(?:ConnectException|"
    r"UnknownHostException|AccessDeniedException|NoAuthWithAWSException|UnknownStoreException).*)"
)
_NOT_PARQUET: Final = "is not a Parquet file"


class FileRefused(Exception):
    """Spark met a file that is not a trace; the others can be read without it."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


@contextlib.contextmanager
def _explained(explain: Callable[[str], Exception | None]) -> Iterator[None]:
    """Wraps work whose errors are raised as those that `explain` makes of their texts, if any."""
    try:
        yield
    except Exception as error:
        if (found := explain(str(error))) is not None:
            raise found from error
        raise


def spark_damage_named(places: Sequence[str]) -> AbstractContextManager[None]:
    """Wraps work of Spark, whose errors contain the name of the file."""
    return _explained(lambda text: _named(text, places))


def storage_named(places: Sequence[str]) -> AbstractContextManager[None]:
    """Wraps the first access to the files."""

    def explain(text: str) -> StorageFailed | None:
        reason = _STORAGE.search(text)
        return StorageFailed(places, reason[1]) if reason else None

    return _explained(explain)


def _named(text: str, places: Sequence[str]) -> Exception | None:
    if "PATH_NOT_FOUND" in text:
        return TracesMissing(places)
    file = _FILE.search(text)
    if file is None:
        return None
    if column := _COLUMN.search(text):
        return FileRefused(Refusal(file[1], wrong_type(column[1])))
    if _NOT_PARQUET in text:
        return FileRefused(Refusal(file[1], NOT_PARQUET))
    return TraceDamaged(file[1], "Spark cannot read one of its pages")


def damage_named(traces: Traces) -> AbstractContextManager[None]:
    """Wraps work of DuckDB, whose errors seldom name the file; after an error each file is read
    again."""
    return _explained(lambda _: next(filter(None, map(_damage, traces.files)), None))


def _damage(path: Path) -> TraceDamaged | None:
    try:
        with pq.ParquetFile(path) as opened:
            for group in range(opened.num_row_groups):
                opened.read_row_group(group)
    except (pa.ArrowException, OSError) as error:
        return TraceDamaged(path.as_uri(), str(error).splitlines()[0])
    return None


def statement(package: str, name: str, **expressions: object) -> str:
    """Returns the text of the file with `{names}` filled in."""
    return _text(package, name).format(**expressions)


@functools.cache
def _text(package: str, name: str) -> str:
    """Also works if the package is in an archive."""
    return resources.files(package).joinpath(f"{name}.sql").read_text()
