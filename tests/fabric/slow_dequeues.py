"""A plain simulation of the queue system of `rds` that runs the service's own strategies.

It shares no code with the compiled kernel. Its sleep may change while it runs, so that the tuner
can be tried on it.
"""

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec

from dovemq.fabric.dequeue import (
    DequeueSettings,
    Park,
    PartitionsView,
    Search,
    TryPartition,
    begin,
    found_at,
    next_step,
    woken,
)
from dovemq.models.simulation.rds.parameters import RdsParameters

FOREVER_MS = 1 << 50


@dataclass
class _Server:
    jobs: deque[Callable[[float], float]] = field(default_factory=deque)
    messages: deque[float] = field(default_factory=deque)
    busy: bool = False


@dataclass
class Tally:
    received: int = 0
    hits: int = 0
    misses: int = 0
    waited: float = 0.0
    parked: int = 0


class SlowDequeues:
    """One replication. `tally` counts since it was last replaced."""

    def __init__(self, system: RdsParameters, seed: int) -> None:
        self.tally = Tally()
        self.sleep = system.sleep
        self._system = system
        self._rng = random.Random(seed)
        self._settings = DequeueSettings(
            system.method,
            system.fanout,
            sleep_ms=1,
            wake="timer",
            monitor_period_ms=round(1000 * system.period),
            regulation=system.regulation,
        )
        numbers = tuple(range(system.queues))
        self._servers = [_Server() for _ in numbers]
        self._views = [
            PartitionsView(numbers, self._rng.randrange(system.queues))
            for _ in range(system.controllers)
        ]
        self._turns = [self._rng.randrange(system.queues) for _ in range(system.controllers)]
        self._parked = [0] * system.controllers
        self._looking: set[tuple[int, int]] = set()
        self._order = itertools.count()
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        for _ in range(system.senders or 1):
            self._at(0.0, self._send)
        for owner in range(system.controllers):
            self._at(self._between(), partial(self._request, owner))
            if system.method == "pms":
                first = system.period * self._rng.random()
                self._at(first, partial(self._look, owner))

    def run(self, until: float) -> None:
        while self._events[0][0] <= until:
            now, _, event = heapq.heappop(self._events)
            event(now)

    def _at(self, time: float, event: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (time, next(self._order), event))

    def _between(self) -> float:
        return self._rng.expovariate(self._system.request_rate)

    def _send(self, now: float) -> None:
        if not self._system.senders:
            self._at(now + 1.0 / self._system.enqueue_rate, self._send)
        controller = self._rng.randrange(self._system.controllers)
        queue = self._turns[controller]
        self._turns[controller] = (queue + 1) % self._system.queues

        def serve(start: float) -> float:
            end = start + self._system.enqueue_cost
            self._at(end, partial(self._store, queue, now))
            return end

        self._put(now, queue, serve)

    def _store(self, queue: int, sent: float, now: float) -> None:
        self._servers[queue].messages.append(sent)
        if self._system.senders:
            self._send(now)

    def _put(self, now: float, queue: int, job: Callable[[float], float]) -> None:
        server = self._servers[queue]
        server.jobs.append(job)
        if not server.busy:
            self._serve(now, queue)

    def _serve(self, now: float, queue: int) -> None:
        server = self._servers[queue]
        server.busy = bool(server.jobs)
        if server.jobs:
            end = server.jobs.popleft()(now)
            self._at(end, lambda time: self._serve(time, queue))

    def _request(self, owner: int, now: float) -> None:
        if self._system.loop == "open":
            self._at(now + self._between(), partial(self._request, owner))
        if self._system.parked_blocks and self._parked[owner]:
            return
        wait_ms = FOREVER_MS if self._system.method == "rds" else 0
        self._go_on(now, owner, begin(self._system.wanted, self._settings, wait_ms, 1, 0))

    def _go_on(self, now: float, owner: int, search: Search) -> None:
        step = next_step(search, self._views[owner], self._settings, 0)
        if isinstance(step, TryPartition):
            self._views[owner] = self._views[owner].after(step, self._settings)
            self._put(now, step.partition, lambda start: self._access(start, owner, search, step))
        elif isinstance(step, Park):
            self._parked[owner] += 1
            self.tally.parked += 1
            self._at(now + self.sleep, lambda time: self._retry(time, owner, search))
        elif self._system.loop == "closed":
            self._at(now + self._between(), partial(self._request, owner))

    def _retry(self, now: float, owner: int, search: Search) -> None:
        self._parked[owner] -= 1
        self._go_on(now, owner, woken(search))

    def _access(self, start: float, owner: int, search: Search, step: TryPartition) -> float:
        """Serves an access; what it finds is decided now and received at its end."""
        messages = self._servers[step.partition].messages
        count = min(len(messages), step.count_max)
        cost = self._system.miss_cost
        if count:
            cost = self._system.hit_cost + count * self._system.message_cost

        def end(now: float) -> None:
            self.tally.hits += bool(count)
            self.tally.misses += not count
            self.tally.received += count
            self.tally.waited += sum(now - messages.popleft() for _ in range(count))
            self._go_on(now, owner, found_at(search, step.partition, count))

        self._at(start + cost, end)
        return start + cost

    def _look(self, owner: int, now: float) -> None:
        self._at(now + self._system.period, partial(self._look, owner))
        for queue in range(self._system.queues):
            if (owner, queue) not in self._looking:
                self._looking.add((owner, queue))
                self._put(now, queue, partial(self._counted, owner, queue))

    def _counted(self, owner: int, queue: int, start: float) -> float:
        end = start + self._system.look_cost

        def note(_: float) -> None:
            view = self._views[owner]
            self._looking.discard((owner, queue))
            counts = {**view.counts, queue: len(self._servers[queue].messages)}
            self._views[owner] = msgspec.structs.replace(view, counts=counts)

        self._at(end, note)
        return end
