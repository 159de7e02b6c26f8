"""M/M/c+M, Erlang-A: customers that wait give up after an exponential patience. Exact.

The number is a birth–death chain, stable for every load (Palm 1957; Garnett, Mandelbaum and Reiman
2002). The wait V that a customer with unlimited patience would have is above t with probability

    P(V > t) = P(wait)·exp(−cμt + η − x)·M(1, s + 1, x)/M(1, s + 1, η),

where θ is the rate of giving up, η = λ/θ, s = cμ/θ, x = η·exp(−θt), and M is Kummer's function.
Those that are served have the same form with s + 1 for s.

`with_returns` lets customers that gave up come back, as messages do whose lease ends in the buffer
of a consumer. Their returns are taken as a further Poisson stream: an approximation that is good
where they come back late.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy import special

from dovemq.models import checks
from dovemq.models.analytic.inversion import time_at_tail
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelSpecInvalid, TooLarge
from dovemq.models.stability import is_stable

LEVELS_MAX: Final = 2_000_000
"""The most numbers present whose probabilities are computed."""
GETS_MAX: Final = 1_000_000
_NEGLIGIBLE: Final = -50.0
_HALVINGS: Final = 60


@dataclass(frozen=True)
class ImpatientStation:
    """`patience` is a mean. Times are means over all arrivals, also those that give up."""

    arrival_rate: float
    service_rate: float
    servers: int
    patience: float

    def __post_init__(self) -> None:
        checks.positive(self.arrival_rate, "arrival_rate")
        checks.positive(self.service_rate, "service_rate")
        checks.servers(self.servers)
        checks.positive(self.patience, "patience")

    @property
    def load(self) -> float:
        return self.arrival_rate / self.service_rate

    @property
    def utilisation(self) -> float:
        """The share of the servers that is busy."""
        counts = np.minimum(np.arange(len(self.probabilities)), self.servers)
        return float(counts @ self.probabilities) / self.servers

    @property
    def wait_probability(self) -> float:
        return float(self.probabilities[self.servers :].sum())

    @property
    def waiting(self) -> float:
        waiting = self.probabilities[self.servers :]
        return float(np.arange(len(waiting)) @ waiting)

    @property
    def number(self) -> float:
        return float(np.arange(len(self.probabilities)) @ self.probabilities)

    @property
    def waiting_time(self) -> float:
        return self.waiting / self.arrival_rate

    @property
    def abandonment_probability(self) -> float:
        """The share of arrivals that give up; each that waits does so at the rate 1/patience."""
        return self.waiting / (self.patience * self.arrival_rate)

    @property
    def stable(self) -> bool:
        """True: giving up bounds the number for every load."""
        return True

    @property
    def sojourn_time(self) -> float:
        return self.number / self.arrival_rate

    @property
    def throughput(self) -> float:
        return self.utilisation * self.servers * self.service_rate

    @cached_property
    def probabilities(self) -> Floats:
        """Probabilities of the number present, up to where they are negligible."""
        speed, leaving = self.servers * self.service_rate, 1.0 / self.patience
        below = np.arange(self.servers + 1.0)
        logs = special.xlogy(below, self.load) - special.gammaln(below + 1.0)
        # The probabilities grow until as many give up as are too much.
        peak = max(self.arrival_rate - speed, 0.0) * self.patience
        most = int(min(1_024 + 1.1 * peak, LEVELS_MAX))
        while most < LEVELS_MAX:
            steps = speed + leaving * np.arange(1.0, most)
            beyond = logs[-1] + np.cumsum(np.log(self.arrival_rate / steps))
            if beyond[-1] < max(beyond.max(), logs.max()) + _NEGLIGIBLE:
                break
            most *= 4
        else:
            remedy = "choose a shorter patience, or leave it out"
            found = int(min(max(peak, most), 1e18))
            raise TooLarge("numbers present", found, LEVELS_MAX, remedy)
        weights = np.concatenate((logs, beyond))
        chances = np.exp(weights - weights.max())
        normal: Floats = chances / chances.sum()
        return normal

    def wait_tail(self, time: float) -> float:
        """Returns P(wait > time) of all arrivals: neither served nor given up by then."""
        after = float(checks.not_negative(time, "time"))
        chance = self.wait_probability * self._offered(after, 0.0)
        return float(chance * np.exp(-after / self.patience))

    def served_wait_tail(self, time: float) -> float:
        """Returns P(wait > time) of those that are served."""
        after = float(checks.not_negative(time, "time"))
        gave_up = self.abandonment_probability
        waited = max(self.wait_probability - gave_up, 0.0) / (1.0 - gave_up)
        return waited * self._offered(after, 1.0)

    def wait_quantile(self, level: float) -> float:
        return self._at_level(self.wait_tail, level)

    def served_wait_quantile(self, level: float) -> float:
        return self._at_level(self.served_wait_tail, level)

    def _at_level(self, tail_at: Callable[[float], float], level: float) -> float:
        tail = 1.0 - float(checks.level(level))
        if tail_at(0.0) <= tail:
            return 0.0
        found = time_at_tail(
            lambda time: np.asarray(tail_at(float(time))),
            np.asarray(tail),
            np.asarray(1.0 / self.service_rate),
        )
        return float(found)

    def _offered(self, time: float, more: float) -> float:
        """P(V > time | V > 0), with s + more for s."""
        leaving = 1.0 / self.patience
        largest = self.arrival_rate / leaving
        stages = self.servers * self.service_rate / leaving + more
        left = largest * np.exp(-leaving * time)
        fallen = -stages * leaving * time - largest * np.expm1(-leaving * time)
        return float(np.exp(fallen + _log_kummer(stages, left) - _log_kummer(stages, largest)))


@dataclass(frozen=True, slots=True)
class ReturningStation:
    """`station` has the rate of all gets; `exhausted_share` of the messages used all gets in vain.

    `gets` is the mean number of gets of a message.
    """

    station: ImpatientStation
    gets: float
    exhausted_share: float


def with_returns(station: ImpatientStation, gets_max: float) -> ReturningStation:
    """Lets each customer that gave up come back until it was there `gets_max` times."""
    endless = gets_max == float("inf")
    if not endless:
        checks.whole(gets_max, "gets_max", 1, GETS_MAX)
    elif not bool(is_stable(station.load, station.servers)):
        reason = "without gets_max more comes back than the servers can do; give one"
        raise ModelSpecInvalid("gets_max", reason)
    low, high = 1.0, 2.0 if endless else float(gets_max)
    while endless and not _enough(station, high, gets_max):
        low, high = high, 2.0 * high
    # More gets are served more often in all, and fewer of them are left over: one number fits.
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        enough = _enough(station, middle, gets_max)
        low, high = (low, middle) if enough else (middle, high)
    tried = replace(station, arrival_rate=station.arrival_rate * high)
    gone = 0.0 if endless else float(tried.abandonment_probability**gets_max)
    return ReturningStation(tried, high, gone)


def _enough(station: ImpatientStation, gets: float, gets_max: float) -> bool:
    """Says whether so many gets of each message are at least those that giving up leads to."""
    share = replace(station, arrival_rate=station.arrival_rate * gets).abandonment_probability
    wanted = 1.0 / (1.0 - share) if np.isinf(gets_max) else _geometric(share, gets_max)
    return wanted <= gets


def _geometric(share: float, most: float) -> float:
    """Returns 1 + share + … with `most` terms."""
    return most if share == 1.0 else float((1.0 - share**most) / (1.0 - share))


def _log_kummer(stages: float, at: float) -> float:
    """Returns log M(1, s + 1, x), the series 1 + x/(s + 1) + x²/((s + 1)(s + 2)) + …"""
    if at > stages:
        # By the lower incomplete gamma function, which is then not small.
        powers = np.log(stages) + at - stages * np.log(at) + special.gammaln(stages)
        return float(powers + np.log(special.gammainc(stages, at)))
    # Here each term is at most s/(s + k) of the one before it: after 10·√s they are negligible.
    count = min(int(10.0 * np.sqrt(stages)) + 400, LEVELS_MAX)
    terms = np.cumprod(at / (stages + np.arange(1.0, count)))
    return float(np.log1p(terms.sum()))
