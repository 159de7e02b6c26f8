"""M/M/c/K: c servers and K places in all; an arrival that finds no place is lost.

Exact by its birth–death chain (Gross and Harris 1998). It is stable for every load, since
at most K are present; K = c is Erlang's loss system.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dovemq.models import checks
from dovemq.models.analytic.inversion import inverted
from dovemq.models.analytic.station import Station, time_at_tail
from dovemq.models.checks import Floats
from dovemq.models.errors import ModelParameterInvalid, TooLarge

CELLS_MAX: Final = 50_000_000


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

    def wait_quantile(self, level: float) -> Floats:
        """Returns the quantile of the wait of accepted arrivals, of one station."""
        tail = np.asarray(1.0 - checks.level(level))
        first = np.asarray(1.0 / (self.servers * self.service_rate))
        waits = np.asarray(self.wait_tail(0.0) > tail)
        return np.where(waits, time_at_tail(self.wait_tail, tail, first), 0.0)

    def sojourn_quantile(self, level: float) -> Floats:
        """Returns the quantile of wait and service of accepted arrivals, of one station."""
        tail = np.asarray(1.0 - checks.level(level))
        seen = _probabilities(self.load, self.servers, self.capacity - 1.0).ravel()
        stages = np.maximum(np.arange(len(seen)) - float(self.servers) + 1.0, 0.0)
        speed, all_speed = float(self.service_rate), float(self.servers * self.service_rate)

        def transform(s: NDArray[np.complex128]) -> NDArray[np.complex128]:
            waited = (all_speed / (all_speed + s))[..., None] ** stages @ seen
            return np.asarray((1.0 - waited * speed / (speed + s)) / s)

        first = np.asarray(1.0 / self.service_rate)
        return time_at_tail(lambda time: inverted(transform, time), tail, first)


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
