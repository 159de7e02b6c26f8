"""Times by number, in bins that widen with the time: 128 to each doubling, under 0.8 % wide.

A kernel finds the bin in the bits of the float: its exponent and the first seven bits of its
mantissa. Times are taken relative to a scale of the model; what lies outside of 2^−12 … 2^20 of
it is counted in the first or the last bin.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models.simulation.checking import refuse
from dovemq.models.simulation.compiled import inlined
from dovemq.models.simulation.estimates import Estimate, Floats

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
class Histogram:
    """`counts` has a row of bins per replication."""

    counts: Whole = field(repr=False)
    scale: float
    confidence: float

    @property
    def edges(self) -> Floats:
        """The bounds of the bins, one more than there are bins."""
        doubling, step = np.divmod(np.arange(BINS + 1), PER_DOUBLING)
        bounds: Floats = np.ldexp(1.0 + step / PER_DOUBLING, doubling + LEAST_EXPONENT)
        bounds[0] = 0.0
        return self.scale * bounds

    @property
    def shares(self) -> Floats:
        """The share of all times that lies below each edge."""
        cumulated = np.concatenate(([0], np.cumsum(self.counts.sum(0))))
        return cumulated / max(int(cumulated[-1]), 1)

    def quantile(self, probability: float) -> Estimate:
        """One value per replication in which anything was counted."""
        if not 0 < probability < 1:
            refuse("quantile", probability, "a probability between 0 and 1")
        edges = self.edges
        rows = [row for row in self.counts if row.any()]
        values = (_quantile(row, edges, probability) for row in rows)
        return Estimate(tuple(values), self.confidence)


def _quantile(counts: Whole, edges: Floats, probability: float) -> float:
    """As if the times of one bin lay evenly in it."""
    cumulated = np.cumsum(counts)
    wanted = probability * int(cumulated[-1])
    place = int(np.searchsorted(cumulated, wanted))
    inside = 1.0 - (int(cumulated[place]) - wanted) / int(counts[place])
    return float(edges[place] + (edges[place + 1] - edges[place]) * inside)
