"""Gets of a message whose visibility timeout may end before its acknowledgement arrives.

A get at time 0 is acknowledged by time t with probability F(t) = q·P(S ≤ t − D): its service S and
the link D come first, and it succeeds with probability q. The message is visible again when the
timeout V has passed, is got again after a wait of w for a free thread, and so on every V + w, until
one of the gets is acknowledged; each get goes on to its end. So P(no acknowledgement by t) is the
product of 1 − F(t − k·(V + w)) over the gets k = 0, 1, … until then.

Messages that are visible again go before all others, so w is the wait of the urgent class of
M/M/n (Cobham 1954). Approximate: w is taken as its mean, and gets as Poisson. Service is
exponential.
"""

import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovemq.models.checks import Floats

GETS_MAX: Final = 2_000
"""The gets of a message that are followed one by one; the rest is a geometric series."""
ROUNDS_MAX: Final = 200
"""Rounds of the search for the wait w."""
_REST: Final = 1e-13
_SERVICES_LONG: Final = 36.0
"""No service lasts so many mean service times, to rounding."""
_NODES: Final = 24
_PARTS: Final = (0.0, 4.0, 14.0, 40.0)
"""The ends of the parts of an integral, in service times after the link."""


@dataclass(frozen=True, slots=True)
class TimedBroker:
    """The broker of `vma` with timers; all fields have one shape. Rates are of one thread."""

    arrival_rate: Floats
    service_rate: Floats
    threads: Floats
    reliability: Floats
    timeout: Floats
    link_delay: Floats

    def acknowledged(self, time: Floats) -> Floats:
        """Returns F, where the last axis of `time` may be one more than those of the fields."""
        extra = (...,) + (None,) * (time.ndim - self.timeout.ndim)
        after = np.maximum(time - self.link_delay[extra], 0.0)
        return -self.reliability[extra] * np.expm1(-self.service_rate[extra] * after)

    @property
    def early(self) -> Floats:
        """The probability that a get lasts longer than the timeout."""
        left = np.maximum(self.timeout - self.link_delay, 0.0)
        return np.exp(-self.service_rate * left)

    def gets(self, gap: Floats) -> Floats:
        """Returns the mean gets of a message that come a gap apart."""
        unacknowledged = np.ones(self.timeout.shape)
        total = np.zeros(self.timeout.shape)
        failed = unacknowledged
        for number in range(1, GETS_MAX + 1):
            total = total + unacknowledged
            failed = 1.0 - self.acknowledged(number * gap)
            unacknowledged = unacknowledged * failed
            if self._constant(number * gap) or unacknowledged.max(initial=0.0) < _REST:
                break
        with np.errstate(divide="ignore"):
            return total + unacknowledged / (1.0 - failed)

    def response_time(self, gap: Floats) -> Floats:
        """Returns the mean time from the first get to the first acknowledgement."""
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        # F has a kink where the link ends and then falls fast, so parts are integrated apart.
        ends = [self.link_delay + services / self.service_rate for services in _PARTS]
        bounds = [np.zeros(gap.shape), *(np.minimum(end, gap) for end in ends), gap]
        total = np.zeros(self.timeout.shape)
        for low, high in itertools.pairwise(bounds):
            half = 0.5 * (high - low)
            times = low[..., None] + half[..., None] * (nodes + 1.0)
            total = total + half * (self._unacknowledged(times, gap[..., None]) @ weights)
        return total

    def _unacknowledged(self, times: Floats, gap: Floats) -> Floats:
        """Returns P(no acknowledgement) at the times and any number of gaps later, summed."""
        total = np.zeros(times.shape)
        now = np.ones(times.shape)
        failed = now
        for number in range(GETS_MAX):
            failed = 1.0 - self.acknowledged(times + number * gap)
            now = now * failed
            total = total + now
            if self._constant(number * gap[..., 0]) or now.max(initial=0.0) < _REST:
                break
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = now * failed / (1.0 - failed)
        return total + np.where(now < _REST, 0.0, rest)

    def _constant(self, time: Floats) -> bool:
        """Says whether F has practically reached q, from where on all gets fail alike."""
        passed = self.service_rate * (time - self.link_delay)
        return bool(passed.min(initial=np.inf) > _SERVICES_LONG)

    def wait_again(self, gets: Floats, wait_probability: Floats) -> Floats:
        """Returns the mean wait for a thread of a message that is visible again."""
        capacity = self.threads * self.service_rate
        again = np.minimum(self.arrival_rate * (gets - 1.0) / capacity, 1.0 - 1e-9)
        return wait_probability / (capacity * (1.0 - again))

    def gets_at_full_load(self) -> Floats:
        """Returns the mean gets of a message while all threads are always busy."""
        wait = self.wait_again(np.ones(self.timeout.shape), np.ones(self.timeout.shape))
        for _ in range(ROUNDS_MAX):
            found = self.wait_again(self.gets(self.timeout + wait), np.ones(self.timeout.shape))
            if np.allclose(found, wait, rtol=1e-9, atol=0.0):
                break
            wait = 0.5 * (wait + found)
        return self.gets(self.timeout + wait)
