"""Response times of any number of requests in bounded memory, and their quantiles.

Times fall into steps of at most 1.6 %, so a quantile is exact to half a step. Maximum, sum and
count are exact. The timings of several processes can be added up.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

STEP_BITS: Final = 6
"""A doubling has 64 steps; below 128 µs each microsecond is a step."""


class Times(Struct, frozen=True):
    """Response times in milliseconds."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    greatest: float


class Timings(Struct):
    """The number of requests in each step."""

    steps: dict[int, int] = {}
    sum_us: int = 0
    most_us: int = 0

    def add(self, time_us: int) -> None:
        step = _step(time_us)
        self.steps[step] = self.steps.get(step, 0) + 1
        self.sum_us += time_us
        if time_us > self.most_us:
            self.most_us = time_us

    def quantile_us(self, share: float) -> float:
        """Returns 0 if nothing was measured."""
        wanted = share * sum(self.steps.values())
        passed = 0
        for step in sorted(self.steps):
            passed += self.steps[step]
            if passed >= wanted:
                return min(_middle_us(step), float(self.most_us))
        return 0.0

    def times(self) -> Times:
        count = sum(self.steps.values())
        mean_us = self.sum_us / count if count else 0.0
        quantiles = (self.quantile_us(share) for share in (0.5, 0.95, 0.99))
        p50, p95, p99 = (round(each / 1e3, 3) for each in quantiles)
        return Times(count, round(mean_us / 1e3, 3), p50, p95, p99, self.most_us / 1e3)


def joined(parts: Iterable[Timings]) -> Timings:
    steps: Counter[int] = Counter()
    sum_us = most_us = 0
    for part in parts:
        steps.update(part.steps)
        sum_us += part.sum_us
        most_us = max(most_us, part.most_us)
    return Timings(dict(steps), sum_us, most_us)


def _step(time_us: int) -> int:
    doublings = time_us.bit_length() - STEP_BITS - 1
    return (doublings << STEP_BITS) + (time_us >> doublings) if doublings > 0 else time_us


def _middle_us(step: int) -> float:
    doublings = (step >> STEP_BITS) - 1
    if doublings <= 0:
        return float(step)
    least = step - (doublings << STEP_BITS)
    return (least + 0.5) * (1 << doublings)
