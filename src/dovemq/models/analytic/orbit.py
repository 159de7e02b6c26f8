"""Quantiles of the times at M/M/c with retrials. Exact.

A blocked customer is followed through the chain of (busy servers, others that will try again). With
x_n for the transform of the time that is left to it while all servers are busy and n others are
between attempts, the equations of a level and of those below it give x_n = a_n + b_n·x_(n+1): only
blocked arrivals raise the level. Each level is two passes over the busy servers, for all points of
the transform at once. Arrivals find the levels as they are over time, since they are Poisson.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from dovemq.models import checks
from dovemq.models.analytic.inversion import quantile_of
from dovemq.models.analytic.retrials import RetrialRates, retrial, retrial_probabilities
from dovemq.models.checks import Floats
from dovemq.models.distributions import Complex
from dovemq.models.errors import TooLarge

CELLS_MAX: Final = 10_000
"""The most levels times servers: a quantile takes some 50 passes over them."""


@dataclass(frozen=True)
class RetrialTimes:
    """Waits are times between attempts, until a customer finds a free server or gives up.

    The parameters are those of `retrial`.
    """

    arrival_rate: float
    service_rate: float
    servers: int
    retry_time: float
    persistence: float = 1.0

    def wait_quantile(self, level: float) -> float:
        """Returns the quantile of the wait of all arrivals, also those that are never served."""
        return self._quantile(level, served=False, whole=False)

    def served_wait_quantile(self, level: float) -> float:
        return self._quantile(level, served=True, whole=False)

    def sojourn_quantile(self, level: float) -> float:
        """Returns the quantile of wait and service, of those that are served."""
        return self._quantile(level, served=True, whole=True)

    def _quantile(self, level: float, *, served: bool, whole: bool) -> float:
        checks.level(level)
        known = retrial(
            self.arrival_rate, self.service_rate, self.servers, self.retry_time, self.persistence
        )
        if not known.stable:
            return np.inf
        at_once = 1.0 - known.blocking_probability
        kept = 1.0 - known.lost_share if served else 1.0
        others = at_once if served else 1.0 - self.persistence * known.blocking_probability

        def time(s: Complex) -> Complex:
            later = self.persistence * self._left(s, 0.0 if served else 1.0)
            found = (others + later) / kept
            return np.asarray(found / (1.0 + s / self.service_rate) if whole else found)

        above_0 = 1.0 if whole else 1.0 - others / kept
        return quantile_of(time, level, 1.0 / self.service_rate, above_0)

    @cached_property
    def _rates(self) -> RetrialRates:
        return RetrialRates(
            self.arrival_rate,
            self.service_rate,
            self.servers,
            1.0 / self.retry_time,
            self.persistence,
        )

    @cached_property
    def _found_blocked(self) -> Floats:
        """The probability of each level with all servers busy."""
        chances = retrial_probabilities(self._rates)
        if chances.size > CELLS_MAX:
            remedy = "choose a smaller load or a shorter retry_time, or simulate it"
            raise TooLarge("states for a quantile", chances.size, CELLS_MAX, remedy)
        return np.asarray(chances[:, -1])

    def _left(self, s: Complex, lost: float) -> Complex:
        """Returns Σ P(n)·x_n(s); one that is served counts as 1, one that gives up as `lost`."""
        chances, rates = self._found_blocked, self._rates
        below = np.zeros((2, self.servers + 1, *s.shape), dtype=np.complex128)
        steps = []
        for level in range(len(chances)):
            below = _level(rates, level, below, s, lost)
            steps.append(below[:, -1])
        own, further = steps[-1]
        # Beyond the last level, which is practically never reached, the time is that of the last.
        left = own / (1.0 - further)
        total = chances[-1] * left
        for chance, (own, further) in zip(chances[-2::-1], steps[-2::-1], strict=True):
            left = own + further * left
            total = total + chance * left
        return np.asarray(total)


def _level(rates: RetrialRates, level: int, below: Complex, s: Complex, lost: float) -> Complex:
    """Returns a and b of the times by busy servers: a + b·x_(level + 1); `below` are those before.

    On the way up the busy servers, a time is `fixed` + `next`·(the time with one more busy) +
    `blocked`·(the time with all busy).
    """
    servers, others = rates.servers, level * rates.retry
    giving_up = (1.0 - rates.again) * rates.retry
    fixed, following, blocked = (np.zeros_like(below[0]) for _ in range(3))
    for busy in range(servers):
        ending = busy * rates.service
        leaving = rates.arrival + ending + others + rates.retry + s
        source, back = others * below[0, busy + 1] + rates.retry, others * below[1, busy + 1]
        if busy:
            leaving = leaving - ending * following[busy - 1]
            source = source + ending * fixed[busy - 1]
            back = back + ending * blocked[busy - 1]
        fixed[busy], following[busy] = source / leaving, rates.arrival / leaving
        blocked[busy] = back / leaving
    ending, lowering = servers * rates.service, level * giving_up
    leaving = rates.raising + ending + lowering + giving_up + s
    source = lowering * below[0, -1] + giving_up * lost + ending * fixed[servers - 1]
    leaving = leaving - lowering * below[1, -1]
    leaving = leaving - ending * (following[servers - 1] + blocked[servers - 1])
    found = np.empty_like(below)
    found[0, -1], found[1, -1] = source / leaving, rates.raising / leaving
    for busy in range(servers - 1, -1, -1):
        found[:, busy] = following[busy] * found[:, busy + 1] + blocked[busy] * found[:, -1]
        found[0, busy] += fixed[busy]
    return found
