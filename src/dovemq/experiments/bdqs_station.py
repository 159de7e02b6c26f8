"""The M/M/k queue that fits response times by throughput (bdqs, fig. 5)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dovemq.models.analytic.station import mmc
from dovemq.models.checks import Floats

FIT_STEPS: Final = 40
CAPACITY_LEAST: Final = 0.95
"""The least capacity of a fit, as a share of the highest rate, which has noise like all rates."""
CAPACITY_MOST: Final = 2.0
CURVE_STEPS: Final = 300
FULLEST: Final = 1.0 - 1e-4
"""The highest utilisation of a curve: response times up to ten thousand service times."""


@dataclass(frozen=True, slots=True)
class StationFit:
    """An M/M/k queue. `share` is the part of the spread of the points that it explains."""

    servers: int
    service_s: float
    share: float

    @property
    def rate_max(self) -> float:
        return self.servers / self.service_s

    def responses(self, rates: Sequence[float] | Floats) -> Floats:
        """Infinite at and above the rate that the station can do."""
        return mmc(np.asarray(rates), 1.0 / self.service_s, self.servers).sojourn_time


def fitted_station(rates: Sequence[float], times: Sequence[float]) -> StationFit:
    """The station whose curve is nearest to the points.

    `rates` are those of messages, `times` their response times. The clients form a closed loop:
    when the station is full, more clients raise the response time alone, and the points stand in a
    line above each other, at rates that differ by noise. A distance along the axis of time has no
    meaning there, and one along the axis of rates none where the curve is flat. So the distance is
    that of a point from the curve, in the logarithms of both.
    """
    points = np.log(np.array([rates, times]))
    spread = float(((points - points.mean(axis=1, keepdims=True)) ** 2).sum()) or 1.0
    best = StationFit(1, min(times), -math.inf)
    for service_s in np.geomspace(0.3 * min(times), 1.5 * min(times), 12):
        for factor in np.geomspace(CAPACITY_LEAST, CAPACITY_MOST, FIT_STEPS):
            capacity = factor * max(rates)
            servers = max(1, math.ceil(capacity * service_s))
            # The capacity is what counts; its servers are a whole number.
            station = StationFit(servers, float(servers / capacity), 0.0)
            share = 1.0 - _distances(station, points) / spread
            if share > best.share:
                best = replace(station, share=share)
    return best


def _distances(station: StationFit, points: Floats) -> float:
    """The sum of squared distances of the points from the curve."""
    least = min(0.5, float(np.exp(points[0].min())) / station.rate_max)
    # Dense where the curve bends, which is near the full utilisation.
    idle = np.geomspace(1.0 - FULLEST, 1.0 - least, CURVE_STEPS)
    used = station.rate_max * (1.0 - idle)
    curve = np.log(np.array([used, station.responses(used)]))
    apart = ((points[:, :, None] - curve[:, None, :]) ** 2).sum(axis=0)
    return float(apart.min(axis=1).sum())
