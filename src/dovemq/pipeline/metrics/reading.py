"""Traces asked by SQL through DuckDB: all of them in one process, or some in a task of Spark.

Spark's own reader took some 4 s of processor time for 3.5 million rows, before anything was done
to them; the questions asked here took 1.3 and 1.6 s with their reading.
"""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa

from dovemq.pipeline.metrics.digits import shortened_sql
from dovemq.pipeline.metrics.matching import LEASED, LEFT, NEVER, SENT
from dovemq.pipeline.metrics.rules import MOMENT, REASON
from dovemq.pipeline.metrics.sources import ARROW_SCHEMA
from dovemq.pipeline.statements import statement

BATCH_ROWS: Final = 131_072
TASK_MEMORY: Final = "512MB"
"""Beside Spark's own, for each task that runs at a time; what is more goes to disk."""
DISTRIBUTION: Final = pa.schema(
    [
        ("event", pa.string()),
        ("queue", pa.string()),
        ("front_end", pa.string()),
        ("window", pa.int64()),
        ("value", pa.int64()),
        ("queue_key", pa.int64()),
        ("front_end_key", pa.int64()),
        ("count", pa.int64()),
        ("total", pa.int64()),
        ("rows", pa.int64()),
        ("unnamed", pa.int64()),
        ("offset_us", pa.int64()),
        ("first_us", pa.int64()),
        ("last_us", pa.int64()),
    ]
)
"""Of response times; rows that are equal up to `value` add up."""


@contextlib.contextmanager
def opened(paths: Sequence[str], memory: str, threads: int | None = None) -> Iterator[Any]:
    """Believed rows are the view `events`, the others `disbelieved`."""
    with tempfile.TemporaryDirectory(prefix="dovemq-duckdb-") as folder, duckdb.connect() as one:
        one.execute(f"SET memory_limit = '{memory}'")
        one.execute(f"SET temp_directory = '{folder}'")
        one.execute("SET preserve_insertion_order = false")
        if threads is not None:
            one.execute(f"SET threads = {threads}")
        if paths:
            one.read_parquet(list(paths), union_by_name=True, filename=True).create_view("traces")
        else:
            one.register("no_rows", ARROW_SCHEMA.empty_table())
            one.execute("CREATE TABLE traces AS SELECT *, NULL AS filename FROM no_rows")
        one.execute(statement(__package__, "events", moment=MOMENT, reason=REASON))
        yield one


def requests_query(window_us: int) -> str:
    return statement(__package__, "requests", window_us=window_us)


def distribution_query(requests: str) -> str:
    return statement(
        __package__, "distribution", requests=requests, latency=shortened_sql("latency_us")
    )


def steps_query() -> str:
    return statement(__package__, "steps", sent=SENT, leased=LEASED, left=LEFT, never=NEVER)


def answers(batches: Iterable[Any], query: str) -> Iterator[Any]:
    """In a task of Spark, of the lists of files in the column `paths`."""
    for batch in batches:
        for paths in batch.column("paths").to_pylist():
            with opened(paths, TASK_MEMORY, threads=1) as connection:
                yield from connection.sql(query).to_arrow_reader(BATCH_ROWS)


def distributed(batches: Iterable[Any], query: str) -> Iterator[Any]:
    """In a task of Spark: requests of one bucket, of which some were found in parts."""
    parts = [batch for batch in batches if batch.num_rows]
    if parts:
        with duckdb.connect() as one:
            one.execute("SET threads = 1")
            one.register("parts", pa.Table.from_batches(parts))
            yield from one.sql(query).to_arrow_reader(BATCH_ROWS)
