"""Many servers that run a front end and a storage node each (bdqs, §V.B), simulated.

    found = simulate_servers(ServersModel(nodes=50, clients=1200, costs=(RequestCost(2e-3, 6e-3),)))
    found.rate, found.response

Every client repeats a cycle of requests, each as soon as the last one is answered. A request takes
CPU at the front end of a random server, then at `replicas` others that store its data; it is
answered when the first of them is done, and the others do their part as well. A server has one
core and works first come, first served; service times are exponential. Times are in seconds.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.simulation.compiled import kernel, part
from dovemq.models.simulation.streams import Words, seeded, uniform

NODES_MAX: Final = 1_000
CLIENTS_MAX: Final = 100_000
WARM_UP: Final = 0.2
"""The share of the run that does not count."""


@dataclass(frozen=True, slots=True)
class RequestCost:
    """CPU of one request: at its front end, and at all its storage nodes together."""

    front_end: float
    storage: float

    def __post_init__(self) -> None:
        checks.positive(self.front_end, "front_end")
        checks.positive(self.storage, "storage")


@dataclass(frozen=True, slots=True)
class ServersModel:
    """`costs` are the requests of a cycle; after them a client waits for `delay`, exponential.

    `speed` is the share of a core that a server has.
    """

    nodes: int
    clients: int
    costs: tuple[RequestCost, ...]
    replicas: int = 3
    delay: float = 0.0
    latency: float = 0.0005
    speed: float = 1.0

    def __post_init__(self) -> None:
        checks.whole(self.nodes, "nodes", 1, NODES_MAX)
        checks.whole(self.clients, "clients", 1, CLIENTS_MAX)
        checks.whole(self.replicas, "replicas", 1, self.nodes)
        checks.positive(self.speed, "speed")
        for name in ("delay", "latency"):
            checks.not_negative(getattr(self, name), name)

    @property
    def rate_max(self) -> float:
        """Cycles a second that all servers can do together."""
        work = sum(each.front_end + each.storage for each in self.costs)
        return self.nodes * self.speed / work


@dataclass(frozen=True, slots=True)
class ServersFigures:
    """Cycles a second, and the mean response time of the first request of a cycle."""

    rate: float
    response: float


def simulate_servers(model: ServersModel, cycles: int = 20_000, seed: int = 0) -> ServersFigures:
    """Runs until so many cycles are done, `WARM_UP` of them before it counts."""
    costs = np.array([(each.front_end, each.storage) for each in model.costs]) / model.speed
    heap = np.zeros((model.clients + 1, 3))
    free = np.zeros(model.nodes)
    sums = np.zeros(4)
    words = seeded(seed, [(0,)])[0]
    settings = np.array([model.delay, model.latency])
    began = np.zeros(model.clients)
    _run(costs, heap, free, sums, words, settings, began, model.replicas, cycles)
    span = sums[1] - sums[0]
    return ServersFigures(float(sums[2] / span), float(sums[3] / sums[2]))


@part
def _push(heap: Floats, count: int, time: float, client: int, stage: int) -> None:
    place = count
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent, 0] <= time:
            break
        for column in range(3):
            heap[place, column] = heap[parent, column]
        place = parent
    heap[place, 0], heap[place, 1], heap[place, 2] = time, client, stage


@part
def _sift(heap: Floats, count: int) -> None:
    """Moves the last event to its place, as the first one has left."""
    time, client, stage = heap[count, 0], heap[count, 1], heap[count, 2]
    place, child = 0, 1
    while child < count:
        if child + 1 < count and heap[child + 1, 0] < heap[child, 0]:
            child += 1
        if time <= heap[child, 0]:
            break
        for column in range(3):
            heap[place, column] = heap[child, column]
        place = child
        child = 2 * place + 1
    heap[place, 0], heap[place, 1], heap[place, 2] = time, client, stage


@part
def _served(free: Floats, words: Words, now: float, node: int, mean: float) -> float:
    """Puts work into a server's line; returns when it is done."""
    free[node] = max(now, free[node]) - mean * math.log(uniform(words))
    return float(free[node])


@part
def _answered(free: Floats, words: Words, now: float, replicas: int, storage: float) -> float:
    """The replicas of a message are neighbours on the ring, from a random server on."""
    nodes = free.size
    first = int(uniform(words) * nodes)
    soonest = math.inf
    for step in range(replicas):
        done = _served(free, words, now, (first + step) % nodes, storage / replicas)
        soonest = min(soonest, done)
    return soonest


@kernel
def _run(
    costs: Floats,
    heap: Floats,
    free: Floats,
    sums: Floats,
    words: Words,
    settings: Floats,
    began: NDArray[Any],
    replicas: int,
    cycles: int,
) -> None:
    """Stage 2·i is the arrival of the i-th request at a front end, 2·i + 1 at the storage."""
    delay, latency = settings[0], settings[1]
    count, done, warm = 0, 0, int(WARM_UP * cycles)
    for client in range(began.size):
        # Not all at the same instant: nobody could be served in parallel.
        _push(heap, count, (delay + 0.001) * uniform(words), client, 0)
        count += 1
    while done < cycles:
        now, client, stage = heap[0, 0], int(heap[0, 1]), int(heap[0, 2])
        count -= 1
        _sift(heap, count)
        request = stage >> 1
        if stage & 1 == 0:
            if request == 0:
                began[client] = now
            node = int(uniform(words) * free.size)
            at = _served(free, words, now, node, costs[request, 0]) + latency
        else:
            at = _answered(free, words, now, replicas, costs[request, 1]) + latency
            if request == 0 and done >= warm:
                sums[3] += at - began[client]
            if request == costs.shape[0] - 1:
                done += 1
                if done == warm:
                    sums[0] = now
                elif done > warm:
                    sums[1] = now
                    sums[2] += 1.0
                at -= delay * math.log(uniform(words))
                stage = -1
        _push(heap, count, at, client, stage + 1)
        count += 1
