"""Reads specifications of workflows from tables, and checks their graphs.

    [topics.A]                      # optional
    lease_seconds = 120
    [jobs.report]
    path = ["A", "B"]               # or tasks, flow with joins, or several routes

The three forms of a route: `path` names topics one after another; `tasks` gives each task its topic
and the tasks that it comes after; `flow` is the broker's table itself, from a task to the next
ones, in which `start` comes first, the name of a task is its topic, and a task that several others
lead to is named in `joins`. Every refusal names its place.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from dovemq.core.errors import WorkflowInvalid
from dovemq.core.limits import Range
from dovemq.core.workflows.specification import (
    ATTEMPTS,
    BACKOFF_SECONDS,
    PATIENCE_SECONDS,
    RETENTION_SECONDS,
    ROUTES_MAX,
    TASK_NAME,
    TASKS_MAX,
    TOPIC_LEASE_SECONDS,
    TOPIC_NAME,
    TYPE_NAME,
    TaskSpec,
    TopicSpec,
    WorkflowRoute,
    WorkflowSpec,
)

START: Final = "start"
JOB_TYPES_MAX: Final = 100
"""Types of jobs in one file."""
_SHARES_TOLERANCE: Final = 1e-6
_UNKNOWN: Final = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
T = TypeVar("T")


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class _Topic(_Table, frozen=True):
    lease_seconds: int = 60


class _Task(_Table, frozen=True):
    topic: str
    after: tuple[str, ...] = ()


class _Route(_Table, frozen=True):
    share: float = 1.0
    path: tuple[str, ...] | None = None
    tasks: dict[str, _Task] | None = None
    flow: dict[str, tuple[str, ...]] | None = None
    joins: tuple[str, ...] = ()


class _Job(_Table, frozen=True):
    path: tuple[str, ...] | None = None
    tasks: dict[str, _Task] | None = None
    flow: dict[str, tuple[str, ...]] | None = None
    joins: tuple[str, ...] = ()
    routes: tuple[_Route, ...] | None = None
    topics: dict[str, _Topic] = {}
    attempts_max: int = 3
    backoff_seconds: int = 1
    patience_seconds: int = 86_400
    retention_seconds: int = 7 * 86_400


class _File(_Table, frozen=True):
    jobs: dict[str, Any]
    topics: dict[str, Any] = {}


def read_file(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables of the types of jobs of a file, each as the body of a request; all are checked."""
    file = _read(content, _File, "")
    if not 0 < len(file.jobs) <= JOB_TYPES_MAX:
        raise WorkflowInvalid("jobs", f"1 to {JOB_TYPES_MAX} types of jobs are needed")
    bodies: dict[str, dict[str, Any]] = {}
    used: set[str] = set()
    for type_, table in file.jobs.items():
        if not isinstance(table, Mapping):
            raise WorkflowInvalid(f"jobs.{type_}", "a table is needed")
        topics = {task.topic for task in read_specification(type_, table).tasks()}
        used |= topics
        common = {name: each for name, each in file.topics.items() if name in topics}
        bodies[type_] = {**table, "topics": {**common, **table.get("topics", {})}}
        read_specification(type_, bodies[type_])
    for name in file.topics:
        if name not in used:
            raise WorkflowInvalid(f"topics.{name}", "no task has this topic")
    return bodies


def read_specification(type_: str, content: Mapping[str, Any]) -> WorkflowSpec:
    """The specification in a table `[jobs.TYPE]`, which may also have `topics`."""
    place = f"jobs.{type_}"
    if not TYPE_NAME.fullmatch(type_):
        raise WorkflowInvalid(place, "a type has 1 to 64 letters, digits, hyphens or underscores")
    job = _read(content, _Job, place)
    routes = tuple(_routes(place, job))
    used = dict.fromkeys(task.topic for route in routes for task in route.tasks)
    for name in job.topics:
        if name not in used:
            raise WorkflowInvalid(f"{place}.topics.{name}", "no task has this topic")
    topics = tuple(_topic(place, name, job.topics.get(name, _Topic())) for name in used)
    for field, allowed in (
        ("attempts_max", ATTEMPTS),
        ("backoff_seconds", BACKOFF_SECONDS),
        ("patience_seconds", PATIENCE_SECONDS),
        ("retention_seconds", RETENTION_SECONDS),
    ):
        _check_range(f"{place}.{field}", getattr(job, field), allowed)
    return WorkflowSpec(
        type_,
        routes,
        topics,
        attempts_max=job.attempts_max,
        backoff_seconds=job.backoff_seconds,
        patience_seconds=job.patience_seconds,
        retention_seconds=job.retention_seconds,
    )


def _routes(place: str, job: _Job) -> Iterator[WorkflowRoute]:
    forms = (job.path, job.tasks, job.flow)
    if job.routes is None:
        yield _route(place, _Route(1.0, *forms, job.joins))
        return
    if any(form is not None for form in forms) or job.joins:
        raise WorkflowInvalid(place, "routes exclude path, tasks, flow and joins")
    if not 0 < len(job.routes) <= ROUTES_MAX:
        raise WorkflowInvalid(f"{place}.routes", f"1 to {ROUTES_MAX} routes are needed")
    for number, route in enumerate(job.routes, 1):
        if not 0.0 <= route.share <= 1.0:
            at = f"{place}.routes.{number}.share"
            raise WorkflowInvalid(at, f"{route.share:g} is not from 0 to 1")
    total = math.fsum(route.share for route in job.routes)
    if abs(total - 1.0) > _SHARES_TOLERANCE:
        raise WorkflowInvalid(f"{place}.routes", f"the shares add up to {total:g}, not to 1")
    for number, route in enumerate(job.routes, 1):
        yield _route(f"{place}.routes.{number}", route)


