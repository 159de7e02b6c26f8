"""A simulated service with topics, jobs and consumers that a scheduler changes while it runs."""

import functools
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from dovemq.models.jobs import JobRoute, chain
from dovemq.workflows.sizing.decisions import SizingDecision
from dovemq.workflows.sizing.monitor import MonitorSettings, measure
from dovemq.workflows.sizing.observed import ENDED, RUNNING, ObservedJob, ObservedTask
from dovemq.workflows.sizing.scheduler import SizingMemory, SizingObservation, decide
from dovemq.workflows.sizing.settings import SizingSettings

PATHS: Final = {"1": ("A", "B", "D"), "2": ("A", "D", "D"), "3": ("C", "D")}
ROUTES: Final = {name: (JobRoute(chain(*path)),) for name, path in PATHS.items()}
RATES: Final = {"A": 4.2, "B": 3.7, "C": 6.7, "D": 5.1}
"""Services a second of one consumer: the paper's figures, with a second for its minute."""
SECOND_MS: Final = 1_000

Rates = Callable[[int], Mapping[str, float]]
"""Gives the arrival rates a second of the job types at a time in milliseconds."""


@dataclass
class _Job:
    name: str
    type: str
    created_ms: int
    ended_ms: int | None = None
    published: dict[str, int] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    record: ObservedJob | None = None

    def observed(self) -> ObservedJob:
        if self.record is not None:
            return self.record
        tasks = {}
        for task in ROUTES[self.type][0].tasks:
            started, ended = self.started.get(task.name), self.ended.get(task.name)
            service = None if started is None or ended is None else float(ended - started)
            published = self.published.get(task.name)
            tasks[task.name] = ObservedTask(task.topic, published, started, ended, service)
        state = RUNNING if self.ended_ms is None else ENDED
        found = ObservedJob(self.name, self.type, state, self.created_ms, self.ended_ms, tasks)
        self.record = found if state == ENDED else None
        return found


class SizedWorld:
    """Poisson arrivals, exponential services. Consumers that are taken away finish their task."""

    def __init__(self, rates: Rates, consumers: Mapping[str, int], seed: int) -> None:
        self._rates, self.consumers = rates, dict(consumers)
        self._rng = np.random.default_rng(seed)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._lines: dict[str, deque[tuple[_Job, int]]] = {name: deque() for name in RATES}
        self._busy = dict.fromkeys(RATES, 0)
        self.now_ms = 0
        self.jobs: list[_Job] = []
        for kind in PATHS:
            self._await_arrival(kind)

    def observed(self, window_ms: int) -> Iterator[ObservedJob]:
        first_ms = self.now_ms - window_ms
        self.jobs = [job for job in self.jobs if job.ended_ms is None or job.ended_ms >= first_ms]
        return map(_Job.observed, self.jobs)

    def run_until(self, end_ms: int) -> None:
        while self._events and self._events[0][0] <= end_ms:
            self.now_ms, _, happen = heapq.heappop(self._events)
            happen()
        self.now_ms = end_ms
        for topic in RATES:
            self._start(topic)

    def _after(self, seconds: float, happen: Callable[[], None]) -> None:
        at_ms = self.now_ms + max(round(seconds * SECOND_MS), 1)
        heapq.heappush(self._events, (at_ms, next(self._numbers), happen))

    def _await_arrival(self, kind: str) -> None:
        """Arrivals are thinned from a rate that is never exceeded."""
        ceiling = 4.0
        gap = float(self._rng.exponential(1.0 / ceiling))
        self._after(gap, lambda: self._perhaps_arrive(kind, ceiling))

    def _perhaps_arrive(self, kind: str, ceiling: float) -> None:
        if self._rng.random() < self._rates(self.now_ms)[kind] / ceiling:
            job = _Job(str(next(self._numbers)), kind, self.now_ms)
            self.jobs.append(job)
            self._publish(job, 0)
        self._await_arrival(kind)

    def _publish(self, job: _Job, place: int) -> None:
        tasks = ROUTES[job.type][0].tasks
        if place == len(tasks):
            job.ended_ms = self.now_ms
            return
        job.published[tasks[place].name] = self.now_ms
        self._lines[tasks[place].topic].append((job, place))
        self._start(tasks[place].topic)

    def _start(self, topic: str) -> None:
        while self._lines[topic] and self._busy[topic] < self.consumers[topic]:
            job, place = self._lines[topic].popleft()
            job.started[ROUTES[job.type][0].tasks[place].name] = self.now_ms
            self._busy[topic] += 1
            service = float(self._rng.exponential(1.0 / RATES[topic]))
            self._after(service, functools.partial(self._end, topic, job, place))

    def _end(self, topic: str, job: _Job, place: int) -> None:
        self._busy[topic] -= 1
        job.ended[ROUTES[job.type][0].tasks[place].name] = self.now_ms
        self._publish(job, place + 1)
        self._start(topic)


def scheduled(
    world: SizedWorld,
    settings: SizingSettings,
    seconds: int,
    *,
    window_ms: int = 20_000,
    every_ms: int = 2_000,
) -> list[SizingDecision]:
    """Runs the world under the scheduler and returns its decisions."""
    memory, decisions = SizingMemory(), []
    watched = MonitorSettings(window_ms, settings.alarm_ms)
    for now_ms in range(every_ms, seconds * SECOND_MS + 1, every_ms):
        world.run_until(now_ms)
        workload = measure(world.observed(window_ms), ROUTES, now_ms, watched)
        observation = SizingObservation(workload, ROUTES, world.consumers)
        decision, memory = decide(observation, memory, settings)
        world.consumers = dict(decision.after)
        decisions.append(decision)
    return decisions
