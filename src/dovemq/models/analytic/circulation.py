"""The answer about a closed network, whatever method gives it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovemq.models import checks
from dovemq.models.analytic.finite import staged_quantile
from dovemq.models.checks import Floats
from dovemq.models.closed import ClosedNetwork, ClosedStation

METHODS: Final[Mapping[str, str]] = {
    "mva": "mean value analysis, exact",
    "convolution": "convolution, exact",
    "schweitzer": "mean value analysis of Bard and Schweitzer, approximate",
}


@dataclass(frozen=True, slots=True)
class ClosedMeasures:
    """`throughput` and `cycle_time` are by class, `number` and `residence` by station and class.

    `residence` is the time at a station in one cycle, over all visits. `utilisation` is by station:
    the share of the servers that is busy, or of time with somebody there if speeds are given; at a
    delay it is NaN. `method` is one of `METHODS`. `found`, by station and class, has the chances of
    0, 1, … others whom an arrival finds at a station; None where the class does not come or the
    times have no known distribution, and empty if the method does not give them.
    """

    network: ClosedNetwork
    method: str
    throughput: Floats
    number: Floats
    utilisation: Floats
    found: tuple[tuple[Floats | None, ...], ...] = ()

    @property
    def cycle_time(self) -> Floats:
        return self.network.populations / _some(self.throughput)

    @property
    def residence(self) -> Floats:
        return self.number / _some(self.throughput)

    @property
    def response_time(self) -> Floats:
        """The time of a cycle that is not at delay stations."""
        waits = [station.waits for station in self.network.stations]
        total: Floats = self.residence[waits].sum(axis=0)
        return total

    @property
    def time_per_visit(self) -> Floats:
        """Returns times by station and class; NaN where a class does not come."""
        visits = np.stack([station.visited for station in self.network.stations])
        return self.residence / np.where(self.network.demands > 0.0, visits, np.nan)

    def visit_quantile(self, level: float) -> Floats:
        """Returns quantiles of the time of one visit, by station and class; NaN where not known.

        They are exact: a customer that finds n others at c servers waits for n − c + 1 services.
        """
        checks.level(level)
        stations = zip(self.network.stations, self.found, strict=True)
        return np.array(
            [[_visit_quantile(station, seen, level) for seen in row] for station, row in stations]
        )


def _visit_quantile(station: ClosedStation, seen: Floats | None, level: float) -> float:
    if seen is None:
        return np.nan
    stages = np.maximum(np.arange(len(seen)) - station.servers + 1.0, 0.0)
    return staged_quantile(stages, seen, station.servers, station.service_rate, level)


def _some(throughput: Floats) -> Floats:
    """Nobody of a class without population circulates, so its times are 0/1."""
    return np.where(throughput > 0.0, throughput, 1.0)


def busy_shares(network: ClosedNetwork, throughput: Floats) -> Floats:
    """Returns utilisations of stations of constant speed, by Little's law; NaN at a delay."""
    work = network.demands @ throughput
    speeds = [
        (station.speeds[0] if station.speeds else station.servers) if station.waits else np.nan
        for station in network.stations
    ]
    return work / np.asarray(speeds, dtype=np.float64)
