"""Sorts and joins more rows than memory holds.

Rows are kept as sorted runs, in memory or in one temporary file. Keys sampled at regular places of
all runs divide the rows into ranges of bounded size; each range is read from every run and sorted
in memory.
"""

import bisect
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.lib.recfunctions import repack_fields

from dovemq.load.reading import Rows

Key: TypeAlias = tuple[Any, ...]


@dataclass(slots=True)
class Sorter:
    """Collects rows and gives them back in the order of their keys; ties are in any order.

    At most `rows_max` rows are in memory at a time, rows that are being sorted counted twice.
    `open_file` is called only if there are more.
    """

    _dtype: np.dtype[Any]
    _keys: Sequence[str]
    rows_max: InitVar[int]
    _open_file: Callable[[], IO[bytes]] = tempfile.TemporaryFile
    _file: IO[bytes] | None = None
    _run_rows: int = field(init=False)
    _held: list[Rows] = field(default_factory=list)
    _held_rows: int = 0
    _runs: "list[_Run]" = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)
    """The ends of the runs in the file."""

    def __post_init__(self, rows_max: int) -> None:
        self._run_rows = max(1, rows_max // 2)

    def add(self, rows: Rows) -> None:
        while len(rows):
            part = rows[: self._run_rows - self._held_rows]
            rows = rows[len(part) :]
            self._held.append(part)
            self._held_rows += len(part)
            if self._held_rows >= self._run_rows:
                self._write(self._sorted_held())

    def finish(self) -> "Sequence[_Run]":
        """Ends the collection; the last run stays in memory."""
        if self._file is not None:
            self._file.flush()
            stored = np.asarray(np.memmap(self._file, self._dtype, "r"))
            self._runs += map(_Run, np.split(stored, self._ends[:-1]))
        if self._held:
            self._runs.append(_Run(self._sorted_held()))
        return self._runs

    def take(self, bound: Key | None, names: Sequence[str]) -> Rows:
        """Returns the next rows in order, up to and including the bound; None takes the rest."""
        return self._sorted([run.take(bound, names) for run in self._runs])

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _sorted_held(self) -> Rows:
        held, self._held, self._held_rows = self._held, [], 0
        return self._sorted(held)

    def _sorted(self, parts: Sequence[Rows]) -> Rows:
        rows = np.concatenate([np.empty(0, self._dtype), *parts])
        return rows[np.lexsort([rows[name] for name in reversed(self._keys)])]

    def _write(self, rows: Rows) -> None:
        if self._file is None:
            self._file = self._open_file()
        self._file.write(rows.tobytes())
        self._ends.append(len(rows) + (self._ends[-1] if self._ends else 0))


class _Run:
    """Sorted rows, of which the first `_taken` were taken already."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._taken = 0

    def keys(self, step: int, names: Sequence[str]) -> Rows:
        """Returns the key of the last row of each step."""
        rows: Rows = self._rows[:]
        keys: Rows = repack_fields(rows[step - 1 :: step][list(names)])
        return keys.copy()

    def take(self, bound: Key | None, names: Sequence[str]) -> Rows:
        start, end = self._taken, len(self._rows)
        if bound is not None:
            columns = list(names)
            end = bisect.bisect_right(
                range(end),
                bound,
                start,
                key=lambda at: tuple(self._rows[at : at + 1][columns][0].item()),
            )
        self._taken = end
        rows: Rows = self._rows[start:end]
        return rows


def in_ranges(
    sorters: Sequence[Sorter], names: Sequence[str], rows_max: int
) -> Iterator[tuple[Rows, ...]]:
    """Yields all rows in order, range by range: one array for each sorter.

    Rows that are equal in the columns `names`, with which the keys begin, are in one range. A range
    has at most `rows_max` rows, unless one key has more. The sorters are closed at the end.
    """
    runs = [run for sorter in sorters for run in sorter.finish()]
    for bound in [*(_bounds(runs, names, rows_max) if runs else ()), None]:
        parts = tuple(sorter.take(bound, names) for sorter in sorters)
        if any(map(len, parts)):
            yield parts
    for sorter in sorters:
        sorter.close()


def _bounds(runs: Sequence[_Run], names: Sequence[str], rows_max: int) -> list[Key]:
    """Returns keys with at most `rows_max` rows between two of them.

    There are as many samples as runs between two bounds, so each run adds at most one more step.
    """
    step = max(1, rows_max // (2 * len(runs)))
    samples = np.concatenate([run.keys(step, names) for run in runs])
    ordered = samples[np.lexsort([samples[name] for name in reversed(names)])]
    bounds: list[Key] = ordered[:: len(runs)].tolist()
    return bounds
