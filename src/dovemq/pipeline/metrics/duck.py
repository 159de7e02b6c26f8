"""The figures by DuckDB, in this process: for traces that one machine is enough for.

DuckDB sorts on disk what does not fit its memory.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dovemq.pipeline.metrics.accounts import ACCOUNTS, accounts, joined
from dovemq.pipeline.metrics.damage import damage_named
from dovemq.pipeline.metrics.finish import finish
from dovemq.pipeline.metrics.matching import BUCKET_ROWS, MESSAGES, match
from dovemq.pipeline.metrics.reading import (
    BATCH_ROWS,
    distribution_query,
    opened,
    requests_query,
    steps_query,
)
from dovemq.pipeline.metrics.result import (
    NONE_BAD,
    QUARANTINE,
    QUARANTINE_ROWS_MAX,
    Bad,
    Metrics,
    bad_rows,
    front_end_keys,
)
from dovemq.pipeline.metrics.sources import find_traces
from dovemq.pipeline.statements import statement

MEMORY: Final = "2GB"


def metrics_duckdb(
    places: Sequence[Path], window_us: int, *, memory: str = MEMORY, bucket_rows: int = BUCKET_ROWS
) -> Metrics:
    """`memory` is DuckDB's own; matching takes `bucket_rows` at a time beside it."""
    traces = find_traces(places)
    with damage_named(traces), opened(traces.paths, memory) as connection:
        requests = _requests(connection, window_us)
        buckets = max(1, math.ceil(traces.rows / bucket_rows))
        messages = _messages(connection, buckets, front_end_keys(requests))
        found = pa.Table.from_batches(accounts(joined(messages), window_us), ACCOUNTS)
        bad = _quarantine(connection) if bad_rows(traces, requests) else NONE_BAD
    return Metrics.of(traces, bad, requests, finish(requests, found, window_us), "duckdb")


def _requests(connection: Any, window_us: int) -> Any:
    query = distribution_query(requests_query(window_us))
    return connection.sql(query).to_arrow_table()


def _messages(connection: Any, buckets: int, keys: Sequence[int]) -> Any:
    """In order of their first leases."""
    # A cursor of its own: it is read while the other one sorts what comes of it.
    rows = connection.cursor().sql(
        statement(__package__, "buckets", steps=steps_query(), buckets=buckets)
    )
    matched = (match(table, keys) for table in _by_bucket(rows.to_arrow_reader(BATCH_ROWS)))
    batches = (batch for table in matched for batch in table.to_batches(BATCH_ROWS))
    connection.register("messages", pa.RecordBatchReader.from_batches(MESSAGES, batches))
    return connection.sql(statement(__package__, "ordered")).to_arrow_reader(BATCH_ROWS)


def _by_bucket(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches come bucket after bucket; a bucket ends where the next one begins."""
    waiting: list[Any] = []
    bucket = None
    for batch in batches:
        numbers = batch.column("bucket").to_numpy()
        edges = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist(), len(numbers)]
        for start, end in itertools.pairwise(edges):
            if waiting and numbers[start] != bucket:
                yield pa.Table.from_batches(waiting)
                waiting = []
            bucket = numbers[start]
            waiting.append(batch.slice(start, end - start))
    if waiting:
        yield pa.Table.from_batches(waiting)


def _quarantine(connection: Any) -> Bad:
    rows = connection.table("disbelieved")
    counted = rows.aggregate("reason, count(*)").order("reason").fetchall()
    return rows.limit(QUARANTINE_ROWS_MAX).to_arrow_table().cast(QUARANTINE), dict(counted)
