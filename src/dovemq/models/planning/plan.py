"""The result of a planner: an allocation, its steps, and what is missing."""

from dataclasses import dataclass

import numpy as np

from dovemq.models.checks import Floats
from dovemq.models.planning.problem import Problem
from dovemq.models.planning.progress import WorkInProgress


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
    """`cost` is the cost added to the start; `time_per_job` is wip over the rate of all jobs.

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


@dataclass(frozen=True, slots=True)
class NextConsumer:
    """The topic that gets the next consumer, and the work in progress then, if it is known."""

    place: int
    reason: str
    wip: float | None = None


def whole(consumers: Floats) -> tuple[int, ...]:
    return tuple(consumers.astype(np.int64).tolist())


class Sketch:
    """A plan under construction: the allocation so far, with every step and its reason."""

    def __init__(self, method: str, problem: Problem, progress: WorkInProgress) -> None:
        self._method = method
        self._problem = problem
        self._progress = progress
        self._prices = problem.prices
        self._names = tuple(topic.name for topic in problem.network.topics)
        self._steps: list[PlanStep] = []
        self.consumers = problem.start
        self.cost = 0.0
        self.wip = float(progress.wip(self.consumers))

    @property
    def time_per_job(self) -> float:
        return self.wip / self._progress.job_rate

    @property
    def count(self) -> int:
        return len(self._steps)

    @property
    def steps(self) -> Floats:
        """The cost of one more consumer at each topic."""
        return self._prices.of(self.consumers + 1.0) - self._prices.of(self.consumers)

    def add(self, choice: NextConsumer) -> None:
        place = choice.place
        self.cost += float(self.steps[place])
        self.consumers = self.consumers.copy()
        self.consumers[place] += 1.0
        self.wip = (
            choice.wip if choice.wip is not None else float(self._progress.wip(self.consumers))
        )
        self._steps.append(
            PlanStep(
                number=len(self._steps) + 1,
                topic=self._names[place],
                consumers=whole(self.consumers),
                cost=self.cost,
                wip=self.wip,
                time_per_job=self.time_per_job,
                reason=choice.reason,
            )
        )

    def plan(self, *, feasible: bool, note: str) -> CapacityPlan:
        return plan_of(
            self._method,
            self._problem,
            self._progress,
            self.consumers,
            steps=tuple(self._steps),
            feasible=feasible,
            note=note,
        )


def plan_of(
    method: str,
    problem: Problem,
    progress: WorkInProgress,
    consumers: Floats,
    *,
    feasible: bool,
    note: str,
    steps: tuple[PlanStep, ...] = (),
) -> CapacityPlan:
    wip = float(progress.wip(consumers))
    return CapacityPlan(
        method=method,
        topics=tuple(topic.name for topic in problem.network.topics),
        start=whole(problem.start),
        consumers=whole(consumers),
        cost=float(problem.extra_cost(consumers)),
        wip=wip,
        time_per_job=wip / progress.job_rate,
        steps=steps,
        feasible=feasible,
        note=note,
        shortages=shortages(problem, progress, consumers),
    )


def shortages(
    problem: Problem, progress: WorkInProgress, consumers: Floats
) -> tuple[Shortage, ...]:
    missing = np.maximum(progress.stable_from - consumers, 0.0)
    return tuple(
        Shortage(
            topic.name, float(progress.loads[place]), int(consumers[place]), int(missing[place])
        )
        for place, topic in enumerate(problem.network.topics)
        if missing[place] > 0.0
    )
