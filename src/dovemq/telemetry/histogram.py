"""A histogram of whole numbers in fixed buckets."""

from bisect import bisect_left
from collections.abc import Sequence


class BucketHistogram:
    """`counts[i]` is the number of values up to `bounds[i]`; the last is for those above all."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0

    def add(self, value: int) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value
