"""The result of a planner: an allocation, its steps, and what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovemq.models.checks import Floats
from dovemq.models.planning.problem import Problem
from dovemq.models.planning.progress import WorkInProgress
from dovemq.models.planning.response import JobTimes, has_joins
from dovemq.models.stability import is_stable


@dataclass(frozen=True, slots=True)
class Shortage:
    """A topic that stays unstable, and the missing consumers that would make it stable."""

    topic: str
    load: float
    consumers: int
    missing: int


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One more consumer at a topic. Infinite figures mean that a topic is still unstable."""

    number: int
    topic: str
    consumers: tuple[int, ...]
    cost: float
    wip: float
    time_per_job: float
    reason: str


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    """`cost` is the cost added to the start; `time_per_job` is the mean response time of all jobs.

    If the plan is for a quantile, `time_per_job` is that quantile of the slowest type of job.
    Not `feasible`: the budget cannot make every topic stable, or the target cannot be reached;
    `note` says which, `shortages` what is missing. The allocation is then the best that was found.
    """

    method: str
    topics: tuple[str, ...]
    start: tuple[int, ...]
    consumers: tuple[int, ...]
    cost: float
    wip: float
    time_per_job: float
    steps: tuple[PlanStep, ...]
    feasible: bool
    note: str
    shortages: tuple[Shortage, ...] = ()


def whole(consumers: Floats) -> tuple[int, ...]:
    return tuple(consumers.astype(np.int64).tolist())


class Sketch:
    """A plan under construction: the allocation so far, with every step and its reason.

    `by_work` says that less work in progress means a shorter time, as it does for chains.
    """

    def __init__(self, method: str, problem: Problem, level: float | None = None) -> None:
        self._method = method
        self.problem = problem
        joined = level is not None or has_joins(problem.network)
        self.times = JobTimes(problem, level) if joined or (problem.weights != 1.0).any() else None
        self.by_work = not joined
        self.progress = WorkInProgress(problem)
        self.names = tuple(topic.name for topic in problem.network.topics)
        self.steps: list[PlanStep] = []
        self.consumers = problem.start
        self.cost = 0.0
        self.wip = float(self.progress.wip(self.consumers))
        self.time_per_job = self._time()

    @property
    def floor(self) -> float:
        """The time per job while nobody waits."""
        if self.times is not None:
            return self.times.floor()
        return self.progress.floor / self.progress.job_rate

    def _time(self) -> float:
        if self.times is None or not np.isfinite(self.wip):
            return self.wip / self.progress.job_rate
        return float(self.times.time(self.consumers))

    @property
    def prices(self) -> Floats:
        """The cost of one more consumer at each topic."""
        return self.problem.costs_of(self.consumers + 1.0) - self.problem.costs_of(self.consumers)

    def add(self, place: int, reason: str, wip: float | None = None) -> None:
        """Adds a consumer to a topic; `wip` is the work in progress then, if it is known."""
        self.cost += float(self.prices[place])
        self.consumers = self.consumers.copy()
        self.consumers[place] += 1.0
        self.wip = float(self.progress.wip(self.consumers)) if wip is None else wip
        self.time_per_job = self._time()
        self.steps.append(
            PlanStep(
                number=len(self.steps) + 1,
                topic=self.names[place],
                consumers=whole(self.consumers),
                cost=self.cost,
                wip=self.wip,
                time_per_job=self.time_per_job,
                reason=reason,
            )
        )

    def plan(self, *, feasible: bool, note: str) -> CapacityPlan:
        self.wip = float(self.progress.wip(self.consumers))
        return CapacityPlan(
            method=self._method,
            topics=self.names,
            start=whole(self.problem.start),
            consumers=whole(self.consumers),
            cost=float(self.problem.extra_cost(self.consumers)),
            wip=self.wip,
            time_per_job=self._time(),
            steps=tuple(self.steps),
            feasible=feasible,
            note=note,
            shortages=shortages(self.names, self.progress, self.consumers),
        )


def shortages(
    topics: Sequence[str], progress: WorkInProgress, consumers: Floats, margin: float = 0.0
) -> tuple[Shortage, ...]:
    """Lists the topics whose load reaches the consumers, or is below them by that share only."""
    missing = np.maximum(progress.stable_from - consumers, 0.0)
    return tuple(
        Shortage(topic, float(load), int(count), int(lacking))
        for topic, load, count, lacking in zip(
            topics, progress.loads, consumers, missing, strict=True
        )
        if not is_stable(load, count * (1.0 - margin))
    )
