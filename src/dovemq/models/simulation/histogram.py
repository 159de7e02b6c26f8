"""Counts of times in bins that widen with the time: 128 per doubling, each under 0.8 % wide.

A kernel finds the bin in the bits of the float: its exponent and the first seven bits of its
mantissa. Times are relative to a scale of the model; those outside 2^−12 … 2^20 of it are counted
in the first or the last bin.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.estimates import Estimate
from dovemq.models.simulation.compiled import inlined

PER_DOUBLING: Final = 128
LEAST_EXPONENT: Final = -12
DOUBLINGS: Final = 32
BINS: Final = PER_DOUBLING * DOUBLINGS
_MANTISSA_SHIFT: Final = 52 - 7
_FIRST: Final = (1023 + LEAST_EXPONENT) * PER_DOUBLING

Whole = NDArray[np.int64]


@inlined
def bin_of(relative: float) -> int:
    bits = int(np.float64(relative).view(np.int64))
    return min(max((bits >> _MANTISSA_SHIFT) - _FIRST, 0), BINS - 1)


@dataclass(frozen=True, slots=True)
class TimeHistogram:
    """A histogram of times; `counts` has a row of bins per replication."""

    counts: Whole = field(repr=False)
    scale: float
    confidence: float

    @property
    def edges(self) -> Floats:
        """The bounds of the bins; there is one more than bins."""
        doubling, step = np.divmod(np.arange(BINS + 1), PER_DOUBLING)
        bounds: Floats = np.ldexp(1.0 + step / PER_DOUBLING, doubling + LEAST_EXPONENT)
        bounds[0] = 0.0
        return self.scale * bounds

    @property
    def shares(self) -> Floats:
        """The share of all times below each edge."""
        cumulated = np.concatenate(([0], np.cumsum(self.counts.sum(0))))
        return cumulated / max(int(cumulated[-1]), 1)

    def quantile(self, probability: float) -> Estimate:
        """Estimates a quantile by one value from each replication that counted anything."""
        checks.level(probability, "quantile")
        edges = self.edges
        rows = [row for row in self.counts if row.any()]
        values = (_quantile(row, edges, probability) for row in rows)
        return Estimate(tuple(values), self.confidence)


def _quantile(counts: Whole, edges: Floats, probability: float) -> float:
    """Interpolates as if the times of a bin were spread evenly over it."""
    cumulated = np.cumsum(counts)
    wanted = probability * int(cumulated[-1])
    place = int(np.searchsorted(cumulated, wanted))
    inside = 1.0 - (int(cumulated[place]) - wanted) / int(counts[place])
    return float(edges[place] + (edges[place + 1] - edges[place]) * inside)
