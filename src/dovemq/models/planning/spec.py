"""Reads a planning file: topics, jobs and a goal.

    unit = "minute"                      # of the rates: second, minute or hour
    [goal]
    budget = 5                           # or target_seconds = 50.0
    [topics.A]
    service_rate = 4.2
    [jobs.1]
    arrival_rate = 3.0
    path = ["A", "B", "D"]               # or tasks, or several routes

    [calibrated]                         # as `dovemq pipeline calibrate` writes it; only checked
    confidence = 0.95
    [calibrated.topics.A]
    service_rate = { value = 4.2, low = 4.0, high = 4.4, samples = 1700 }

Unknown keys and values of a wrong type are refused with their place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, JobType, Topic, chain
from dovemq.models.planning.costs import Cost
from dovemq.models.planning.problem import CONSUMERS_MAX, Problem
from dovemq.models.specs import SpecTable, read_table, read_tables

UNITS_SECONDS: Final[Mapping[str, float]] = {"second": 1.0, "minute": 60.0, "hour": 3600.0}
METHODS: Final = ("greedy", "exact", "random")


class Goal(SpecTable, frozen=True):
    """Exactly one of `budget` (cost over the start) and `target_seconds` (of a job); or neither.

    `percentile` is the share of the jobs of every type that meet the target, in per cent; without
    it the target bounds the mean.
    """

    budget: float | None = None
    target_seconds: float | None = None
    percentile: float | None = None
    method: str = "greedy"
    optimise_routes: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.budget is not None and self.target_seconds is not None:
            raise ValueError("budget and target_seconds exclude each other")
        if self.percentile is not None and not 0.0 < self.percentile < 100.0:
            raise ValueError(f"percentile {self.percentile:g} is not between 0 and 100")
        if self.percentile is not None and self.target_seconds is None:
            raise ValueError("percentile needs target_seconds")
        if self.method not in METHODS:
            raise ValueError(f"method {self.method!r} is none of {', '.join(METHODS)}")

    @property
    def level(self) -> float | None:
        return None if self.percentile is None else self.percentile / 100.0


class _File(SpecTable, frozen=True):
    topics: Any = msgspec.field(default_factory=dict)
    jobs: Any = msgspec.field(default_factory=dict)
    unit: str = "second"
    goal: Goal = Goal()
    calibrated: Any = None


class _Cost(SpecTable, frozen=True):
    linear: float = 0.0
    quadratic: float = 0.0


class _Topic(SpecTable, frozen=True):
    service_rate: float
    service_scv: float = 1.0
    consumers: int = 1
    consumers_max: int = CONSUMERS_MAX
    value: float = 1.0
    cost: float | list[float] | _Cost = 1.0


class _Task(SpecTable, frozen=True):
    topic: str
    after: tuple[str, ...] = ()


class _Route(SpecTable, frozen=True):
    share: float
    path: tuple[str, ...] | None = None
    tasks: Any = None


class _Job(SpecTable, frozen=True):
    arrival_rate: float
    arrival_scv: float = 1.0
    path: tuple[str, ...] | None = None
    tasks: Any = None
    routes: Any = None


class _Interval(SpecTable, frozen=True):
    value: float
    low: float
    high: float
    samples: int

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"{self.value:g} is not between {self.low:g} and {self.high:g}")


class _Calibrated(SpecTable, frozen=True):
    confidence: Annotated[float, Meta(gt=0, lt=1)]
    topics: Any = msgspec.field(default_factory=dict)
    jobs: Any = msgspec.field(default_factory=dict)


class _CalibratedTopic(SpecTable, frozen=True):
    service_rate: _Interval | None = None
    service_scv: _Interval | None = None
    work_seconds: _Interval | None = None
    failure_probability: _Interval | None = None
    retries: _Interval | None = None
    distribution: str = ""


class _CalibratedJob(SpecTable, frozen=True):
    arrival_rate: _Interval | None = None
    arrival_scv: _Interval | None = None
    distribution: str = ""


@dataclass(frozen=True, slots=True)
class PlanSpec:
    problem: Problem
    goal: Goal
    unit_seconds: float


def read_spec(content: Mapping[str, Any]) -> PlanSpec:
    file = read_table(content, _File)
    if file.unit not in UNITS_SECONDS:
        raise ModelSpecInvalid("unit", f"{file.unit!r} is none of {', '.join(UNITS_SECONDS)}")
    topics = dict(read_tables(file.topics, _Topic, "topics"))
    jobs = read_tables(file.jobs, _Job, "jobs")
    network = JobNetwork(
        tuple(
            Topic(name, each.service_rate, each.service_scv, each.consumers)
            for name, each in topics.items()
        ),
        tuple(_job(name, each) for name, each in jobs),
    )
    problem = Problem(
        network,
        values=tuple(topic.value for topic in topics.values()),
        costs=tuple(_cost(topic.cost) for topic in topics.values()),
        consumers_max=tuple(topic.consumers_max for topic in topics.values()),
    )
    if file.calibrated is not None:
        _check_calibrated(file.calibrated)
    return PlanSpec(problem, file.goal, UNITS_SECONDS[file.unit])


def _cost(cost: float | list[float] | _Cost) -> Cost:
    """A cost is a number per consumer, a table of two numbers, or the list F(1), F(2), …"""
    if isinstance(cost, _Cost):
        return Cost(cost.linear, cost.quadratic)
    return Cost(listed=tuple(cost)) if isinstance(cost, list) else Cost(cost)


def _job(name: str, job: _Job) -> JobType:
    place = f"jobs.{name}"
    routes: tuple[JobRoute, ...]
    if job.routes is None:
        routes = (_route(place, job.path, job.tasks, 1.0),)
    elif job.path is not None or job.tasks is not None:
        raise ModelSpecInvalid(place, "routes exclude path and tasks")
    else:
        routes = tuple(
            _route(f"{place}.routes.{number}", route.path, route.tasks, route.share)
            for number, route in read_tables(job.routes, _Route, f"{place}.routes")
        )
    return JobType(name, job.arrival_rate, routes, job.arrival_scv)


def _route(place: str, path: tuple[str, ...] | None, tasks: Any, share: float) -> JobRoute:
    if (path is None) == (tasks is None):
        raise ModelSpecInvalid(place, "one of path and tasks is needed")
    if path is not None:
        return JobRoute(chain(*path), share)
    listed = read_tables(tasks, _Task, f"{place}.tasks")
    return JobRoute(tuple(JobTask(name, task.topic, task.after) for name, task in listed), share)


def _check_calibrated(content: Any) -> None:
    """Checks the intervals of the file; no method uses them."""
    table = read_table(content, _Calibrated, "calibrated")
    kinds = (("topics", table.topics, _CalibratedTopic), ("jobs", table.jobs, _CalibratedJob))
    for kind, tables, structure in kinds:
        for _ in read_tables(tables, structure, f"calibrated.{kind}"):
            pass
