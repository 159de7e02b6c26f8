"""Estimates with intervals from the samples of a window, without numpy.

Means and squared coefficients of variation (scv) are estimated on the scale of their logarithm, by
the influence of each sample; the quantile of Student's t is its expansion in 1/n (Fisher and
Cornish). Samples are taken as independent. `calibration/intervals.py` has the exact methods.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

Z_95: Final = 1.959963984540054
"""The quantile of the normal distribution for intervals of 95 %."""
SAMPLES_MIN: Final = 10
"""Fewer samples give no estimate."""


@dataclass(frozen=True, slots=True)
class LiveFigure:
    """A figure with its interval of 95 %, and the number of samples behind it."""

    value: float
    low: float
    high: float
    samples: int


def known_figure(value: float) -> LiveFigure:
    """Returns a figure that somebody has set, which has no width."""
    return LiveFigure(value, value, value, 0)


def mean_figure(values: Sequence[float]) -> LiveFigure | None:
    """Estimates the mean; None for too few values, or if all are 0."""
    size = len(values)
    mean = math.fsum(values) / size if size >= SAMPLES_MIN else 0.0
    if mean <= 0.0:
        return None
    square = math.fsum((value / mean - 1.0) ** 2 for value in values) / (size - 1)
    return _around(mean, math.sqrt(square / size), size)


def scv_figure(values: Sequence[float]) -> LiveFigure | None:
    """Estimates the squared coefficient of variation; None for too few values."""
    size = len(values)
    mean = math.fsum(values) / size if size >= SAMPLES_MIN else 0.0
    if mean <= 0.0:
        return None
    deviations = [value / mean - 1.0 for value in values]
    variance = math.fsum(each * each for each in deviations) / size
    if variance == 0.0:
        return LiveFigure(0.0, 0.0, 0.0, size)
    square = math.fsum((each * each / variance - 1.0 - 2.0 * each) ** 2 for each in deviations) / (
        size - 1
    )
    return _around(variance * size / (size - 1), math.sqrt(square / size), size)


def rate_figure(count: int, seconds: float, scv: float) -> LiveFigure | None:
    """Estimates a rate from a count; its error is that of a renewal process with this scv."""
    if count < SAMPLES_MIN or seconds <= 0.0:
        return None
    return _around(count / seconds, math.sqrt(scv / count), count)


def quantile(values: Sequence[float], level: float) -> float | None:
    """Returns the smallest value that so many of all values do not exceed; None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(math.ceil(level * len(ordered)) - 1, 0)]


def _around(value: float, relative_error: float, samples: int) -> LiveFigure:
    width = math.exp(_t_95(samples - 1) * relative_error)
    return LiveFigure(value, value / width, value * width, samples)


def _t_95(freedom: int) -> float:
    z = Z_95
    first = (z**3 + z) / (4 * freedom)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return z + first + second
