"""Splits sorted rows where a key changes."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


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
