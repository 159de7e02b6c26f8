"""M/G/1: Poisson arrivals, one server, any service time, first come first served.

Means and variance by Pollaczek and Khinchine (Kleinrock 1975). The distribution of the
wait is the inverse of their transform W*(s) = (1 − ρ)s / (s − λ + λS*(s)); where the service never
varies (M/D/1) it is Erlang's sum in the form of Franx (2001), which has no term below 0.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dovemq.models import checks
from dovemq.models.analytic.inversion import quantile_of, tail_of, time_at_tail
from dovemq.models.analytic.station import Station, station_of
from dovemq.models.checks import Floats
from dovemq.models.distributions import Complex, Deterministic, Distribution, moments, transform
from dovemq.models.errors import TooLarge
from dovemq.models.stability import is_stable

PERIODS_MAX: Final = 5_000
"""The longest time, in service times, for which the tail of an M/D/1 wait is computed."""

CONSTANT_SCV: Final = 1e-6
"""A service that varies less is constant for the tail: inversion would lose more than that."""


def mg1(arrival_rate: ArrayLike, service_rate: ArrayLike, service_scv: ArrayLike) -> Station:
    """Computes means, which need only two moments of the service."""
    rate, speed, scv = checks.same_shape(
        arrival_rate=checks.not_negative(arrival_rate, "arrival_rate"),
        service_rate=checks.positive(service_rate, "service_rate"),
        service_scv=checks.not_negative(service_scv, "service_scv"),
    )
    load = rate / speed
    stable = is_stable(load)
    spare = np.where(stable, 1.0 - load, 1.0)
    waiting_time = np.where(stable, load * (1.0 + scv) / (2.0 * spare * speed), np.inf)
    # An arrival waits if the server is busy, which has probability ρ.
    waits = np.minimum(load, 1.0)
    return station_of(Station, rate, speed, np.ones_like(rate), stable, waits, waiting_time)


@dataclass(frozen=True, slots=True)
class SingleServer:
    """An M/G/1 station with the whole distribution of its service time."""

    station: Station
    service: Distribution

    @property
    def waiting_time_variance(self) -> Floats:
        rate = self.station.arrival_rate
        _, second, third = moments(self.service)
        stable = self.station.stable
        spare = np.where(stable, 1.0 - self.station.load, 1.0)
        variance = rate * third / (3.0 * spare) + (rate * second / (2.0 * spare)) ** 2
        return np.where(stable, variance, np.inf)

    def wait_tail(self, time: ArrayLike) -> Floats:
        """Returns P(wait > time)."""
        rates, after = checks.same_shape(
            arrival_rate=self.station.arrival_rate, time=checks.not_negative(time, "time")
        )
        tails = [
            self._tail(float(rate), float(at))
            for rate, at in zip(rates.ravel(), after.ravel(), strict=True)
        ]
        return np.asarray(tails, dtype=np.float64).reshape(rates.shape)

    def wait_quantile(self, level: float) -> float:
        """Returns the quantile of the wait, of one station."""
        tail, load = 1.0 - float(checks.level(level)), float(self.station.load)
        if not bool(self.station.stable):
            return np.inf
        if load <= tail:
            return 0.0

        def tail_at(time: Floats) -> Floats:
            return np.asarray(self._tail(float(self.station.arrival_rate), float(time)))

        first = np.asarray(self.service.mean)
        return float(time_at_tail(tail_at, np.asarray(tail), first))

    def sojourn_quantile(self, level: float) -> float:
        """Returns the quantile of wait and service, of one station."""
        checks.level(level)
        if not bool(self.station.stable):
            return np.inf
        if self._constant:
            return self.wait_quantile(level) + self.service.mean

        rate = float(self.station.arrival_rate)

        def sojourn(s: Complex) -> Complex:
            return np.asarray(_wait(rate, self.service, s) * transform(self.service, s))

        return quantile_of(sojourn, level, self.service.mean)

    @property
    def _constant(self) -> bool:
        return isinstance(self.service, Deterministic) or self.service.scv < CONSTANT_SCV

    def _tail(self, rate: float, time: float) -> float:
        load = rate * self.service.mean
        if not is_stable(load):
            return 1.0
        if time == 0.0 or load == 0.0:
            return load
        if self._constant:
            return _constant_tail(rate, self.service.mean, time)
        found = tail_of(lambda s: _wait(rate, self.service, s), np.asarray(time))
        return float(np.clip(found, 0.0, load))


def _wait(rate: float, service: Distribution, s: Complex) -> Complex:
    """Returns E[exp(−sW)]."""
    idle = 1.0 - rate * service.mean
    return np.asarray(idle * s / (s - rate + rate * transform(service, s)))


def single_server(arrival_rate: ArrayLike, service: Distribution) -> SingleServer:
    mean = checks.positive(service.mean, "mean of the service")
    return SingleServer(mg1(arrival_rate, 1.0 / mean, service.scv), service)


def _constant_tail(rate: float, service: float, time: float) -> float:
    """P(W ≤ (k−1)D + u) = Σ_j Q_(k−1−j) · P(Poisson(λ(D − u)) = j), 0 ≤ u < D.

    Q_n = P(at most n are queued, without the one in service) comes from the Markov chain of the
    number at departures.
    """
    periods = int(time // service) + 1
    if periods > PERIODS_MAX:
        raise TooLarge(
            "service times within that time", periods, PERIODS_MAX, "choose a shorter time"
        )
    queued = np.cumsum(_queued(rate * service, periods))
    rest = rate * (service * periods - time)
    arrivals = np.arange(periods)
    chances = np.exp(special.xlogy(arrivals, rest) - rest - special.gammaln(arrivals + 1.0))
    return float(np.clip(1.0 - chances @ queued[periods - 1 - arrivals], 0.0, 1.0))


def _queued(load: float, count: int) -> Floats:
    """Returns P(n wait) for n below `count`, from the chain of the number at departures."""
    numbers = np.arange(count + 2)
    arrivals = np.exp(special.xlogy(numbers, load) - load - special.gammaln(numbers + 1.0))
    beyond = special.gammainc(numbers + 1.0, load)
    present = np.zeros(count + 1)
    present[0] = 1.0 - load
    # The chain crosses from n to n + 1 as often as back; Σ is over k = 1 … n:
    # p(n+1)·P(no arrival) = p(0)·P(> n arrivals) + Σ p(k)·P(> n+1−k arrivals).
    for number in range(count):
        crossing = present[0] * beyond[number]
        crossing += present[1 : number + 1] @ beyond[number:0:-1]
        present[number + 1] = crossing / arrivals[0]
    waiting = present[1 : count + 1].copy()
    waiting[0] += present[0]
    return waiting
