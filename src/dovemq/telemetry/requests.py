"""Counters of requests: the outcomes and times of each operation."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

_US_BOUNDS: Final = (
    250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    5_000_000, 20_000_000,
)  # fmt: skip
REQUEST_NS_BOUNDS: Final = tuple(us * 1_000 for us in _US_BOUNDS)
UNNAMED: Final = "(none)"
"""The operation of a request that was refused before its operation was known."""


class OperationTally:
    """A histogram of times, and counts of refused and failed requests. It is on the hot path."""

    __slots__ = ("counts", "failed", "ns_total", "refused")

    def __init__(self) -> None:
        self.refused = 0
        self.failed = 0
        self.counts = [0] * (len(REQUEST_NS_BOUNDS) + 1)
        self.ns_total = 0

    def add(self, status: int, ns: int) -> None:
        self.counts[bisect_left(REQUEST_NS_BOUNDS, ns)] += 1
        self.ns_total += ns
        if status >= 400:
            if status < 500:
                self.refused += 1
            else:
                self.failed += 1

    @property
    def answered(self) -> int:
        return sum(self.counts) - self.refused - self.failed


class RequestMeter:
    def __init__(self, operations: Iterable[str]) -> None:
        self.operations = {name: OperationTally() for name in (*operations, UNNAMED)}
        self.unnamed = self.operations[UNNAMED]
