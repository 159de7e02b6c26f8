"""M/M/c with retrials: an arrival that finds all servers busy tries again after a random time.

Nobody queues. A blocked attempt, the first or a later one, tries again with the probability
`persistence` after an exponential time, else it is lost (Falin and Templeton 1997). The chain of
(busy servers, customers that will try again) is solved by reduction of its levels, from a level
that is practically never reached down to 0. This is exact to `_NEGLIGIBLE` for any number of
servers. For one server and endless persistence there is a closed form, with which tests compare it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import linalg

from dovemq.models import checks
from dovemq.models.analytic.erlang import erlang_b
from dovemq.models.checks import Floats
from dovemq.models.errors import TooLarge
from dovemq.models.stability import is_stable

RETRYING_SERVERS_MAX: Final = 500
RETRYING_MAX: Final = 20_000
"""The most customers between attempts whose probabilities are computed."""
_NEGLIGIBLE: Final = 1e-13


@dataclass(frozen=True, slots=True)
class RetrialStation:
    """`retrying` is the mean number between attempts; `blocking_probability` that of an arrival.

    `attempts` is the mean number of attempts of an arrival, `lost_share` of arrivals are never
    served, and `waiting_time` is the mean time between attempts over all arrivals.
    """

    arrival_rate: float
    service_rate: float
    servers: int
    stable: bool
    utilisation: float
    blocking_probability: float
    retrying: float
    number: float
    waiting_time: float
    attempts: float
    lost_share: float
    throughput: float


def retrial(
    arrival_rate: float,
    service_rate: float,
    servers: int,
    retry_time: float,
    persistence: float = 1.0,
) -> RetrialStation:
    rate = float(checks.positive(arrival_rate, "arrival_rate"))
    speed = float(checks.positive(service_rate, "service_rate"))
    count = int(checks.whole(servers, "servers of retrials", 1, RETRYING_SERVERS_MAX))
    pace = 1.0 / float(checks.positive(retry_time, "retry_time"))
    again = float(checks.share(persistence, "persistence"))
    if again == 1.0 and not bool(is_stable(rate / speed, count)):
        return _unstable(rate, speed, count)
    chances = retrial_probabilities(RetrialRates(rate, speed, count, pace, again))
    levels = np.arange(len(chances), dtype=np.float64)
    busy = float(chances.sum(axis=0) @ np.arange(count + 1.0))
    retrying = float(levels @ chances.sum(axis=1))
    blocked = float(chances[:, -1].sum())
    throughput = speed * busy
    return RetrialStation(
        arrival_rate=rate,
        service_rate=speed,
        servers=count,
        stable=True,
        utilisation=busy / count,
        blocking_probability=blocked,
        retrying=retrying,
        number=retrying + busy,
        waiting_time=retrying / rate,
        attempts=1.0 + pace * retrying / rate,
        lost_share=max(1.0 - throughput / rate, 0.0) if again < 1.0 else 0.0,
        throughput=throughput,
    )


def _unstable(rate: float, speed: float, count: int) -> RetrialStation:
    inf = float("inf")
    return RetrialStation(
        rate, speed, count, False, rate / speed / count, 1.0, inf, inf, inf, inf, 0.0, count * speed
    )


@dataclass(frozen=True, slots=True)
class RetrialRates:
    arrival: float
    service: float
    servers: int
    retry: float
    again: float

    @property
    def raising(self) -> float:
        """The rate of blocked arrivals that will try again, the only moves to the next level."""
        return self.arrival * self.again

    def leaving(self, level: int) -> Floats:
        """All that leaves a state of the level, by busy servers.

        If all are busy, an attempt or an arrival that is lost changes nothing but the level.
        """
        rates = self.service * np.arange(self.servers + 1.0) + self.arrival + level * self.retry
        lost = level * self.retry * (1.0 - self.again)
        rates[-1] = self.service * self.servers + self.raising + lost
        return rates

    def lowered(self, chances: Floats, level: int) -> Floats:
        """Flows from a level to the one below it: attempts that succeed, or are lost."""
        flows = np.zeros(self.servers + 1)
        flows[1:] = chances[:-1] * level * self.retry
        flows[-1] += chances[-1] * level * self.retry * (1.0 - self.again)
        return flows

    def banded(self, leaving: Floats) -> Floats:
        """The moves inside a level, negative and transposed, as bands of a matrix."""
        bands = np.zeros((3, self.servers + 1))
        bands[0, 1:] = -self.service * np.arange(1.0, self.servers + 1.0)
        bands[1] = leaving
        bands[2, :-1] = -self.arrival
        return bands


def retrial_probabilities(rates: RetrialRates) -> Floats:
    """Returns probabilities by level and busy servers, with as many levels as matter."""
    remedy = "choose a smaller load or a shorter retry_time"
    what = "customers between attempts"
    blocked = float(erlang_b(np.asarray(rates.arrival / rates.service), np.asarray(rates.servers)))
    # More than Erlang's share is blocked at first, so that at least so many are between attempts.
    least = rates.raising * blocked / rates.retry
    if least > RETRYING_MAX:
        raise TooLarge(what, int(min(least, 1e18)), RETRYING_MAX, remedy)
    most = 64
    while True:
        chances = _truncated(rates, most)
        if chances is not None and chances[-1].sum() <= _NEGLIGIBLE:
            return chances
        most *= 2
        if most > RETRYING_MAX:
            raise TooLarge(what, most, RETRYING_MAX, remedy)


def _truncated(rates: RetrialRates, most: int) -> Floats | None:
    """Only blocked arrivals go up a level, so π(n + 1) = π_c(n)·r(n + 1) with one row each.

    Returns None where so few levels are so unlikely that only rounding is left.
    """
    ups = np.zeros((most + 1, rates.servers + 1))
    unit = np.zeros(rates.servers + 1)
    unit[-1] = rates.raising
    below = np.zeros_like(unit)
    with np.errstate(all="ignore"):
        for level in range(most, 0, -1):
            leaving = rates.leaving(level)
            if level == most:
                # No arrival goes beyond the last level.
                leaving[-1] -= rates.raising
            found = linalg.solve_banded((1, 1), rates.banded(leaving), np.stack((unit, below), 1))
            own, back = found.T
            ups[level] = own + back * own[-1] / (1.0 - back[-1])
            below = rates.lowered(ups[level], level)
        chances = np.empty_like(ups)
        chances[0] = _lowest(rates, below)
        for level in range(1, most + 1):
            chances[level] = chances[level - 1, -1] * ups[level]
        normal: Floats = chances / chances.sum()
    return normal if np.isfinite(normal).all() and normal.min() >= 0.0 else None


def _lowest(rates: RetrialRates, below: Floats) -> Floats:
    """Returns the level where nobody will try again; `below` comes back to it from above."""
    size = rates.servers + 1
    matrix = np.zeros((size, size))
    bands = rates.banded(rates.leaving(0))
    matrix[np.arange(size), np.arange(size)] = bands[1]
    matrix[np.arange(size - 1), np.arange(1, size)] = bands[0, 1:]
    matrix[np.arange(1, size), np.arange(size - 1)] = bands[2, :-1]
    matrix[:, -1] -= below
    matrix[-1] = 1.0
    first = np.zeros(size)
    first[-1] = 1.0
    return np.asarray(np.linalg.solve(matrix, first))
