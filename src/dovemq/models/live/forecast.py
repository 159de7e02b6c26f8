"""Forecasts of a queue from measured parameters, with their band, for other loads and consumers.

The band has the method of variance estimates recovery (Zou and Donner 2008): each parameter alone
goes to the ends of its interval, and the changes that this makes are combined as the root of the
sum of their squares, on the scale of logarithms. It covers what the samples leave open about the
parameters. It does not cover the error of the model itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Final

from dovemq.models.live.estimating import (
    LiveFigure,
    known_figure,
    mean_figure,
    rate_figure,
    scv_figure,
)
from dovemq.models.live.station import LiveQueue, LiveStation

SERVERS_MAX: Final = 1_000
"""More servers are neither predicted nor planned."""

CURVE_SHARES: Final = (
    0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.84, 0.88, 0.91, 0.94, 0.96, 0.98,
)  # fmt: skip
"""The loads of a curve, as shares of the arrival rate that saturates the queue."""
SERVICE_NODES_MAX: Final = 64
"""Measured service times that stand for all of them, at equal distances in their order."""
_LOG_MAX: Final = 700.0
"""The exponential of more overflows; such a band has no end."""
_PARAMETERS: Final = ("arrival_rate", "arrival_scv", "service_time", "service_scv")


@dataclass(frozen=True, slots=True)
class LiveCalibration:
    """Parameters of a queue as measured; times are in seconds, and `service_nodes` rise."""

    arrival_rate: LiveFigure
    arrival_scv: LiveFigure
    service_time: LiveFigure
    service_scv: LiveFigure
    service_nodes: tuple[float, ...]


def calibrated(
    arrivals: int, seconds: float, gaps: Sequence[float], services: Sequence[float]
) -> LiveCalibration | None:
    """Estimates the parameters from a window; None if it has too few samples."""
    arrival_scv, service_scv = scv_figure(gaps), scv_figure(services)
    service_time = mean_figure(services)
    if arrival_scv is None or service_scv is None or service_time is None:
        return None
    arrival_rate = rate_figure(arrivals, seconds, arrival_scv.value)
    if arrival_rate is None:
        return None
    nodes = service_nodes_of(services)
    return LiveCalibration(arrival_rate, arrival_scv, service_time, service_scv, nodes)


def service_nodes_of(services: Sequence[float]) -> tuple[float, ...]:
    """Returns a few times that stand for all: the means of equal parts of them, in order."""
    ordered = sorted(services)
    count = min(len(ordered), SERVICE_NODES_MAX)
    edges = [index * len(ordered) // count for index in range(count + 1)]
    return tuple(math.fsum(ordered[a:b]) / (b - a) for a, b in pairwise(edges))


@dataclass(frozen=True, slots=True)
class Scenario:
    """`servers` handle messages at the same time, and are divided evenly among the partitions."""

    servers: int
    partitions: int = 1
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Forecast:
    """Figures with their bands. Times are infinite where the queue is unstable."""

    utilisation: LiveFigure
    throughput: LiveFigure
    wait: LiveFigure
    wait_quantile: LiveFigure
    response: LiveFigure
    response_quantile: LiveFigure

    @property
    def stable(self) -> bool:
        return math.isfinite(self.response.value)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The mean response and its quantile at an arrival rate."""

    arrival_rate: float
    response: LiveFigure
    response_quantile: LiveFigure


_Parameters = dict[str, float]


def forecast(known: LiveCalibration, scenario: Scenario) -> Forecast:
    """Predicts the queue at the arrival rate of the calibration."""
    return Forecast(*_banded(known, scenario, *(each.name for each in fields(Forecast))))


def saturation(known: LiveCalibration, scenario: Scenario) -> LiveFigure:
    """Predicts the arrival rate from which on the queue only grows."""
    return _banded(known, scenario, "capacity")[0]


def curve(known: LiveCalibration, scenario: Scenario) -> list[CurvePoint]:
    """Predicts responses at arrival rates up to the saturation."""
    capacity = _queue(known, scenario, _values(known)).capacity
    found = []
    for share in CURVE_SHARES:
        at = replace(known, arrival_rate=known_figure(share * capacity))
        mean, level = _banded(at, scenario, "response", "response_quantile")
        found.append(CurvePoint(share * capacity, mean, level))
    return found


def servers_for(known: LiveCalibration, target: float, level: float) -> int | None:
    """Returns the fewest servers whose quantile of the response is within the target, if any are.

    They serve one partition. No number of servers improves the service itself.
    """

    def meets(servers: int) -> bool:
        found = _queue(known, Scenario(servers, 1, level), _values(known))
        return found.response_quantile <= target

    if not meets(SERVERS_MAX):
        return None
    low, high = 0, SERVERS_MAX
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def _values(known: LiveCalibration) -> _Parameters:
    return {name: getattr(known, name).value for name in _PARAMETERS}


def _queue(known: LiveCalibration, scenario: Scenario, values: _Parameters) -> LiveQueue:
    partitions = scenario.partitions
    each, rest = divmod(scenario.servers, partitions)
    dealt = ((rest, each + 1), (partitions - rest, each))
    share = 1.0 / partitions
    stretch = values["service_time"] / (math.fsum(known.service_nodes) / len(known.service_nodes))
    parts = tuple(
        (
            count,
            LiveStation(
                arrival_rate=values["arrival_rate"] * share,
                service_times=known.service_nodes,
                servers=servers,
                arrival_scv=share * values["arrival_scv"] + 1.0 - share,
                service_scv=values["service_scv"],
                stretch=stretch,
            ),
        )
        for count, servers in dealt
        if count
    )
    return LiveQueue(parts, scenario.level)


def _banded(known: LiveCalibration, scenario: Scenario, *names: str) -> list[LiveFigure]:
    """Returns figures of the queue, by the names of its attributes, with their bands."""
    values = _values(known)
    ends: list[tuple[LiveQueue, LiveQueue]] = []
    for name in _PARAMETERS:
        figure: LiveFigure = getattr(known, name)
        if figure.low != figure.high:
            low = _queue(known, scenario, {**values, name: figure.low})
            ends.append((low, _queue(known, scenario, {**values, name: figure.high})))
    middle = _queue(known, scenario, values)
    return [_band(name, middle, ends, known.service_time.samples) for name in names]


def _band(
    name: str, middle: LiveQueue, ends: Sequence[tuple[LiveQueue, LiveQueue]], samples: int
) -> LiveFigure:
    value = float(getattr(middle, name))
    if math.isinf(value):
        return LiveFigure(value, value, value, samples)
    if value <= 0.0:
        highest = max((getattr(each, name) for pair in ends for each in pair), default=value)
        return LiveFigure(value, value, float(highest), samples)
    below = above = 0.0
    for pair in ends:
        found = [float(getattr(each, name)) for each in pair]
        below += _log_ratio(value, min(found)) ** 2
        above += _log_ratio(max(found), value) ** 2
    low, high = math.exp(-math.sqrt(below)), math.inf
    if (width := math.sqrt(above)) < _LOG_MAX:
        high = math.exp(width)
    return LiveFigure(value, value * low, value * high, samples)


def _log_ratio(larger: float, smaller: float) -> float:
    """Returns log(larger/smaller), and 0 if it is not larger."""
    if larger <= smaller:
        return 0.0
    return math.inf if smaller <= 0.0 or math.isinf(larger) else math.log(larger / smaller)
