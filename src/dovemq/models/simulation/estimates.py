"""An unknown figure by what was measured: mean and confidence interval.

Of several replications, each gives one value. A single one is cut into batches of its slices,
which give the values; neighbours among them still depend on each other, and `correlation` tells
how much. The interval is Student's.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from dovemq.models.simulation.checking import refuse

BATCHES: Final = 20

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """`values` are independent; `by` says of what. NaN means unknown: nothing was measured."""

    values: tuple[float, ...]
    confidence: float
    by: Literal["replications", "batches"] = "replications"

    @property
    def samples(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return math.fsum(self.values) / len(self.values) if self.values else math.nan

    @property
    def half_width(self) -> float:
        """Of the confidence interval; NaN of fewer than two values."""
        if len(self.values) < 2:
            return math.nan
        error = float(np.std(self.values, ddof=1)) / math.sqrt(len(self.values))
        return error * float(stdtrit(len(self.values) - 1, (1.0 + self.confidence) / 2.0))

    @property
    def low(self) -> float:
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        return self.mean + self.half_width

    @property
    def correlation(self) -> float:
        """Of each value with the next; NaN of fewer than three."""
        if len(self.values) < 3:
            return math.nan
        deviations = np.array(self.values) - self.mean
        squares = float(deviations @ deviations)
        return float(deviations[1:] @ deviations[:-1]) / squares if squares else 0.0

    def holds(self, value: float) -> bool:
        """Whether a value lies in the interval."""
        return abs(value - self.mean) <= self.half_width


def ratio(above: Floats, below: Floats, confidence: float) -> Estimate:
    """Of sums over the slices: both have a row per replication and a column per slice."""
    if len(above) > 1:
        return _of_sums(above.sum(1), below.sum(1), confidence, "replications")
    batches = min(BATCHES, above.shape[1])
    sums = [
        np.array([part.sum() for part in np.array_split(row[0], batches)]) for row in (above, below)
    ]
    return _of_sums(sums[0], sums[1], confidence, "batches")


def _of_sums(
    above: Floats, below: Floats, confidence: float, by: Literal["replications", "batches"]
) -> Estimate:
    """Where nothing was counted below, nothing is known: such a value is left out."""
    known = below > 0
    return Estimate(tuple((above[known] / below[known]).tolist()), confidence, by)


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Of two models run with the same seed, pair by pair: common random numbers cancel."""
    if first.samples != second.samples or first.by != second.by:
        counts = f"{first.samples} {first.by} and {second.samples} {second.by}"
        refuse("difference", counts, "as many values of the same kind on either side")
    pairs = zip(first.values, second.values, strict=True)
    return Estimate(tuple(one - other for one, other in pairs), first.confidence, first.by)
