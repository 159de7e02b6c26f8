"""Slopes of memory and descriptors over a run, with intervals, and what follows from them.

One value is the mean of the later half of a quiet spell, so that a fault under way is no part of
it. Neighbouring values depend on each other: the interval is that of as many independent values as
the correlation of the residuals leaves.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from dovemq.experiments.figure import Verdict
from dovemq.models.estimates import CONFIDENCE, Estimate, Interval, t_quantile

LATER_SHARE: Final = 2 / 3
"""Slopes are those of this last part of the run: caches fill before it."""
POINTS_MIN: Final = 5
HOUR_SECONDS: Final = 3_600.0


class Sample(Struct, frozen=True):
    """A look at a process. `pid` tells whether it is still the same one."""

    at_s: float
    process: str
    pid: int
    resident_bytes: int
    descriptors: int


def spell_means(
    samples: Sequence[Sample], spells: Sequence[tuple[float, float]], field: str, from_s: float
) -> list[tuple[float, float]]:
    """The mean time and the mean value of the later half of each quiet spell that begins then or
    later: a fault may last a little longer than its turn."""
    found = []
    for begin, end in spells:
        inside = [each for each in samples if (begin + end) / 2 <= each.at_s < end]
        if inside and begin >= from_s:
            times, values = zip(
                *((each.at_s, float(getattr(each, field))) for each in inside), strict=True
            )
            found.append((sum(times) / len(times), sum(values) / len(values)))
    return found


def slope_per_hour(points: Sequence[tuple[float, float]]) -> Interval:
    """The line of least squares; its interval is infinite if there are too few values."""
    if len(points) < POINTS_MIN:
        return Interval(math.nan, -math.inf, math.inf)
    times, values = np.array(points, dtype=float).T / np.array([[HOUR_SECONDS], [1.0]])
    slope, start = np.polyfit(times, values, 1)
    residuals = values - (start + slope * times)
    if np.allclose(values, values[0]):
        return Interval(0.0, 0.0, 0.0)
    correlation = Estimate(tuple(residuals.tolist())).correlation
    # A negative correlation would make the interval narrower than that of independent values.
    independent = len(points) * (1 - max(0.0, correlation)) / (1 + max(0.0, correlation))
    if independent < POINTS_MIN:
        return Interval(float(slope), -math.inf, math.inf)
    error = float(np.sum(residuals**2)) / float(np.sum((times - times.mean()) ** 2))
    # A line has two parameters, where the quantile is that of a mean.
    half = t_quantile(CONFIDENCE, int(independent) - 1) * math.sqrt(error / (independent - 2))
    return Interval(float(slope), float(slope) - half, float(slope) + half)


def bounded(claim: str, slope: Interval, bar: float, unit: str, points: int) -> Verdict:
    """Holds if the whole interval is below the bar, and does not if the whole is above it."""
    holds: bool | None = None
    if slope.high <= bar:
        holds = True
    elif slope.low > bar:
        holds = False
    found = (
        f"{slope.mean:+.2f} {unit} an hour, 95 % interval {slope.low:+.2f} to {slope.high:+.2f}, "
        f"from {points} quiet spells"
    )
    return Verdict(claim, f"upper end of the interval at most {bar:g} {unit} an hour", holds, found)
