"""The answer about a closed network, whatever method gives it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovemq.models.checks import Floats
from dovemq.models.closed import ClosedNetwork

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
    delay it is NaN. `method` is one of `METHODS`.
    """

    network: ClosedNetwork
    method: str
    throughput: Floats
    number: Floats
    utilisation: Floats

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
