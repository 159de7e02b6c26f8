"""Open networks of named stations with random routing, and quantiles of the time in them.

Means are exact (Jackson 1957, 1963), also with stations whose speed depends on the number present:
with feedback flows are not Poisson, but each visit sees its station as an M/M/c arrival does. The
time of one visit is exact for M/M/c stations. The time in the network takes the times of successive
visits as independent: exact for visits one after another to stations of one server, of which the
first and the last may have several (Reich 1963; Burke 1969); elsewhere, with feedback or with paths
on which later customers overtake, it is an approximation. The time at a station of varying speed is
taken as exponential. docs/explanation/networks.md has the measured errors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from dovemq.models import checks
from dovemq.models.analytic.inversion import quantile_of
from dovemq.models.analytic.station import (
    MarkovStation,
    Station,
    mmc,
    sojourn_transform,
)
from dovemq.models.analytic.varying import varying_speed
from dovemq.models.checks import Floats
from dovemq.models.distributions import Complex
from dovemq.models.errors import ModelSpecInvalid

OPEN_STATIONS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class OpenStation:
    """`after` are the shares of departures that go to other stations; the rest leaves.

    `rates` are those of the whole station with 1, 2, … present, and the last holds for more; they
    replace `service_rate` of each of `servers`.
    """

    name: str
    service_rate: float | None = None
    servers: int = 1
    rates: tuple[float, ...] = ()
    arrival_rate: float = 0.0
    after: Mapping[str, float] = field(default_factory=dict)

    def solved(self, arrival_rate: float) -> Station:
        if self.service_rate is None:
            return varying_speed(arrival_rate, self.rates)
        return mmc(arrival_rate, self.service_rate, self.servers)


@dataclass(frozen=True)
class OpenNetwork:
    """It is checked when it is made."""

    stations: tuple[OpenStation, ...]

    def __post_init__(self) -> None:
        names = [station.name for station in self.stations]
        checks.names(names, "stations", OPEN_STATIONS_MAX)
        for station in self.stations:
            place = f"station {station.name}"
            if (station.service_rate is None) == (not station.rates):
                raise ModelSpecInvalid(place, "one of service_rate and rates is needed")
            if station.rates and station.servers != 1:
                raise ModelSpecInvalid(place, "rates are those of all servers: leave out servers")
            shares = checks.share(list(station.after.values()), f"{place}: next")
            if (total := float(shares.sum())) > 1.0 + checks.SHARES_ROUNDING:
                raise ModelSpecInvalid(f"{place}: next", f"the shares add up to {total:g}, above 1")
            for name in station.after:
                if name not in names:
                    raise ModelSpecInvalid(f"{place}: next", f"no station is named {name!r}")

    @cached_property
    def arrival_rates(self) -> Floats:
        outside = [station.arrival_rate for station in self.stations]
        return checks.not_negative(outside, "arrival_rate")

    @cached_property
    def routing(self) -> Floats:
        names = [station.name for station in self.stations]
        return np.array([[each.after.get(name, 0.0) for name in names] for each in self.stations])


@dataclass(frozen=True, slots=True)
class OpenMeasures:
    """`stations` are in the order of the network. `visits` are per arrival from outside."""

    network: OpenNetwork
    stations: tuple[Station, ...]
    visits: Floats

    @property
    def stable(self) -> bool:
        return all(bool(station.stable) for station in self.stations)

    @property
    def throughput(self) -> float:
        return float(self.network.arrival_rates.sum())

    @property
    def number(self) -> float:
        return float(sum(float(station.number) for station in self.stations))

    @property
    def sojourn_time(self) -> float:
        return self.number / self.throughput

    @property
    def exact_quantiles(self) -> bool:
        """Says whether quantiles of the time in the network are exact: one path, no overtaking."""
        routing, outside = self.network.routing, self.network.arrival_rates
        entries = np.flatnonzero(outside)
        path = [int(entries[0])]
        while routing[path[-1]].any():
            path.append(int(np.argmax(routing[path[-1]])))
            if routing[path[-2], path[-1]] < 1.0 or path[-1] in path[:-1]:
                return False
        single = [float(self.stations[place].servers) == 1.0 for place in path[1:-1]]
        markov = [isinstance(self.stations[place], MarkovStation) for place in path]
        return len(entries) == 1 and all(single) and all(markov)

    @property
    def returns(self) -> bool:
        """Says whether a customer may come to a station again, which makes its visits dependent."""
        routing = self.network.routing
        again = np.diagonal(np.linalg.inv(np.eye(len(routing)) - routing))
        return bool((again > 1.0 + checks.SHARES_ROUNDING).any())

    def sojourn_quantile(self, level: float) -> float:
        """Returns the quantile of the time from outside to outside; infinite if unstable."""
        checks.level(level)
        if not self.stable:
            return float("inf")
        return quantile_of(self._transform, level, self.sojourn_time)

    def _transform(self, s: Complex) -> Complex:
        """Returns E[exp(−sT)], T = T_i and, with the share of the routing, the time from j on."""
        times = np.stack([_station_transform(station, s) for station in self.stations], axis=-1)
        routing = self.network.routing
        leaving = 1.0 - routing.sum(axis=1)
        matrix = np.eye(len(routing)) - times[..., None] * routing
        found = np.linalg.solve(matrix, (times * leaving)[..., None])[..., 0]
        shares = self.network.arrival_rates / self.throughput
        return np.asarray(found @ shares)


def _traffic(network: OpenNetwork) -> Floats:
    """Returns Λ = λ + Λ·P, the rates of all arrivals, from outside and from each other."""
    outside, routes = network.arrival_rates, network.routing
    if outside.sum() <= 0.0:
        raise ModelSpecInvalid("arrival_rate", "nothing arrives: one of them must be above 0")
    leaves = 1.0 - routes.sum(axis=1) > checks.SHARES_ROUNDING
    for _ in range(len(routes)):
        leaves = leaves | (routes[:, leaves].sum(axis=1) > 0.0)
    if not leaves.all():
        name = network.stations[int(np.argmin(leaves))].name
        reason = "arrivals at this station can never leave the network"
        raise ModelSpecInvalid(f"station {name}: next", reason)
    return np.asarray(np.linalg.solve(np.eye(len(routes)) - routes.T, outside), dtype=np.float64)


def _station_transform(station: Station, s: Complex) -> Complex:
    if not isinstance(station, MarkovStation):
        return np.asarray(1.0 / (1.0 + float(station.sojourn_time) * s))
    return sojourn_transform(station, s)


def solve_open(network: OpenNetwork) -> OpenMeasures:
    rates = _traffic(network)
    pairs = zip(network.stations, rates, strict=True)
    stations = []
    for station, rate in pairs:
        place = f"station {station.name}"
        if station.service_rate is not None:
            checks.positive(station.service_rate, f"{place}: service_rate")
            checks.servers(station.servers, f"{place}: servers")
        stations.append(station.solved(float(rate)))
    return OpenMeasures(network, tuple(stations), rates / network.arrival_rates.sum())
