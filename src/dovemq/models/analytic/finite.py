"""M/M/c/K: c servers and K places in all; an arrival that finds no place is lost.

Exact by its birth–death chain (Gross and Harris 1998). It is stable for every load, since
at most K are present; K = c is Erlang's loss system.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dovemq.models import checks
from dovemq.models.analytic.inversion import quantile_of, time_at_tail
from dovemq.models.analytic.station import Station
from dovemq.models.checks import Floats
from dovemq.models.distributions import Complex
from dovemq.models.errors import ModelParameterInvalid, TooLarge

CELLS_MAX: Final = 50_000_000
STAGES_MAX: Final = 10_000
"""The most numbers present that a quantile is computed with."""
_NEGLIGIBLE: Final = 1e-17


@dataclass(frozen=True, slots=True)
class FiniteStation(Station):
    """Waiting and sojourn are means over the arrivals that found a place.

    `probabilities[k]` is that of k in the station, along the first axis up to the largest
    capacity. `utilisation` is the share of the servers that is busy, below 1 whatever the load.
    """

    capacity: Floats
    probabilities: Floats
    blocking_probability: Floats
    throughput: Floats

    def wait_tail(self, time: ArrayLike) -> Floats:
        """Returns P(wait > time) of accepted arrivals; k present ones make k − c + 1 stages."""
        after = checks.not_negative(time, "time")
        seen = _probabilities(self.load, self.servers, self.capacity - 1.0)
        stages = _along_first(seen) - self.servers + 1.0
        tails = special.gammaincc(np.maximum(stages, 1.0), self.servers * self.service_rate * after)
        tail: Floats = np.sum(np.where(stages >= 1.0, seen * tails, 0.0), axis=0)
        return tail

    def wait_quantile(self, level: float) -> float:
        """Returns the quantile of the wait of accepted arrivals, of one station."""
        tail = 1.0 - float(checks.level(level))
        stages, seen = self._stages()
        speed = float(self.servers * self.service_rate)
        waiting = stages > 0.0
        stages, seen = stages[waiting], seen[waiting]
        if seen.sum() <= tail:
            return 0.0

        def tail_at(time: Floats) -> Floats:
            return np.asarray(seen @ special.gammaincc(stages, speed * time))

        return float(time_at_tail(tail_at, np.asarray(tail), np.asarray(1.0 / speed)))

    def sojourn_quantile(self, level: float) -> float:
        """Returns the quantile of wait and service of accepted arrivals, of one station."""
        stages, seen = self._stages()
        return staged_quantile(stages, seen, float(self.servers), float(self.service_rate), level)

    def _stages(self) -> tuple[Floats, Floats]:
        """Returns the services that arrivals wait for, and the probability of each number."""
        seen = _probabilities(self.load, self.servers, self.capacity - 1.0).ravel()
        stages = np.maximum(np.arange(len(seen)) - float(self.servers) + 1.0, 0.0)
        return _likely(stages, seen)


def staged_quantile(
    stages: Floats, chances: Floats, servers: float, service_rate: float, level: float
) -> float:
    """Returns the quantile of the time of customers that wait for `stages` services and are served.

    While they wait all servers are busy; services are exponential.
    """
    waited_for, seen = _likely(stages, chances)
    together = servers * service_rate

    def transform(s: Complex) -> Complex:
        waited = (together / (together + s))[..., None] ** waited_for @ seen
        return np.asarray(waited * service_rate / (service_rate + s))

    return quantile_of(transform, level, 1.0 / service_rate)


def _likely(stages: Floats, chances: Floats) -> tuple[Floats, Floats]:
    kept = np.flatnonzero(chances > _NEGLIGIBLE * chances.max())
    if kept.size > STAGES_MAX:
        remedy = "choose a smaller capacity, or fewer customers"
        raise TooLarge("numbers present for a quantile", kept.size, STAGES_MAX, remedy)
    return stages[kept], chances[kept]


def mmck(
    arrival_rate: ArrayLike, service_rate: ArrayLike, servers: ArrayLike, capacity: ArrayLike
) -> FiniteStation:
    rate, speed, count, room = checks.same_shape(
        arrival_rate=checks.not_negative(arrival_rate, "arrival_rate"),
        service_rate=checks.positive(service_rate, "service_rate"),
        servers=checks.servers(servers),
        capacity=checks.servers(capacity, "capacity"),
    )
    if (room < count).any():
        place = checks.first_place(room < count)
        raise ModelParameterInvalid(
            "capacity", f"{room[place]:g}", f"room for the {count[place]:g} servers"
        )
    load = rate / speed
    probabilities = _probabilities(load, count, room)
    counts = _along_first(probabilities)
    blocking = np.sum(np.where(counts == room, probabilities, 0.0), axis=0)
    throughput = rate * (1.0 - blocking)
    busy = np.sum(np.minimum(counts, count) * probabilities, axis=0)
    waiting = np.sum(np.maximum(counts - count, 0.0) * probabilities, axis=0)
    # Poisson arrivals see time averages: one that finds room sees a station with one place less.
    seen = _probabilities(load, count, room - 1.0)
    before = _along_first(seen) - count + 1.0
    waiting_time = np.sum(np.maximum(before, 0.0) * seen, axis=0) / (count * speed)
    return FiniteStation(
        arrival_rate=rate,
        service_rate=speed,
        servers=count,
        capacity=room,
        load=load,
        probabilities=probabilities,
        blocking_probability=blocking,
        throughput=throughput,
        utilisation=busy / count,
        stable=np.ones(load.shape, dtype=np.bool_),
        wait_probability=np.sum(np.where(before > 0, seen, 0.0), axis=0),
        waiting=waiting,
        waiting_time=waiting_time,
        number=waiting + busy,
        sojourn_time=waiting_time + 1.0 / speed,
    )


def _probabilities(load: Floats, servers: Floats, capacity: Floats) -> Floats:
    """Computes in logarithms, so that no capacity overflows."""
    levels = int(capacity.max(initial=0)) + 1
    if levels * load.size > CELLS_MAX:
        raise TooLarge("probabilities", levels * load.size, CELLS_MAX, "ask for fewer at a time")
    counts = np.arange(levels, dtype=np.float64).reshape(-1, *([1] * load.ndim))
    below = np.minimum(counts, servers)
    above = counts - below
    logs = special.xlogy(counts, load) - special.gammaln(below + 1.0) - above * np.log(servers)
    logs = np.where(counts <= capacity, logs, -np.inf)
    weights = np.exp(logs - logs.max(axis=0))
    normal: Floats = weights / weights.sum(axis=0)
    return normal


def _along_first(probabilities: Floats) -> Floats:
    counts = np.arange(len(probabilities), dtype=np.float64)
    return counts.reshape(-1, *([1] * (probabilities.ndim - 1)))
