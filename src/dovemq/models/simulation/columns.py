"""The measurements of all replications as columns, and the estimates that are made of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models.checks import Floats
from dovemq.models.estimates import Estimate, Source
from dovemq.models.simulation.histogram import TimeHistogram
from dovemq.models.simulation.replication import Layout
from dovemq.models.simulation.runs import ReplicationArrays, SimulationRun
from dovemq.models.simulation.sampling import Rows

BATCHES: Final = 20
TREND_MAX: Final = 0.25
"""A larger growth of the number in the system, as a share of its mean, is no steady state."""
TREND_CONFIDENCE: Final = 0.999


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """Figures of both simulations. Every figure but `events` leaves the warm-up out.

    sojourn, sojourn_of     time in the system: of all, by message class or job type
    in_system               messages or jobs in the system, over time
    done                    messages received or jobs done, counted
    events                  arrivals, service starts and service ends, counted
    unstable                stations with more work than they can do: figures grow with the horizon
    trend                   in_system of the second half of the horizon minus that of the first
    record                  the first events of replication 0
    """

    run: SimulationRun
    warm_up: float
    sojourn: Estimate
    sojourn_of: dict[str, Estimate]
    in_system: Estimate
    done: int
    events: int
    unstable: tuple[str, ...]
    trend: Estimate
    histogram: TimeHistogram = field(repr=False)
    histogram_of: dict[str, TimeHistogram] = field(repr=False)
    record: Rows = field(repr=False)

    @property
    def imprecision(self) -> str | None:
        """A warning if the run ended at its bound before it was as precise as asked for."""
        return self.run.imprecision(self.sojourn)

    @property
    def steadiness(self) -> str | None:
        """A warning if the number in the system still grew; None if it had settled."""
        growth = TREND_MAX * self.in_system.mean
        if self.trend.samples < 2 or not self.trend.low > 0.0 or self.trend.mean < growth:
            return None
        return (
            "no steady state was reached: the number in the system grew by "
            f"{self.trend.mean:.3g} between the halves of the run, to a mean of "
            f"{self.in_system.mean:.3g}"
        )

    def quantile(self, probability: float, kind: str | None = None) -> Estimate:
        """A quantile of the sojourn, of all or of a kind, within the width of a bin, 0.8 %."""
        histogram = self.histogram if kind is None else self.histogram_of[kind]
        return histogram.quantile(probability)


class SeriesColumns:
    """Sums by replication and slice of time, by the names of a layout; slice 0 is the warm-up.

    Where a name has several columns, `of` is the number of one of them.
    """

    def __init__(
        self, replications: Sequence[ReplicationArrays], run: SimulationRun, layout: Layout
    ) -> None:
        self._record = replications[0].record[: int(replications[0].state["rows"][0])]
        self._series: Floats = np.array([each.series for each in replications])
        self._counts: NDArray[np.int64] = np.array([each.histogram for each in replications])
        self._run = run
        self._slice_length = run.horizon / run.slices
        self._layout = layout

    def sums(self, *names: str, of: int | None = None, warm: int = 1) -> Floats:
        """The sum of columns, a row per replication; from slice `warm` on."""
        chosen = slice(None) if of is None else slice(of, of + 1)
        places = [place for name in names for place in self._layout[name][chosen]]
        total: Floats = self._series[:, warm:, places].sum(2)
        return total

    def over_time(self, *names: str, of: int | None = None, per: float = 1) -> Estimate:
        return self.rate(self.sums(*names, of=of), per)

    def rate(self, sums: Floats, per: float = 1) -> Estimate:
        """Estimates sums per unit of time."""
        length = np.full(sums.shape, per * self._slice_length)
        return ratio(sums, length, self._run.confidence)

    def each(self, above: str, below: str = "done", of: int | None = None) -> Estimate:
        return self.quotient(self.sums(above, of=of), self.sums(below, of=of))

    def quotient(self, above: Floats, below: Floats) -> Estimate:
        """Estimates a ratio of sums that are made of several columns."""
        return ratio(above, below, self._run.confidence)

    def _trend(self) -> Estimate:
        first, second = _halves(self.sums("in_system"))
        steps = (second - first) / self._slice_length
        return Estimate(tuple(steps.tolist()), TREND_CONFIDENCE)

    def shared(
        self, kinds: Sequence[str], scale: float, counted: Sequence[str], warm_up: float
    ) -> dict[str, Any]:
        """The fields of a `SimulationResult` but `unstable`; `kinds` are classes or job types.

        `scale` is the unit of the histograms, and `counted` are the columns of events.
        """
        confidence = self._run.confidence
        by_kind = list(enumerate(kinds))
        return {
            "run": self._run,
            "warm_up": warm_up,
            "sojourn": self.each("sojourn"),
            "sojourn_of": {name: self.each("sojourn", of=kind) for kind, name in by_kind},
            "in_system": self.over_time("in_system"),
            "trend": self._trend(),
            "done": int(self.sums("done").sum()),
            "events": int(self.sums(*counted, warm=0).sum()),
            "histogram": TimeHistogram(self._counts.sum(1), scale, confidence),
            "histogram_of": {
                name: TimeHistogram(self._counts[:, kind], scale, confidence)
                for kind, name in by_kind
            },
            "record": self._record,
        }


def _halves(sums: Floats) -> tuple[Floats, Floats]:
    """Returns the means of the slices of both halves, for each replication."""
    middle = max(sums.shape[1] // 2, 1)
    return sums[:, :middle].mean(1), sums[:, -middle:].mean(1)


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
