"""Longest increasing subsequence by patience sorting, one batch of values after another.

The state is the pile tops: `tails[k]` is the least value that ends an increasing subsequence of
length k + 1. It rises strictly, and its length is the answer; O(n log n), O(1) per value that
continues the order. The loop has two forms: compiled where numba is installed, otherwise plain.
"""

import functools
import importlib.util
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dovemq.models.consistency.columns import Integers

Extend: TypeAlias = Callable[[Integers, int, Integers], int]
"""Takes the tails with room for all values, their number and the values; returns the new number."""


def extend_plain(tails: Integers, length: int, values: Integers) -> int:
    last = int(tails[length - 1]) if length else None
    for value in values.tolist():
        if last is None or value > last:
            tails[length] = last = value
            length += 1
        else:
            place = bisect_left(tails, value, 0, length)
            tails[place] = value
            if place == length - 1:
                last = value
    return length


def _loop(tails: Any, length: int, values: Any) -> int:
    """The loop in the form that numba compiles: without outer names and calls."""
    for value in values:
        low = length
        if length and value <= tails[length - 1]:
            low, high = 0, length - 1
            while low < high:
                middle = (low + high) >> 1
                if tails[middle] < value:
                    low = middle + 1
                else:
                    high = middle
        tails[low] = value
        if low == length:
            length += 1
    return length


def extend_compiled() -> Extend:
    """Compiles the loop; raises ImportError without numba."""
    import numba

    signature = numba.int64(numba.int64[::1], numba.int64, numba.int64[::1])
    # Inside an archive numba would make a new cache for each place of the archive.
    cached = Path(__file__).exists()
    try:
        compiled: Extend = numba.njit(signature, cache=cached)(_loop)
    except RuntimeError:
        # Neither the folder of the package nor the user's cache can be written.
        compiled = numba.njit(signature)(_loop)
    return compiled


@functools.cache
def best_extend() -> Extend:
    return extend_plain if importlib.util.find_spec("numba") is None else extend_compiled()


class Piles:
    """The tails of one stream.

    It holds 8 bytes for each tail that may still change, at most one per value. `forget_below`
    keeps only the number of those that cannot.
    """

    def __init__(self, extend: Extend, tails: Integers | None = None, settled: int = 0) -> None:
        self._extend = extend
        self._tails: Integers = np.empty(0, np.int64) if tails is None else tails.copy()
        self._length = len(self._tails)
        self.settled = settled

    @property
    def longest(self) -> int:
        return self.settled + self._length

    @property
    def tails(self) -> Integers:
        return self._tails[: self._length]

    def add(self, values: Integers) -> None:
        room = self._length + len(values)
        if room > len(self._tails):
            grown = np.empty(max(room, 2 * len(self._tails)), np.int64)
            grown[: self._length] = self._tails[: self._length]
            self._tails = grown
        self._length = self._extend(self._tails, self._length, np.ascontiguousarray(values))

    def forget_below(self, floor: int) -> None:
        """Drops the tails below `floor`; no value below it comes any more, so they never change."""
        settled = int(np.searchsorted(self._tails[: self._length], floor))
        if settled:
            self._tails = self._tails[settled : self._length].copy()
            self._length -= settled
            self.settled += settled
