"""Confidence intervals of a mean over independent runs, by Student's t.

Owns the quantile, computed from the closed form of the distribution for a whole number of degrees
of freedom, so that no table and no library is needed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_BISECTIONS: Final = 200


@dataclass(frozen=True, slots=True)
class Interval:
    """`half_width` is None where fewer than two values give no width."""

    count: int
    mean: float | None
    half_width: float | None
    least: float | None
    most: float | None

    def holds(self, value: float) -> bool:
        if self.mean is None or self.half_width is None:
            return False
        return abs(value - self.mean) <= self.half_width


def interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    if not values:
        return Interval(0, None, None, None, None)
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Interval(count, mean, None, mean, mean)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    width = t_quantile((1 + confidence) / 2, count - 1) * math.sqrt(variance / count)
    return Interval(count, mean, width, min(values), max(values))


def t_quantile(share: float, freedom: int) -> float:
    """The value below which a share of Student's t of so many degrees of freedom lies."""
    if freedom < 1 or not 0.5 <= share < 1:
        raise ValueError("quantiles of at least one half, and one degree of freedom or more")
    low, high = 0.0, 1.0
    while t_share(high, freedom) < share and high < 1e12:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if t_share(middle, freedom) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def t_share(value: float, freedom: int) -> float:
    """The share of Student's t below a value ≥ 0 (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(value / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    if freedom == 1:
        inner = 2 * angle / math.pi
    elif freedom % 2:
        term = total = cosine
        for step in range(3, freedom - 1, 2):
            term *= cosine * cosine * (step - 1) / step
            total += term
        inner = 2 / math.pi * (angle + sine * total)
    else:
        term = total = 1.0
        for step in range(2, freedom - 1, 2):
            term *= cosine * cosine * (step - 1) / step
            total += term
        inner = sine * total
    return (1 + inner) / 2
