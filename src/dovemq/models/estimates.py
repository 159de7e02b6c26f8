"""Estimates of unknown figures with their confidence intervals.

An `Estimate` is a mean of independent values with the interval of Student's t. Each replication of
a simulation gives one value. A single replication is cut into batches of its slices, which give
the values; neighbouring batches still depend on each other, and `correlation` says how much. A
`Parameter` is what calibration estimates: a rate, a variability or a share.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dovemq.models.errors import ModelParameterInvalid

CONFIDENCE: Final = 0.95

Source: TypeAlias = Literal["replications", "batches", "formula"]


def t_quantile(confidence: float, samples: int) -> float:
    """Returns the half width of a two-sided interval in standard errors of the mean."""
    # Imported late, so that nets can be read and run without scipy.
    from scipy.special import stdtrit

    return float(stdtrit(samples - 1, (1.0 + confidence) / 2.0))


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean between bounds: of an estimate, or computed from several, such as a ratio."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval. NaN means unknown: nothing was measured.

    `by` says where the values come from. The value of a formula is exact and has no width.
    """

    values: tuple[float, ...]
    confidence: float = CONFIDENCE
    by: Source = "replications"

    def __post_init__(self) -> None:
        if not 0.0 < self.confidence < 1.0:
            raise ModelParameterInvalid("confidence", self.confidence, "a number between 0 and 1")

    @property
    def samples(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values) if self.values else math.nan

    @property
    def least(self) -> float:
        return min(self.values, default=math.nan)

    @property
    def most(self) -> float:
        return max(self.values, default=math.nan)

    @property
    def half_width(self) -> float:
        """Half the width of the interval; NaN for fewer than two values."""
        if self.by == "formula":
            return 0.0
        if len(self.values) < 2:
            return math.nan
        count, deviations = len(self.values), self._deviations()
        error = math.sqrt(math.fsum(each * each for each in deviations) / (count - 1) / count)
        return error * t_quantile(self.confidence, count)

    @property
    def low(self) -> float:
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        return self.mean + self.half_width

    @property
    def interval(self) -> Interval:
        return Interval(self.mean, self.low, self.high)

    @property
    def known(self) -> bool:
        return math.isfinite(self.mean)

    @property
    def correlation(self) -> float:
        """The correlation of each value with the next; NaN for fewer than three."""
        if len(self.values) < 3:
            return math.nan
        deviations = self._deviations()
        squares = math.fsum(each * each for each in deviations)
        pairs = math.fsum(one * other for one, other in itertools.pairwise(deviations))
        return pairs / squares if squares else 0.0

    def holds(self, value: float) -> bool:
        """Says whether a value lies in the interval."""
        return abs(value - self.mean) <= self.half_width

    def _deviations(self) -> list[float]:
        mean = self.mean
        return [value - mean for value in self.values]

    def scaled(self, factor: float) -> "Estimate":
        values = tuple(factor * value for value in self.values)
        return Estimate(values, self.confidence, self.by)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a model as it was estimated, with an interval that need not be symmetric.

    `error` is the standard error: of the logarithm for rates and scvs, of a share itself.
    """

    value: float
    low: float
    high: float
    samples: int
    error: float = math.nan

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def exact(value: float) -> Estimate:
    return Estimate((value,), by="formula")


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Compares two models that ran with the same seed, pair by pair.

    Both had the same random numbers, so most of the noise cancels out.
    """
    if first.samples != second.samples or first.by != second.by:
        counts = f"of {first.samples} {first.by} and {second.samples} {second.by}"
        raise ModelParameterInvalid("difference", counts, "the same number of values of one kind")
    pairs = zip(first.values, second.values, strict=True)
    return Estimate(tuple(one - other for one, other in pairs), first.confidence, first.by)
