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

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.errors import TooLarge
from dovemq.models.stability import is_stable

RETRYING_SERVERS_MAX: Final = 500
RETRYING_MAX: Final = 20_000
"""The most customers between attempts whose probabilities are computed."""
CELLS_MAX: Final = 20_000_000
"""The most states of the chain."""
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
    chances = _probabilities(_Rates(rate, speed, count, pace, again))
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
class _Rates:
    arrival: float
    service: float
    servers: int
    retry: float
    again: float

    def generator(self, level: int) -> Floats:
        """Moves that keep the level; the diagonal is all that leaves a state."""
        size = self.servers + 1
        matrix = np.zeros((size, size))
        free = np.arange(self.servers)
        matrix[free, free + 1] = self.arrival
        matrix[free + 1, free] = self.service * (free + 1.0)
        leaving = self.service * np.arange(size) + self.arrival + level * self.retry
        # If all are busy, an arrival joins those that try again, or is lost without any change; an
        # attempt changes nothing, or is lost.
        raising, lost = self.arrival * self.again, level * self.retry * (1.0 - self.again)
        leaving[-1] = self.service * self.servers + raising + lost
        matrix[np.arange(size), np.arange(size)] = -leaving
        return matrix

    def down(self, level: int) -> Floats:
        """Attempts: they take a free server, or are lost when all are busy."""
        size = self.servers + 1
        matrix = np.zeros((size, size))
        free = np.arange(self.servers)
        matrix[free, free + 1] = level * self.retry
        matrix[-1, -1] = level * self.retry * (1.0 - self.again)
        return matrix


def _probabilities(rates: _Rates) -> Floats:
    """Returns probabilities by level and busy servers, with as many levels as matter."""
    most = 64
    while True:
        chances = _truncated(rates, most)
        if chances is not None and chances[-1].sum() <= _NEGLIGIBLE:
            return np.maximum(chances, 0.0)
        most *= 2
        if most > RETRYING_MAX or most * (rates.servers + 1) > CELLS_MAX:
            remedy = "choose a smaller load or a shorter retry_time"
            raise TooLarge("customers between attempts", most, RETRYING_MAX, remedy)


def _truncated(rates: _Rates, most: int) -> Floats | None:
    """Only blocked arrivals go up a level, so π(n + 1) = π_c(n)·r(n + 1) with one row each.

    Returns None where so few levels are so unlikely that only rounding is left.
    """
    ups = np.zeros((most + 1, rates.servers + 1))
    raising = rates.arrival * rates.again
    matrix = rates.generator(most)
    # No arrival goes beyond the last level.
    matrix[-1, -1] += raising
    unit = np.zeros(rates.servers + 1)
    unit[-1] = raising
    for level in range(most, 0, -1):
        ups[level] = np.linalg.solve(-matrix.T, unit)
        matrix = rates.generator(level - 1)
        matrix[-1] += ups[level] @ rates.down(level)
    balance = matrix.T.copy()
    balance[-1] = 1.0
    first = np.zeros(rates.servers + 1)
    first[-1] = 1.0
    chances = np.empty_like(ups)
    chances[0] = np.linalg.solve(balance, first)
    with np.errstate(all="ignore"):
        for level in range(1, most + 1):
            chances[level] = chances[level - 1, -1] * ups[level]
    if not np.isfinite(chances).all():
        return None
    total = chances.sum()
    return chances / total if total > 0.0 and chances.min() >= -_NEGLIGIBLE * total else None
