"""Sorting of more rows than memory holds: sorted runs in one file, merged block by block."""

import bisect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Final, TypeAlias

import numpy as np

from dovemq.load.reading import Rows

Key: TypeAlias = tuple[Any, ...]

BLOCK_ROWS_MIN: Final = 32
"""A run is read in blocks of at least so many rows, however few may be held."""
RUNS_MERGED_MAX: Final = 32
"""More runs are first merged to fewer: many tiny blocks cost more than another pass."""


class Sorter:
    """Rows in order of their keys; what is equal in them stands in any order.

    Holds up to `rows_max` rows, those being sorted counted twice; a file is opened only when
    that is not enough.
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        keys: Sequence[str],
        rows_max: int,
        open_file: Callable[[], IO[bytes]],
    ) -> None:
        self._dtype = dtype
        self._keys = tuple(keys)
        self._open_file = open_file
        self._file: IO[bytes] | None = None
        self._rows_max = rows_max
        self._held: list[Rows] = []
        self._held_rows = 0
        self._runs: list[_Run] = []

    def add(self, rows: Rows) -> None:
        step = max(1, self._rows_max // 2)
        while len(rows):
            part = rows[: step - self._held_rows]
            rows = rows[len(part) :]
            self._held.append(part)
            self._held_rows += len(part)
            if self._held_rows >= step:
                self._spill()

    def blocks(self) -> Iterator[Rows]:
        """All rows, once; nothing may be added any more."""
        if self._file is None:
            if self._held:
                yield self._sorted(self._held)
            self._held = []
            return
        self._spill()
        while len(self._runs) > RUNS_MERGED_MAX:
            first = self._runs[:RUNS_MERGED_MAX]
            self._runs = [*self._runs[RUNS_MERGED_MAX:], self._written(self._merged(first))]
        yield from self._merged(self._runs)
        self._file.close()

    def _spill(self) -> None:
        if self._held:
            ordered = self._sorted(self._held)
            self._held, self._held_rows = [], 0
            self._runs.append(self._written([ordered]))

    def _written(self, blocks: Iterable[Rows]) -> "_Run":
        if self._file is None:
            self._file = self._open_file()
        file = self._file
        offset = file.seek(0, os.SEEK_END)
        count = 0
        for block in blocks:
            file.seek(0, os.SEEK_END)
            file.write(block.tobytes())
            count += len(block)
        return _Run(_FileRows(file, offset, count, self._dtype), self._keys)

    def _merged(self, runs: Sequence["_Run"]) -> Iterator[Rows]:
        """Blocks of some size, so that those who take them have little to do per block."""
        gathered: list[Rows] = []
        for block in self._merged_finely(runs):
            gathered.append(block)
            if sum(map(len, gathered)) >= self._rows_max // 4:
                yield np.concatenate(gathered)
                gathered = []
        if gathered:
            yield np.concatenate(gathered)

    def _merged_finely(self, runs: Sequence["_Run"]) -> Iterator[Rows]:
        block_rows = max(BLOCK_ROWS_MIN, self._rows_max // (2 * len(runs)))
        while runs:
            for run in runs:
                run.refill(block_rows)
            # Up to here every run is known; beyond it, one may have more that comes before.
            bound = min((run.last for run in runs if run.has_more), default=None)
            taken = [run.take_up_to(bound) for run in runs if run.reaches(bound)]
            yield self._sorted(taken)
            runs = [run for run in runs if not run.done]

    def _sorted(self, parts: Sequence[Rows]) -> Rows:
        rows = np.concatenate(parts)
        return rows[np.lexsort([rows[name] for name in reversed(self._keys)])]


class _FileRows:
    """Rows of a part of a file that are yet to be read."""

    def __init__(self, file: IO[bytes], offset: int, left: int, dtype: np.dtype[Any]) -> None:
        self.left = left
        self._file = file
        self._offset = offset
        self._dtype = dtype

    def read(self, count_max: int) -> Rows:
        count = min(count_max, self.left)
        self._file.seek(self._offset)
        data = self._file.read(count * self._dtype.itemsize)
        self._offset += len(data)
        self.left -= count
        return np.frombuffer(data, self._dtype)


class _Run:
    """One sorted run, of which a block is held between its first and its last key."""

    def __init__(self, rows: _FileRows, keys: Sequence[str]) -> None:
        self._rows = rows
        self._names = list(keys)
        self._held: Rows = np.empty(0)
        self._keys: Rows = np.empty(0)
        self._first: Key = ()
        self.last: Key = ()

    @property
    def has_more(self) -> bool:
        return bool(self._rows.left)

    @property
    def done(self) -> bool:
        return not len(self._held) and not self._rows.left

    def refill(self, block_rows: int) -> None:
        if not len(self._held):
            self._hold(self._rows.read(block_rows))

    def reaches(self, bound: Key | None) -> bool:
        return bound is None or self._first <= bound

    def take_up_to(self, bound: Key | None) -> Rows:
        count = len(self._held)
        if bound is not None and self.last > bound:
            count = bisect.bisect_right(range(count), bound, key=lambda at: self._keys[at].item())
        taken = self._held[:count]
        self._hold(self._held[count:])
        return taken

    def _hold(self, rows: Rows) -> None:
        self._held = rows
        if len(rows):
            self._keys = rows[self._names]
            self._first, self.last = self._keys[0].item(), self._keys[-1].item()


class Cursor:
    """Sorted blocks, taken by whole keys up to a bound."""

    def __init__(self, blocks: Iterator[Rows], dtype: np.dtype[Any], keys: Sequence[str]) -> None:
        self._blocks = blocks
        self._keys = list(keys)
        self._held: Rows = np.empty(0, dtype)
        self._ended = False

    @property
    def done(self) -> bool:
        return self._ended and not len(self._held)

    def last_key(self) -> Key | None:
        """The greatest key of which all lesser ones are here; None when everything is."""
        return None if self._ended else self._key(len(self._held) - 1)

    def fill(self, bound: Key | None) -> None:
        """Read on until something beyond the bound is here, or the end."""
        while not self._ended and (not len(self._held) or self.last_key() == bound):
            block = next(self._blocks, None)
            if block is None:
                self._ended = True
            else:
                self._held = np.concatenate((self._held, block)) if len(self._held) else block

    def take_below(self, bound: Key | None) -> Rows:
        count = len(self._held)
        if bound is not None:
            count = bisect.bisect_left(range(count), bound, key=self._key)
        taken, self._held = self._held[:count], self._held[count:]
        return taken

    def _key(self, at: int) -> Key:
        return tuple(self._held[self._keys][at].item())


def joined(left: Cursor, right: Cursor) -> Iterator[tuple[Rows, Rows]]:
    """Rows of both sides, part by part, with all rows of a key in the same part."""
    bound: Key | None = None
    while True:
        left.fill(bound)
        right.fill(bound)
        if left.done and right.done:
            return
        known = [key for key in (left.last_key(), right.last_key()) if key is not None]
        bound = min(known, default=None)
        yield left.take_below(bound), right.take_below(bound)
