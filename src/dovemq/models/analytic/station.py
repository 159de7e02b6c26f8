"""One station in steady state: M/M/1 and M/M/c, with the distributions of the wait and the number.

Times have the unit of the rates. Every figure is an array of the common shape of the parameters.
Where the load is not below the number of servers the station is unstable: `stable` is false, times
and numbers are infinite, and tails are 1. Sources: Kleinrock 1975; Gross and Harris 1998.
"""

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dovemq.models import checks
from dovemq.models.analytic.erlang import erlang_c
from dovemq.models.analytic.inversion import time_at_tail
from dovemq.models.checks import Flags, Floats
from dovemq.models.stability import is_stable

_POLES_APART: Final = 1e-6
"""The formula of the sojourn loses digits where its two rates are relatively closer than this."""


@dataclass(frozen=True, slots=True)
class Station:
    """`load` is λ/μ; `utilisation` is the load per server and may exceed 1.

    `wait_probability` is the share of arrivals that wait. `waiting` and `number` are means over
    time; `number` includes those in service. Times are means over arrivals.
    """

    arrival_rate: Floats
    service_rate: Floats
    servers: Floats
    load: Floats
    utilisation: Floats
    stable: Flags
    wait_probability: Floats
    waiting: Floats
    waiting_time: Floats
    number: Floats
    sojourn_time: Floats


@dataclass(frozen=True, slots=True)
class MarkovStation(Station):
    """A station with Poisson arrivals and exponential service, first come first served."""

    @property
    def any_busy(self) -> Floats:
        """The probability that at least one server is busy."""
        return 1.0 - self.number_probability(0)

    @property
    def _decay(self) -> Floats:
        """The rate at which a wait ends."""
        return self.servers * self.service_rate - self.arrival_rate

    def number_probability(self, count: ArrayLike) -> Floats:
        """Returns P(number = count); it is 0 for every count where the station is unstable."""
        found = checks.whole(count, "count", 0, checks.SERVERS_MAX)
        servers = self.servers
        with np.errstate(all="ignore"):
            below = np.minimum(found, servers)
            # p(c) = C(1 − ρ), and p(k)/p(c) = c!/k! · a^(k−c) for k < c; powers beyond it.
            at_servers = self.wait_probability * (1.0 - self.utilisation)
            steps = special.gammaln(servers + 1.0) - special.gammaln(below + 1.0)
            falling = np.exp(steps + special.xlogy(below - servers, self.load))
            beyond = self.utilisation ** (np.maximum(found, servers) - servers)
            probability = at_servers * falling * beyond
        empty = np.where(found == 0, 1.0, 0.0)
        # Where C is 0 after rounding, nobody waits and the number is Poisson.
        poisson = np.exp(special.xlogy(found, self.load) - self.load - special.gammaln(found + 1.0))
        probability = np.where(at_servers < np.finfo(float).tiny, poisson, probability)
        probability = np.where(self.load == 0, empty, probability)
        return np.where(self.stable, probability, 0.0)

    def wait_tail(self, time: ArrayLike) -> Floats:
        """Returns P(wait > time)."""
        after = checks.not_negative(time, "time")
        falling = np.exp(-np.maximum(self._decay, 0.0) * after)
        return np.where(self.stable, self.wait_probability * falling, 1.0)

    def wait_quantile(self, level: ArrayLike) -> Floats:
        """Returns the time within which that share of the arrivals has stopped waiting."""
        tail = 1.0 - checks.level(level)
        with np.errstate(divide="ignore"):
            waited = np.log(self.wait_probability / tail) / np.where(self.stable, self._decay, 1.0)
        return np.where(self.stable, np.maximum(waited, 0.0), np.inf)

    def sojourn_tail(self, time: ArrayLike) -> Floats:
        """Returns P(wait + service > time); the wait is independent of the service."""
        after = checks.not_negative(time, "time")
        service, decay = self.service_rate, np.where(self.stable, self._decay, self.service_rate)
        served = np.exp(-service * after)
        near = np.abs(decay - service) <= _POLES_APART * service
        apart = np.where(near, 1.0, decay - service)
        # The sum of two exponential stages; equal rates give an Erlang distribution.
        both = (decay * served - service * np.exp(-decay * after)) / apart
        both = np.where(near, served * (1.0 + service * after), both)
        tail = (1.0 - self.wait_probability) * served + self.wait_probability * both
        return np.where(self.stable, np.clip(tail, 0.0, 1.0), 1.0)

    def sojourn_quantile(self, level: ArrayLike) -> Floats:
        tail = 1.0 - checks.level(level)
        shape = np.broadcast_shapes(tail.shape, self.load.shape)
        first = np.broadcast_to(1.0 / self.service_rate, shape)
        found = time_at_tail(
            lambda time: np.where(self.stable, self.sojourn_tail(time), 0.0), tail, first
        )
        return np.where(self.stable, found, np.inf)


S = TypeVar("S", bound=Station)


def station_of(
    kind: type[S],
    rate: Floats,
    speed: Floats,
    servers: Floats,
    stable: Flags,
    waits: Floats,
    waiting_time: Floats,
) -> S:
    """Derives all figures from the wait; the wait is infinite where the station is unstable."""
    rate, speed, servers, stable, waits, waiting_time = np.broadcast_arrays(
        rate, speed, servers, stable, waits, waiting_time
    )
    load = rate / speed
    waiting = np.where(stable, rate * np.where(stable, waiting_time, 0.0), np.inf)
    return kind(
        arrival_rate=rate,
        service_rate=speed,
        servers=servers,
        load=load,
        utilisation=load / servers,
        stable=stable,
        wait_probability=waits,
        waiting=waiting,
        waiting_time=waiting_time,
        number=waiting + load,
        sojourn_time=waiting_time + 1.0 / speed,
    )


def mmc(arrival_rate: ArrayLike, service_rate: ArrayLike, servers: ArrayLike) -> MarkovStation:
    rate, speed, count = checks.same_shape(
        arrival_rate=checks.not_negative(arrival_rate, "arrival_rate"),
        service_rate=checks.positive(service_rate, "service_rate"),
        servers=checks.servers(servers),
    )
    load = rate / speed
    stable = is_stable(load, count)
    waits = erlang_c(load, count)
    spare = np.where(stable, count * speed - rate, 1.0)
    waiting_time = np.where(stable, waits / spare, np.inf)
    return station_of(MarkovStation, rate, speed, count, stable, waits, waiting_time)


def mm1(arrival_rate: ArrayLike, service_rate: ArrayLike) -> MarkovStation:
    return mmc(arrival_rate, service_rate, 1)


def sojourn_transform(station: MarkovStation, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Returns the transform of wait and service at a stable M/M/c station."""
    waits = float(station.wait_probability)
    decay = float(station.servers * station.service_rate - station.arrival_rate)
    waited = 1.0 - waits * s / (decay + s)
    return np.asarray(waited / (1.0 + s / float(station.service_rate)))
