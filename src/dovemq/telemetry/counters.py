"""Counters without labels: histograms, and the outcomes and times of each operation."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

_US_BOUNDS: Final = (
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    5_000_000, 20_000_000,
)  # fmt: skip
REQUEST_NS_BOUNDS: Final = tuple(us * 1_000 for us in _US_BOUNDS)
UNNAMED: Final = "(none)"
"""The operation of a request that was refused before its operation was known."""


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


class OperationTally(BucketHistogram):
    """The times of one operation in nanoseconds, and its refused and failed requests."""

    __slots__ = ("failed", "refused")

    def __init__(self) -> None:
        super().__init__(REQUEST_NS_BOUNDS)
        self.refused = 0
        self.failed = 0

    def count(self, status: int, ns: int) -> None:
        self.add(ns)
        if status >= 500:
            self.failed += 1
        elif status >= 400:
            self.refused += 1

    @property
    def answered(self) -> int:
        return sum(self.counts) - self.refused - self.failed


class RequestMeter:
    def __init__(self, operations: Iterable[str]) -> None:
        self.operations = {name: OperationTally() for name in (*operations, UNNAMED)}
