"""The measurements of all replications as columns, and the estimates that are made of them."""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dovemq.models.checks import Floats
from dovemq.models.estimates import Estimate, Source
from dovemq.models.simulation.histogram import TimeHistogram
from dovemq.models.simulation.runs import SimulationRun

BATCHES: Final = 20


class ReplicationArrays(Protocol):
    """The arrays of one replication after its end."""

    @property
    def series(self) -> Floats: ...
    @property
    def histogram(self) -> NDArray[np.int64]: ...


class SeriesColumns:
    """Sums by replication and slice of time; slice 0 is the warm-up."""

    def __init__(self, replications: Sequence[ReplicationArrays], run: SimulationRun) -> None:
        self._series: Floats = np.array([each.series for each in replications])
        self._counts: NDArray[np.int64] = np.array([each.histogram for each in replications])
        self._confidence = run.confidence
        self._slice_length = run.horizon / run.slices

    def column(self, *places: int, warm: int = 1) -> Floats:
        """The sum of columns, a row per replication; from slice `warm` on."""
        total: Floats = self._series[:, warm:, list(places)].sum(2)
        return total

    def over_time(self, figures: Floats, per: float = 1) -> Estimate:
        length = np.full(figures.shape, per * self._slice_length)
        return ratio(figures, length, self._confidence)

    def each(self, above: Floats, below: Floats) -> Estimate:
        return ratio(above, below, self._confidence)

    def histogram(self, scale: float) -> TimeHistogram:
        return TimeHistogram(self._counts.sum(1), scale, self._confidence)

    def histograms(self, names: Sequence[str], scale: float) -> dict[str, TimeHistogram]:
        return {
            name: TimeHistogram(self._counts[:, kind], scale, self._confidence)
            for kind, name in enumerate(names)
        }


def ratio(above: Floats, below: Floats, confidence: float) -> Estimate:
    """Estimates a ratio of sums; both arrays have a row per replication and a column per slice."""
    if len(above) > 1:
        return _of_sums(above.sum(1), below.sum(1), confidence, "replications")
    batches = min(BATCHES, above.shape[1])
    sums = [
        np.array([part.sum() for part in np.array_split(row[0], batches)]) for row in (above, below)
    ]
    return _of_sums(sums[0], sums[1], confidence, "batches")


def _of_sums(above: Floats, below: Floats, confidence: float, by: Source) -> Estimate:
    """Leaves out the values whose divisor is 0: nothing was counted there."""
    known = below > 0
    return Estimate(tuple((above[known] / below[known]).tolist()), confidence, by)
