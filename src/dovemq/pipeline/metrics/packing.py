"""Many rows as one value, so that Spark moves some large values instead of every row.

Messages as Spark's own rows, shuffled, sorted and turned back into Arrow, took some 7 µs of Java's
time each. What has to be apart is put into values of its own: rows by bucket, messages by part and
slice of time.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dovemq.models.consistency.columns import Integers
from dovemq.pipeline.metrics.matching import NEVER

BUCKETS: Final = pa.schema([("bucket", pa.int32()), ("rows", pa.binary())])
SLICES: Final = pa.schema([("part", pa.int32()), ("slice", pa.int64()), ("rows", pa.binary())])
_ODD: Final = 1_000_003


def in_buckets(batches: Iterable[Any], key: str, buckets: int) -> Iterator[Any]:
    """Rows whose `key` is the same are in the same bucket."""
    for batch in batches:
        numbers = batch.column(key).to_numpy() % buckets
        order = np.argsort(numbers, kind="stable")
        yield from _packed(batch.take(pa.array(order)), [numbers[order]], BUCKETS)


def in_slices(tables: Iterable[Any], parts: int, slice_us: int) -> Iterator[Any]:
    """Messages of a stream are in the same part; a slice is of the time of the first lease."""
    for table in tables:
        queues, senders = (table[name].to_numpy() for name in ("queue_key", "sender_key"))
        streams = (queues ^ (senders * _ODD)) % parts
        order = _by_time(table, streams)
        slices = table["leased_us"].to_numpy()[order] // slice_us
        ordered = table.take(pa.array(order)).combine_chunks().to_batches()
        for batch in ordered:
            yield from _packed(batch, [streams[order], slices], SLICES)


def from_buckets(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        for rows in batch.column("rows"):
            yield from _unpacked(rows)


def from_slices(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables in order of time, one slice each; values come in the order of their slices."""
    waiting: list[Any] = []
    current = NEVER
    for batch in batches:
        numbers = batch.column("slice").to_pylist()
        for number, rows in zip(numbers, batch.column("rows"), strict=True):
            # What was never leased has no order, and need not be held together.
            if waiting and (number != current or number == NEVER):
                yield _merged(waiting)
                waiting = []
            current = number
            waiting.extend(_unpacked(rows))
    if waiting:
        yield _merged(waiting)


def _by_time(table: Any, *first: Integers) -> Integers:
    names = ("receive_seq", "front_end", "leased_us")
    return np.lexsort((*(table[name].to_numpy() for name in names), *first))


def _merged(batches: list[Any]) -> Any:
    table = pa.Table.from_batches(batches)
    return table.take(pa.array(_by_time(table)))


def _packed(batch: Any, numbers: list[Integers], schema: Any) -> Iterator[Any]:
    """One value for each stretch of equal numbers."""
    changes = np.ones(batch.num_rows, np.bool_)
    changes[1:] = np.any([column[1:] != column[:-1] for column in numbers], axis=0)
    starts = np.flatnonzero(changes)
    ends = [*starts[1:].tolist(), batch.num_rows]
    values = [_value(batch.slice(a, b - a)) for a, b in zip(starts.tolist(), ends, strict=True)]
    columns = [pa.array(column[starts]).cast(schema.types[at]) for at, column in enumerate(numbers)]
    if values:
        yield pa.record_batch([*columns, pa.array(values, pa.binary())], schema)


def _value(rows: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    value: bytes = sink.getvalue().to_pybytes()
    return value


def _unpacked(value: Any) -> Iterator[Any]:
    yield from pa.ipc.open_stream(value.as_buffer())
