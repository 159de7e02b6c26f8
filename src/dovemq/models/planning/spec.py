"""What a planning file says, as values: `read_spec` of parsed TOML, checked key by key.

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

A key that is not known is refused, as is one of another type; the place is named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from dovemq.models.analytic.jobs import JobType, Network, Route, Task, Topic, chain
from dovemq.models.errors import NetworkInvalid
from dovemq.models.planning.costs import Cost
from dovemq.models.planning.problem import CONSUMERS_MAX, Problem

UNITS_SECONDS: Final[Mapping[str, float]] = {"second": 1.0, "minute": 60.0, "hour": 3600.0}
METHODS: Final = ("greedy", "exact", "random")

_T = TypeVar("_T")
_TOP: Final = frozenset(("unit", "goal", "topics", "jobs", "calibrated"))
_GOAL: Final = frozenset(("budget", "target_seconds", "method", "optimise_routes", "seed"))
_TOPIC: Final = frozenset(
    ("service_rate", "service_scv", "consumers", "consumers_max", "value", "cost")
)
_JOB: Final = frozenset(("arrival_rate", "arrival_scv", "path", "tasks", "routes"))
_ROUTE: Final = frozenset(("share", "path", "tasks"))
_TASK: Final = frozenset(("topic", "after"))
_COST: Final = frozenset(("linear", "quadratic"))
_CALIBRATED: Final = frozenset(("confidence", "topics", "jobs"))
_ESTIMATED: Final[Mapping[str, tuple[str, ...]]] = {
    "topics": ("service_rate", "service_scv", "work_seconds", "failure_probability", "retries"),
    "jobs": ("arrival_rate", "arrival_scv"),
}
_INTERVAL: Final = frozenset(("value", "low", "high", "samples"))


@dataclass(frozen=True, slots=True)
class Goal:
    """Exactly one of `budget` (cost over the start) and `target_seconds` (a job); or neither."""

    budget: float | None = None
    target_seconds: float | None = None
    method: str = "greedy"
    optimise_routes: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Estimated:
    """A number of the file as it was estimated, with the interval that holds it."""

    value: float
    low: float
    high: float
    samples: int


@dataclass(frozen=True, slots=True)
class Spec:
    """`calibrated` has what was estimated by its place, such as `topics.A.service_rate`."""

    problem: Problem
    goal: Goal
    unit_seconds: float
    calibrated: Mapping[str, Estimated] = field(default_factory=dict)


def read_spec(text: Mapping[str, Any]) -> Spec:
    top = _Table("", text, _TOP)
    unit = top.get("unit", str, "second")
    if unit not in UNITS_SECONDS:
        raise NetworkInvalid("unit", f"{unit!r} is none of {', '.join(UNITS_SECONDS)}")
    topics = top.tables("topics", _TOPIC)
    jobs = top.tables("jobs", _JOB)
    network = Network(tuple(map(_topic, topics)), tuple(map(_job, jobs)))
    problem = Problem(
        network,
        values=tuple(topic.number("value", 1.0) for topic in topics),
        costs=tuple(map(_cost, topics)),
        consumers_max=tuple(topic.get("consumers_max", int, CONSUMERS_MAX) for topic in topics),
    )
    goal = _goal(top.table("goal", _GOAL))
    return Spec(problem, goal, UNITS_SECONDS[unit], _calibrated(top))


class _Table:
    """One table of the file, with its place for the messages."""

    def __init__(self, place: str, content: Any, known: frozenset[str], name: str = "") -> None:
        self.place = place
        self.name = name
        if not isinstance(content, Mapping):
            raise NetworkInvalid(place or "file", "a table is needed")
        self._content = content
        if unknown := sorted(set(content) - known):
            raise NetworkInvalid(
                self._at(unknown[0]), f"not known; keys: {', '.join(sorted(known))}"
            )

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def get(self, key: str, kind: type[_T], default: _T | None = None) -> _T:
        value = self._content.get(key, default)
        if value is None:
            raise NetworkInvalid(self._at(key), "absent")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise NetworkInvalid(self._at(key), f"{value!r} is no {_KINDS[kind]}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._content.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if value is None:
            raise NetworkInvalid(self._at(key), "absent")
        if not isinstance(value, float):
            raise NetworkInvalid(self._at(key), f"{value!r} is no number")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.get(key, list, [])
        if not all(isinstance(value, str) for value in values):
            raise NetworkInvalid(self._at(key), f"{values!r} is no list of names")
        return tuple(values)

    def table(self, key: str, known: frozenset[str]) -> "_Table":
        return _Table(self._at(key), self._content.get(key, {}), known)

    def tables(self, key: str, known: frozenset[str]) -> list["_Table"]:
        """Those of a table of tables, or of a list of them, in their order."""
        content = self._content.get(key, {})
        if isinstance(content, list):
            numbered = [(str(number), each) for number, each in enumerate(content, 1)]
        elif isinstance(content, Mapping):
            numbered = list(content.items())
        else:
            raise NetworkInvalid(self._at(key), "tables are needed")
        return [_Table(f"{self._at(key)}.{name}", each, known, name) for name, each in numbered]

    def raw(self, key: str) -> Any:
        return self._content.get(key)

    def _at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


_KINDS: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "whole number",
    list: "list",
    str: "text",
}


def _topic(table: _Table) -> Topic:
    return Topic(
        table.name,
        table.number("service_rate"),
        table.number("service_scv", 1.0),
        table.get("consumers", int, 1),
    )


def _cost(table: _Table) -> Cost:
    """A number, a table of two, or the list of F(1), F(2), …"""
    value = table.raw("cost")
    if isinstance(value, Mapping):
        parts = table.table("cost", _COST)
        return Cost(parts.number("linear", 0.0), parts.number("quadratic", 0.0))
    if isinstance(value, list):
        if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in value):
            raise NetworkInvalid(f"{table.place}.cost", f"{value!r} is no list of numbers")
        return Cost(listed=tuple(map(float, value)))
    return Cost(table.number("cost", 1.0))


def _job(table: _Table) -> JobType:
    if "routes" in table:
        routes = tuple(
            _route(each, each.number("share")) for each in table.tables("routes", _ROUTE)
        )
    else:
        routes = (_route(table, 1.0),)
    rate = table.number("arrival_rate")
    return JobType(table.name, rate, routes, table.number("arrival_scv", 1.0))


def _route(table: _Table, share: float) -> Route:
    if ("path" in table) == ("tasks" in table):
        raise NetworkInvalid(table.place, "one of path and tasks is needed")
    if "path" in table:
        return Route(chain(*table.texts("path")), share)
    tasks = tuple(
        Task(task.name, task.get("topic", str), task.texts("after"))
        for task in table.tables("tasks", _TASK)
    )
    return Route(tasks, share)


def _goal(table: _Table) -> Goal:
    if "budget" in table and "target_seconds" in table:
        raise NetworkInvalid("goal", "budget and target_seconds exclude each other")
    method = table.get("method", str, "greedy")
    if method not in METHODS:
        raise NetworkInvalid("goal.method", f"{method!r} is none of {', '.join(METHODS)}")
    return Goal(
        budget=table.number("budget") if "budget" in table else None,
        target_seconds=table.number("target_seconds") if "target_seconds" in table else None,
        method=method,
        optimise_routes=table.get("optimise_routes", bool, False),
        seed=table.get("seed", int, 0),
    )


def _calibrated(top: _Table) -> dict[str, Estimated]:
    found: dict[str, Estimated] = {}
    if "calibrated" not in top:
        return found
    table = top.table("calibrated", _CALIBRATED)
    if not 0.0 < table.number("confidence") < 1.0:
        raise NetworkInvalid("calibrated.confidence", "a probability is needed")
    for kind, names in _ESTIMATED.items():
        for part in table.tables(kind, frozenset((*names, "distribution"))):
            part.get("distribution", str, "")
            for name in names:
                if name in part:
                    found[f"{kind}.{part.name}.{name}"] = _estimated(part.table(name, _INTERVAL))
    return found


def _estimated(table: _Table) -> Estimated:
    value, low, high = (table.number(key) for key in ("value", "low", "high"))
    if not low <= value <= high:
        raise NetworkInvalid(table.place, f"{value:g} lies not in {low:g} to {high:g}")
    return Estimated(value, low, high, table.get("samples", int))
