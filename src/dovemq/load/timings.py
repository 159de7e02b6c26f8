"""Response times of any number of requests in little room, and their quantiles.

Times fall into steps of about one per cent, so a quantile is right to that; least, greatest, sum
and count are exact. What several processes measured is added up.
"""

import math
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

STEPS_PER_DOUBLING: Final = 64
DOUBLINGS_MAX: Final = 36
"""Of microseconds: 19 hours."""
_STEP_MAX: Final = STEPS_PER_DOUBLING * DOUBLINGS_MAX


class Times(Struct, frozen=True):
    """In milliseconds."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    greatest: float


class Timings:
    def __init__(self) -> None:
        self._steps: dict[int, int] = {}
        self._sum_us = 0
        self._most_us = 0

    def add(self, time_us: int) -> None:
        step = min(int(math.log2(max(time_us, 1)) * STEPS_PER_DOUBLING), _STEP_MAX)
        self._steps[step] = self._steps.get(step, 0) + 1
        self._sum_us += time_us
        if time_us > self._most_us:
            self._most_us = time_us

    def __len__(self) -> int:
        return sum(self._steps.values())

    def quantile_us(self, share: float) -> float:
        """0 where nothing was measured."""
        wanted = share * len(self)
        passed = 0
        for step in sorted(self._steps):
            passed += self._steps[step]
            if passed >= wanted:
                return min(_middle_us(step), float(self._most_us))
        return 0.0

    def times(self) -> Times:
        count = len(self)
        mean_us = self._sum_us / count if count else 0.0
        quantiles = (self.quantile_us(share) for share in (0.5, 0.95, 0.99))
        p50, p95, p99 = (round(each / 1e3, 3) for each in quantiles)
        return Times(count, round(mean_us / 1e3, 3), p50, p95, p99, self._most_us / 1e3)

    def packed(self) -> "Packed":
        return Packed(sorted(self._steps.items()), self._sum_us, self._most_us)


class Packed(Struct, frozen=True):
    """Timings on their way from one process to another."""

    steps: list[tuple[int, int]] = []
    sum_us: int = 0
    most_us: int = 0


def joined(parts: Iterable[Packed]) -> Timings:
    whole = Timings()
    for part in parts:
        for step, count in part.steps:
            whole._steps[step] = whole._steps.get(step, 0) + count
        whole._sum_us += part.sum_us
        whole._most_us = max(whole._most_us, part.most_us)
    return whole


def _middle_us(step: int) -> float:
    return float(2 ** ((step + 0.5) / STEPS_PER_DOUBLING))
