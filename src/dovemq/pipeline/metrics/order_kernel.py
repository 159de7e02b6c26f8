"""Measures the order of streams slice by slice, which Spark has no expression for.

`measured_slices` runs on all slices in parallel. It measures the part between the first and the
last clean cut of a slice, and passes on the rows outside of it. `measured_streams` measures those
rows of a whole stream: joined in order, they are again a sequence with clean cuts at the joints. A
stream without clean cuts is passed on whole, and measured by one task, slice after slice. A clean
cut of a stream is also one of its windows, so the same pieces give the figures of the windows.

Both take rows sorted by stream, slice and time of receiving. A stream is measured twice: by the
sender's own numbers (`numbered`), and by the times of the commits (`committed`), which are used if
one number belongs to several messages.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovemq.models.consistency import (
    LOWEST_SEQ,
    Consistency,
    OrderTally,
    clean_cuts,
    order_of,
    ranks,
)
from dovemq.models.consistency.columns import Integers


def runs(batches: Iterable[Any], names: Sequence[str]) -> Iterator[Any]:
    """Yields a table for each run of rows that are equal in the columns `names`."""
    waiting: list[Any] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        edges = [0, *_changes(batch, names), batch.num_rows]
        if waiting and not _continues(waiting[-1], batch, names):
            yield pa.Table.from_batches(waiting)
            waiting = []
        for start, end in itertools.pairwise(edges):
            if waiting and start:
                yield pa.Table.from_batches(waiting)
                waiting = []
            waiting.append(batch.slice(start, end - start))
    if waiting:
        yield pa.Table.from_batches(waiting)


def _changes(batch: Any, names: Sequence[str]) -> list[int]:
    changes = np.zeros(batch.num_rows - 1, np.bool_)
    for name in names:
        column = batch.column(name)
        changes |= pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    return [int(place) + 1 for place in np.flatnonzero(changes)]


def _continues(before: Any, batch: Any, names: Sequence[str]) -> bool:
    last = before.num_rows - 1
    return all(before.column(name)[last] == batch.column(name)[0] for name in names)


NUMBERED: Final = "numbered"
COMMITTED: Final = "committed"
_VALUES: Final = {NUMBERED: "send_seq", COMMITTED: "sent_us"}
_NOTHING_BEFORE: Final = np.iinfo(np.int64).min
_NOTHING_AFTER: Final = np.iinfo(np.int64).max
COUNTS: Final = ("ordered", "out_of_order", "displacement", "duplicates")
_TEXT, _NUMBER = pa.string(), pa.int64()
PIECES: Final = pa.schema(
    [
        *(("queue", _TEXT), ("sender", _TEXT), ("window", _NUMBER), ("slice", _NUMBER)),
        *(("kind", _TEXT), ("place", _NUMBER), ("value", _NUMBER), ("least_after", _NUMBER)),
        *((name, _NUMBER) for name in COUNTS),
    ]
)
"""One row of counts for each slice and kind, with `place` −1, and one for each value that is
passed on. `least_after` is the least value of all later slices."""
STREAMS: Final = pa.schema(
    [
        *(("queue", _TEXT), ("sender", _TEXT), ("kind", _TEXT), ("window", _NUMBER)),
        *((name, _NUMBER) for name in COUNTS),
    ]
)
"""One row for each stream and kind, with `window` null, and one for each window of it."""


def measured_slices(batches: Iterable[Any]) -> Iterator[Any]:
    """Takes slices with `send_seq` and `sent_us`, and the extremes of both before and after
    each."""
    for rows in runs(batches, ("queue", "sender", "slice")):
        for kind in _VALUES:
            yield _measured_slice(rows, kind)


def _measured_slice(rows: Any, kind: str) -> Any:
    name = _VALUES[kind]
    places = np.flatnonzero(pc.is_valid(rows[name]).to_numpy())
    values = rows[name].drop_null().to_numpy()
    least_after = _bound(rows, f"{name}_after", _NOTHING_AFTER)
    most_before = _bound(rows, f"{name}_before", _NOTHING_BEFORE)
    cuts = clean_cuts(values, most_before, least_after, ties=kind == COMMITTED)
    first, last = cuts or (len(values), len(values))
    found = _order(values[first:last], kind)
    left = np.r_[0:first, last : len(values)]
    if kind == NUMBERED and (repeated := len(values) - len(np.unique(values))):
        # The numbers of this stream are not used, so there is nothing to pass on.
        found, left = Consistency(duplicates=repeated), left[:0]
    count = 1 + len(left)
    zeros = np.zeros(len(left), np.int64)
    columns = [
        *(pa.repeat(rows[name][0], count) for name in ("queue", "sender", "window", "slice")),
        pa.repeat(kind, count),
        pa.array(np.r_[-1, places[left]]),
        pa.concat_arrays([pa.nulls(1, pa.int64()), pa.array(values[left])]),
        pa.repeat(least_after, count),
        *(pa.array(np.r_[getattr(found, name), zeros]) for name in COUNTS),
    ]
    return pa.record_batch(columns, schema=PIECES)


def _bound(rows: Any, name: str, otherwise: int) -> int:
    value: int | None = rows[name][0].as_py()
    return otherwise if value is None else value


def measured_streams(batches: Iterable[Any]) -> Iterator[Any]:
    """Takes rows of `PIECES`, and yields rows of `STREAMS`."""
    stream: _Stream | None = None
    window: _Stream | None = None
    for rows in runs(batches, ("queue", "sender", "kind", "slice")):
        key = tuple(rows[name][0].as_py() for name in ("queue", "sender", "kind"))
        window_key = (*key, rows["window"][0].as_py())
        if window is not None and window.key != window_key:
            yield window.row()
            window = None
        if stream is not None and stream.key != (*key, None):
            yield stream.row()
            stream = None
        stream, window = stream or _Stream((*key, None)), window or _Stream(window_key)
        stream.add(rows)
        window.add(rows)
    for last in (window, stream):
        if last is not None:
            yield last.row()


class _Stream:
    """A stream or a window, measured by one kind of values. `key` is the start of a row.

    Numbers are released once no smaller one can come, so memory holds the disorder. Times of
    commits may be equal and are ranked at the end: they take 8 bytes each.
    """

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key
        self._committed = key[2] == COMMITTED
        self._measured = Consistency()
        self._tally = OrderTally(LOWEST_SEQ)
        self._times: list[Integers] = []

    def add(self, slice_rows: Any) -> None:
        sums = {name: pc.sum(slice_rows[name]).as_py() for name in COUNTS}
        self._measured += Consistency(**sums)
        values = slice_rows["value"].drop_null().to_numpy()
        if self._committed:
            self._times.append(values)
            return
        self._tally.add(values)
        least_after = slice_rows["least_after"][0].as_py()
        if least_after != _NOTHING_AFTER:
            self._tally.give_up(least_after)

    def row(self) -> Any:
        rest = self._tally.result()
        if self._times:
            rest = _order(np.concatenate(self._times), COMMITTED)
        found = self._measured + rest
        values = [*self.key, *(getattr(found, name) for name in COUNTS)]
        return pa.record_batch(
            [pa.array([value], kind) for value, kind in zip(values, STREAMS.types, strict=True)],
            schema=STREAMS,
        )


def _order(values: Integers, kind: str) -> Consistency:
    return order_of(values) if kind == NUMBERED else order_of(ranks(values))
