"""Names the file of a trace that cannot be read."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from dovemq.pipeline.errors import StorageFailed, TraceDamaged, TracesMissing
from dovemq.pipeline.traces import NOT_PARQUET, Refusal, Traces, wrong_type

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
def spark_damage_named(places: Sequence[str]) -> Iterator[None]:
    """Wraps work of Spark, whose errors contain the name of the file."""
    try:
        yield
    except Exception as error:
        named = _named(str(error), places)
        if named is not None:
            raise named from error
        raise


@contextlib.contextmanager
def storage_named(places: Sequence[str]) -> Iterator[None]:
    """Wraps the first access to the files."""
    try:
        yield
    except Exception as error:
        if reason := _STORAGE.search(str(error)):
            raise StorageFailed(places, reason[1]) from error
        raise


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


@contextlib.contextmanager
def damage_named(traces: Traces) -> Iterator[None]:
    """Wraps work of DuckDB, whose errors seldom name the file; after an error each file is read
    again."""
    try:
        yield
    except Exception as error:
        for path in traces.files:
            if (reason := _damage(path)) is not None:
                raise TraceDamaged(path.as_uri(), reason) from error
        raise


def _damage(path: Path) -> str | None:
    try:
        with pq.ParquetFile(path) as opened:
            for group in range(opened.num_row_groups):
                opened.read_row_group(group)
    except (pa.ArrowException, OSError) as error:
        return str(error).splitlines()[0]
    return None
