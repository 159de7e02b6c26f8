"""A histogram of whole numbers: adding costs a search in a short tuple and two additions."""

from bisect import bisect_left
from collections.abc import Sequence


class BucketHistogram:
    """`counts[i]` are the values up to `bounds[i]`, the last one those above all bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0

    def add(self, value: int) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value