def _route(place: str, route: _Route) -> WorkflowRoute:
    given = [form for form in (route.path, route.tasks, route.flow) if form is not None]
    if len(given) != 1:
        raise WorkflowInvalid(place, "one of path, tasks, flow and routes is needed")
    if route.joins and route.flow is None:
        raise WorkflowInvalid(f"{place}.joins", "joins belong to flow")
    if route.path is not None:
        place, tasks = f"{place}.path", tuple(_chain(route.path))
    elif route.tasks is not None:
        place = f"{place}.tasks"
        tasks = tuple(TaskSpec(name, each.topic, each.after) for name, each in route.tasks.items())
    else:
        assert route.flow is not None
        tasks = tuple(_flow(f"{place}.flow", f"{place}.joins", route.flow, route.joins))
        place = f"{place}.flow"
    _check_tasks(place, tasks)
    return WorkflowRoute(route.share, tasks)


def _chain(topics: tuple[str, ...]) -> Iterator[TaskSpec]:
    """A repeated topic has a task for each visit: A, A#2."""
    before: tuple[str, ...] = ()
    for place, topic in enumerate(topics):
        again = topics[:place].count(topic)
        name = f"{topic}#{again + 1}" if again else topic
        yield TaskSpec(name, topic, before)
        before = (name,)


def _flow(
    place: str, joins_place: str, flow: Mapping[str, tuple[str, ...]], joins: tuple[str, ...]
) -> Iterator[TaskSpec]:
    if not flow.get(START):
        raise WorkflowInvalid(f"{place}.{START}", "the first tasks are missing")
    before: dict[str, list[str]] = {}
    for source, targets in flow.items():
        for target in targets:
            if target == START:
                raise WorkflowInvalid(f"{place}.{source}", "nothing leads to start")
            if len(set(targets)) != len(targets):
                raise WorkflowInvalid(f"{place}.{source}", f"{target} is named twice")
            before.setdefault(target, []).append(source)
    for source in flow:
        if source != START and source not in before:
            raise WorkflowInvalid(f"{place}.{source}", "no task leads here: it is unreachable")
    for name in joins:
        if len(before.get(name, ())) < 2:
            raise WorkflowInvalid(f"{joins_place}.{name}", "fewer than two tasks lead to this join")
    for name, sources in before.items():
        if len(sources) > 1 and name not in joins:
            at = f"{place}.{name}"
            text = f"{', '.join(sources)} lead to it: name it in joins, or give each its own task"
            raise WorkflowInvalid(at, text)
        if START in sources and len(sources) > 1:
            raise WorkflowInvalid(f"{place}.{name}", "it cannot be first and after other tasks")
        yield TaskSpec(name, name, tuple(each for each in sources if each != START))


def _check_tasks(place: str, tasks: tuple[TaskSpec, ...]) -> None:
    if not 0 < len(tasks) <= TASKS_MAX:
        raise WorkflowInvalid(place, f"1 to {TASKS_MAX} tasks are needed")
    names = {task.name for task in tasks}
    for task in tasks:
        at = f"{place}.{task.name}"
        if not TASK_NAME.fullmatch(task.name):
            raise WorkflowInvalid(at, "a task has 1 to 64 letters, digits or characters of _.#-")
        if not TOPIC_NAME.fullmatch(task.topic):
            text = "a topic has 1 to 60 letters, digits, hyphens or underscores"
            raise WorkflowInvalid(at, text)
        if len(set(task.after)) != len(task.after):
            raise WorkflowInvalid(f"{at}.after", "a task is named twice")
        for name in task.after:
            if name not in names:
                raise WorkflowInvalid(f"{at}.after", f"{name} is unknown")
    _check_reached(place, tasks)


def _check_reached(place: str, tasks: tuple[TaskSpec, ...]) -> None:
    reached: set[str] = set()
    left = list(tasks)
    while left:
        ready = [task for task in left if reached.issuperset(task.after)]
        if not ready:
            _refuse_circle(place, left)
        reached.update(task.name for task in ready)
        left = [task for task in left if task.name not in reached]


def _refuse_circle(place: str, left: list[TaskSpec]) -> None:
    """Name the circle, or a task that only it leads to."""
    waiting = {task.name: task for task in left}
    name, way = left[0].name, []
    while name not in way:
        way.append(name)
        name = next(each for each in waiting[name].after if each in waiting)
    circle = " → ".join(reversed([*way[way.index(name) :], name]))
    raise WorkflowInvalid(f"{place}.{name}", f"its tasks wait in a circle: {circle}")


def _topic(place: str, name: str, topic: _Topic) -> TopicSpec:
    at = f"{place}.topics.{name}.lease_seconds"
    _check_range(at, topic.lease_seconds, TOPIC_LEASE_SECONDS)
    return TopicSpec(name, topic.lease_seconds)


def _check_range(place: str, value: int, allowed: Range) -> None:
    if not allowed.holds(value):
        raise WorkflowInvalid(place, f"{value} is not from {allowed.least} to {allowed.most}")


def _read(content: Any, kind: type[T], place: str) -> T:
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        where = f"{place}{path.rstrip('`')}"
        if found := _UNKNOWN.fullmatch(reason):
            reason = "missing" if found[1] == "missing required" else "unknown key"
            where = f"{where}.{found[2]}"
        raise WorkflowInvalid(where.lstrip(".") or "file", reason) from None
