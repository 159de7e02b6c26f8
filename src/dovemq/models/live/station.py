"""One station GI/G/m with measured service times: mean and quantiles of wait and response.

Arrivals wait as often as in M/M/m (Erlang 1917), the mean wait is that of Kraemer and
Langenbach-Belz (1976), and a wait that is not 0 is exponential. The service is drawn from the
measured times, independent of the wait. Means are exact for M/M/m. docs/explanation/models.md has
the measured errors.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

ROUNDING: Final = 1e-12
"""A utilisation nearer to 1 than this is 1, as in `stability.py`."""
_HALVINGS_MAX: Final = 60
_DOUBLINGS_MAX: Final = 200
_PRECISION: Final = 1e-5


def erlang_b_at(load: float, servers: int) -> float:
    """Returns the share of arrivals that find all servers busy where such arrivals are lost."""
    blocked = 1.0
    for count in range(1, servers + 1):
        offered = load * blocked
        blocked = offered / (count + offered)
    return blocked


@dataclass(frozen=True)
class LiveStation:
    """Rates are per unit of time of the service times, which stand for equal shares and rise."""

    arrival_rate: float
    service_times: tuple[float, ...]
    servers: int = 1
    arrival_scv: float = 1.0
    service_scv: float = 1.0
    stretch: float = 1.0
    """Each service takes so many times its measured time."""

    @cached_property
    def service_time(self) -> float:
        return self.stretch * math.fsum(self.service_times) / len(self.service_times)

    @property
    def capacity(self) -> float:
        """The arrival rate at which it saturates."""
        return self.servers / self.service_time

    @property
    def utilisation(self) -> float:
        return self.arrival_rate / self.capacity

    @property
    def stable(self) -> bool:
        return self.utilisation < 1.0 - ROUNDING

    @property
    def throughput(self) -> float:
        return min(self.arrival_rate, self.capacity)

    @cached_property
    def wait_probability(self) -> float:
        if not self.stable:
            return 1.0
        load = self.arrival_rate * self.service_time
        blocked = erlang_b_at(load, self.servers)
        return self.servers * blocked / (self.servers - load * (1.0 - blocked))

    @cached_property
    def wait(self) -> float:
        """The mean wait; infinite if unstable."""
        if not self.stable:
            return math.inf
        spare = self.servers * (1.0 - self.utilisation)
        markov = self.wait_probability * self.service_time / spare
        return 0.5 * (self.arrival_scv + self.service_scv) * self._regularity() * markov

    @property
    def response(self) -> float:
        return self.wait + self.service_time

    def wait_tail(self, time: float) -> float:
        """Returns P(wait > time)."""
        if not self.stable:
            return 1.0
        if self.wait <= 0.0:
            return 0.0
        return self.wait_probability * math.exp(-time * self.wait_probability / self.wait)

    def response_tail(self, time: float) -> float:
        """Returns P(wait + service > time)."""
        if not self.stable:
            return 1.0
        times = self.service_times
        passed = bisect_right(times, time / self.stretch)
        tail = (len(times) - passed) / len(times)
        if not passed or self.wait <= 0.0:
            return tail
        scale = self.wait / self.wait_probability
        since = time - self.stretch * times[passed - 1]
        late = self._decayed[passed - 1] * math.exp(-since / scale) / len(times)
        return tail + self.wait_probability * late

    @cached_property
    def _decayed(self) -> tuple[float, ...]:
        """Sums of exp(−(s_k − s_i)/w) over the service times s_i up to each s_k."""
        scale = self.wait / self.wait_probability
        found, total, last = [], 0.0, self.service_times[0]
        for each in self.service_times:
            total = total * math.exp(-self.stretch * (each - last) / scale) + 1.0
            found.append(total)
            last = each
        return tuple(found)

    def _regularity(self) -> float:
        """Returns the factor by which waits are shorter than (ca² + cs²)/2 of M/M/m."""
        arrivals, services = self.arrival_scv, self.service_scv
        if arrivals + services <= 0.0 or self.wait_probability <= 0.0:
            return 1.0
        spare = 1.0 - self.utilisation
        if arrivals < 1.0:
            below = 3.0 * self.wait_probability * (arrivals + services)
            return math.exp(-2.0 * spare * (1.0 - arrivals) ** 2 / below)
        return math.exp(-spare * (arrivals - 1.0) / (arrivals + 4.0 * services))


@dataclass(frozen=True)
class LiveQueue:
    """All stations of a queue, as numbers of equal partitions; `level` is that of the quantiles."""

    parts: tuple[tuple[int, LiveStation], ...]
    level: float

    @property
    def stable(self) -> bool:
        return all(each.stable for _, each in self.parts)

    @property
    def capacity(self) -> float:
        """The arrival rate at which the first partition saturates."""
        return self._partitions * min(each.capacity for _, each in self.parts)

    @property
    def utilisation(self) -> float:
        """The utilisation of the busiest partition."""
        return max(each.utilisation for _, each in self.parts)

    @property
    def throughput(self) -> float:
        return math.fsum(count * each.throughput for count, each in self.parts)

    @property
    def wait(self) -> float:
        return self._mean(lambda each: each.wait)

    @property
    def response(self) -> float:
        return self._mean(lambda each: each.response)

    @property
    def wait_quantile(self) -> float:
        return self._quantile(lambda each, time: each.wait_tail(time), self.wait)

    @property
    def response_quantile(self) -> float:
        return self._quantile(lambda each, time: each.response_tail(time), self.response)

    @property
    def _partitions(self) -> int:
        return sum(count for count, _ in self.parts)

    def _mean(self, of: Callable[[LiveStation], float]) -> float:
        return math.fsum(count * of(each) for count, each in self.parts) / self._partitions

    def _quantile(self, tail_of: Callable[[LiveStation, float], float], first: float) -> float:
        if not self.stable:
            return math.inf

        def late(time: float) -> bool:
            return self._mean(lambda each: tail_of(each, time)) > 1.0 - self.level

        low, high = 0.0, first
        if not late(low):
            return 0.0
        for _ in range(_DOUBLINGS_MAX):
            if not late(high):
                break
            low, high = high, 2.0 * high
        for _ in range(_HALVINGS_MAX):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if late(middle) else (low, middle)
            if high - low <= _PRECISION * high:
                break
        return high
