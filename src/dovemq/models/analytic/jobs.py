"""What a network of topics is asked to do: topics with consumers, jobs of tasks (002, §II).

A job type is one route or several, each a DAG of tasks: a task begins when all tasks that it comes
after have ended, and several may come after one. With several routes each job takes one, by their
shares. A topic may be visited more than once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovemq.models.analytic import parameters
from dovemq.models.errors import NetworkInvalid, ParameterInvalid

SHARES_ROUNDING: Final = 1e-9
TASKS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Topic:
    """`service_rate` is that of one consumer; scv is a squared coefficient of variation."""

    name: str
    service_rate: float
    service_scv: float = 1.0
    consumers: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    topic: str
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    tasks: tuple[Task, ...]
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class JobType:
    name: str
    arrival_rate: float
    routes: tuple[Route, ...]
    arrival_scv: float = 1.0


@dataclass(frozen=True, slots=True)
class Network:
    """Checked as a whole when it is made; an error names the job and the task."""

    topics: tuple[Topic, ...]
    jobs: tuple[JobType, ...]

    def __post_init__(self) -> None:
        _check_names("topic", [topic.name for topic in self.topics])
        _check_names("job", [job.name for job in self.jobs])
        for topic in self.topics:
            _check_topic(topic)
        for job in self.jobs:
            _check_job(job, self.places)

    @property
    def places(self) -> Mapping[str, int]:
        return {topic.name: place for place, topic in enumerate(self.topics)}


def chain(*topics: str) -> tuple[Task, ...]:
    """One task after another; a topic that comes again has a task of its own."""
    tasks: list[Task] = []
    for place, topic in enumerate(topics):
        again = topics[:place].count(topic)
        name = f"{topic}#{again + 1}" if again else topic
        tasks.append(Task(name, topic, (tasks[-1].name,) if tasks else ()))
    return tuple(tasks)


def in_order(tasks: Sequence[Task], place: str = "tasks") -> Iterator[Task]:
    """Each task after all that it comes after; a circle is refused by name."""
    missing = {task.name: len(set(task.after)) for task in tasks}
    followers: dict[str, list[Task]] = {task.name: [] for task in tasks}
    for task in tasks:
        for name in set(task.after):
            followers[name].append(task)
    ready = [task for task in tasks if not task.after]
    for task in ready:
        del missing[task.name]
        yield task
        for follower in followers[task.name]:
            missing[follower.name] -= 1
            if not missing[follower.name]:
                ready.append(follower)
    if missing:
        raise NetworkInvalid(place, f"the tasks {', '.join(sorted(missing))} wait in a circle")


def _check_names(what: str, names: Sequence[str]) -> None:
    if not names:
        raise NetworkInvalid(f"{what}s", f"at least one {what} is needed")
    for place, name in enumerate(names):
        if not name or name in names[:place]:
            raise NetworkInvalid(f"{what} {name!r}", "names must be there and differ")


def _check_topic(topic: Topic) -> None:
    place = f"topic {topic.name}"
    parameters.service_rate(topic.service_rate, f"{place}: service_rate")
    parameters.scv(topic.service_scv, f"{place}: service_scv")
    parameters.servers(topic.consumers, f"{place}: consumers")


def _check_job(job: JobType, topics: Mapping[str, int]) -> None:
    place = f"job {job.name}"
    parameters.arrival_rate(job.arrival_rate, f"{place}: arrival_rate")
    parameters.scv(job.arrival_scv, f"{place}: arrival_scv")
    if not job.routes:
        raise NetworkInvalid(place, "at least one route is needed")
    shares = [float(parameters.share(route.share, f"{place}: share")) for route in job.routes]
    if abs(sum(shares) - 1.0) > SHARES_ROUNDING:
        raise ParameterInvalid(f"{place}: sum of the shares", f"{sum(shares):g}", "1")
    for number, route in enumerate(job.routes, 1):
        where = place if len(job.routes) == 1 else f"{place}, route {number}"
        _check_tasks(route.tasks, topics, where)


def _check_tasks(tasks: Sequence[Task], topics: Mapping[str, int], place: str) -> None:
    if len(tasks) > TASKS_MAX:
        raise NetworkInvalid(place, f"{len(tasks)} tasks are more than {TASKS_MAX}")
    _check_names(f"{place}: task", [task.name for task in tasks])
    names = {task.name for task in tasks}
    for task in tasks:
        if task.topic not in topics:
            raise NetworkInvalid(f"{place}, task {task.name}", f"no topic is named {task.topic!r}")
        if absent := set(task.after) - names:
            raise NetworkInvalid(
                f"{place}, task {task.name}", f"comes after {min(absent)!r}, which is no task"
            )
    for _ in in_order(tasks, place):
        pass
