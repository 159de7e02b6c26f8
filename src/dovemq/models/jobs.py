"""The network of topics and jobs that planning, closed forms and simulation share.

A topic is a queue with consumers. A job type has one route or several, each a graph of tasks
without cycles: a task starts when all tasks that it comes after have ended, so that a route may
split and join, and may visit a topic again. A job takes one of its routes by their shares, and is
done with its last task.

Rates and scvs (squared coefficients of variation) describe the times; every method uses them. A
simulation also knows more: an exact distribution where one is given, arrivals that vary in time, a
service time of a single task, priorities, and rules of topics. At a topic, tasks of the smallest
priority number go first, equal ones in the order in which they became ready; no task interrupts
another unless the rules of the topic allow it.
"""

import graphlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dovemq.models import checks
from dovemq.models.arrivals import Arrivals, at_rate
from dovemq.models.distributions import Distribution, by_moments
from dovemq.models.errors import ModelParameterInvalid, ModelSpecInvalid
from dovemq.models.stability import is_stable
from dovemq.models.topic_rules import PLAIN, TopicRules

TOPICS_MAX: Final = 10_000
JOBS_MAX: Final = 10_000
TASKS_MAX: Final = 10_000
PRIORITY_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Topic:
    """`service_rate` is the rate of one consumer, `service` the distribution of its times.

    Only simulations know other `rules` than first come, first served in unlimited room.
    """

    name: str
    service_rate: float
    service_scv: float = 1.0
    consumers: int = 1
    service: Distribution | None = None
    rules: TopicRules = PLAIN

    @property
    def service_time(self) -> Distribution:
        return self.service or by_moments(1.0 / self.service_rate, self.service_scv)


def timed_topic(
    name: str, service: Distribution, consumers: int = 1, rules: TopicRules = PLAIN
) -> Topic:
    """A topic whose service times have this distribution."""
    return Topic(name, rate_of(service), service.scv, consumers, service, rules)


@dataclass(frozen=True, slots=True)
class JobTask:
    """`after` names the tasks of the same route that must end before this one starts.

    `service` replaces the service time of the topic. Only simulations know it and the priority.
    """

    name: str
    topic: str
    after: tuple[str, ...] = ()
    service: Distribution | None = None
    priority: int = 0


@dataclass(frozen=True, slots=True)
class JobRoute:
    tasks: tuple[JobTask, ...]
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class JobType:
    """`arrival` is the distribution of the time between two jobs of the type, or a process."""

    name: str
    arrival_rate: float
    routes: tuple[JobRoute, ...]
    arrival_scv: float = 1.0
    arrival: Arrivals | None = None

    @property
    def arrival_time(self) -> Arrivals:
        return self.arrival or by_moments(1.0 / self.arrival_rate, self.arrival_scv)


def timed_job(name: str, arrival: Arrivals, *routes: JobRoute) -> JobType:
    """A job type whose times between arrivals have this distribution, or follow this process."""
    return JobType(name, rate_of(arrival), routes, arrival.scv, arrival)


@dataclass(frozen=True, slots=True)
class JobNetwork:
    """Topics and the jobs that visit them. It is checked when it is made."""

    topics: tuple[Topic, ...]
    jobs: tuple[JobType, ...]

    def __post_init__(self) -> None:
        checks.names([topic.name for topic in self.topics], "topics", TOPICS_MAX)
        checks.names([job.name for job in self.jobs], "jobs", JOBS_MAX)
        for topic in self.topics:
            _check_topic(topic)
        for job in self.jobs:
            _check_job(job, self.places)
        _check_blocking(self)

    @property
    def places(self) -> Mapping[str, int]:
        return {topic.name: place for place, topic in enumerate(self.topics)}

    @property
    def job_rate(self) -> float:
        """The arrival rate of all jobs together, which must be above 0."""
        rate = sum(job.arrival_rate for job in self.jobs)
        if rate <= 0.0:
            raise ModelSpecInvalid("jobs", "nothing arrives: one arrival_rate must be above 0")
        return rate

    def at_load(self, factor: float) -> "JobNetwork":
        """The same network with every arrival rate multiplied by the factor."""
        jobs = (
            replace(
                job,
                arrival_rate=factor * job.arrival_rate,
                arrival=None if job.arrival is None else at_rate(job.arrival, factor),
            )
            for job in self.jobs
        )
        return replace(self, jobs=tuple(jobs))

    def simulated(self) -> "JobNetwork":
        """The same network without the jobs that never arrive and the routes never taken."""
        jobs = (
            replace(job, routes=tuple(route for route in job.routes if route.share > 0.0))
            for job in self.jobs
            if job.arrival_rate > 0.0
        )
        return replace(self, jobs=tuple(jobs))

    def service_times(self) -> dict[str, Distribution]:
        return {topic.name: topic.service_time for topic in self.topics}

    def loads(self) -> dict[str, float]:
        """Work offered to each topic per consumer; from 1 on its queue grows without end."""
        times = self.service_times()
        work = dict.fromkeys(times, 0.0)
        for job in self.jobs:
            for route in job.routes:
                for task in route.tasks:
                    visits = route.share * job.arrival_rate
                    work[task.topic] += visits * (task.service or times[task.topic]).mean
        return {topic.name: work[topic.name] / topic.consumers for topic in self.topics}

    @property
    def unstable(self) -> tuple[str, ...]:
        """The topics with at least as much work as their consumers can do, where none is shed."""
        sheds = {topic.name for topic in self.topics if topic.rules.sheds}
        loads = self.loads().items()
        return tuple(name for name, load in loads if name not in sheds and not is_stable(load))


def rate_of(times: Arrivals) -> float:
    return 1.0 / times.mean if times.mean else math.inf


def check_rate(rate: float, times: Arrivals | None, name: str) -> None:
    """Checks a rate; where a distribution is given as well, its mean must agree."""
    if times is None:
        checks.positive(rate, name)
    elif not math.isclose(rate, rate_of(times), rel_tol=1e-9):
        needed = f"{rate_of(times):g}, as its distribution says,"
        raise ModelParameterInvalid(name, f"{rate:g}", needed)


def chain(*topics: str) -> tuple[JobTask, ...]:
    """Tasks that visit topics one after another; a repeated topic has a task for each visit."""
    tasks: list[JobTask] = []
    for place, topic in enumerate(topics):
        again = topics[:place].count(topic)
        name = f"{topic}#{again + 1}" if again else topic
        tasks.append(JobTask(name, topic, (tasks[-1].name,) if tasks else ()))
    return tuple(tasks)


def in_order(tasks: Sequence[JobTask], place: str = "tasks") -> Iterator[JobTask]:
    """Yields each task after all tasks that it comes after; a cycle is refused by name."""
    missing = {task.name: len(set(task.after)) for task in tasks}
    followers: dict[str, list[JobTask]] = {task.name: [] for task in tasks}
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
        raise ModelSpecInvalid(place, f"the tasks {', '.join(sorted(missing))} wait in a circle")


def _check_topic(topic: Topic) -> None:
    place = f"topic {topic.name}"
    check_rate(topic.service_rate, topic.service, f"{place}: service_rate")
    checks.not_negative(topic.service_scv, f"{place}: service_scv")
    checks.servers(topic.consumers, f"{place}: consumers")
    topic.rules.check(place, topic.consumers)


def _check_job(job: JobType, topics: Mapping[str, int]) -> None:
    place = f"job {job.name}"
    if job.arrival is not None:
        check_rate(job.arrival_rate, job.arrival, f"{place}: arrival_rate")
    checks.not_negative(job.arrival_rate, f"{place}: arrival_rate")
    checks.not_negative(job.arrival_scv, f"{place}: arrival_scv")
    if not job.routes:
        raise ModelSpecInvalid(place, "at least one route is needed")
    checks.shares([route.share for route in job.routes], place)
    for number, route in enumerate(job.routes, 1):
        where = place if len(job.routes) == 1 else f"{place}, route {number}"
        _check_tasks(route.tasks, topics, where)


def _check_tasks(tasks: Sequence[JobTask], topics: Mapping[str, int], place: str) -> None:
    checks.names([task.name for task in tasks], f"{place}: tasks", TASKS_MAX)
    names = {task.name for task in tasks}
    for task in tasks:
        where = f"{place}, task {task.name}"
        checks.whole(task.priority, f"{where}: priority", -PRIORITY_MAX, PRIORITY_MAX)
        if task.topic not in topics:
            raise ModelSpecInvalid(where, f"no topic is named {task.topic!r}")
        if absent := set(task.after) - names:
            raise ModelSpecInvalid(where, f"comes after {min(absent)!r}, which is no task")
    for _ in in_order(tasks, place):
        pass


def _check_blocking(network: JobNetwork) -> None:
    """Refuses forks, joins and circles of tasks that may be blocked."""
    topics = {topic.name: topic for topic in network.topics}
    before: dict[str, set[str]] = {name: set() for name in topics}
    for job in network.jobs:
        for route in job.routes:
            tasks = {task.name: task for task in route.tasks}
            for task in route.tasks:
                if task.after and topics[task.topic].rules.blocks:
                    place = f"job {job.name}, task {task.name}"
                    before[task.topic].add(_blocked_topic(tasks, task, topics, place))
    try:
        graphlib.TopologicalSorter(before).prepare()
    except graphlib.CycleError as error:
        names = " → ".join(reversed(error.args[1]))
        raise ModelSpecInvalid(
            "topics", f"tasks could block each other for ever: {names}"
        ) from None


def _blocked_topic(
    tasks: Mapping[str, JobTask], task: JobTask, topics: Mapping[str, Topic], place: str
) -> str:
    """Returns the topic whose consumers are blocked while the topic of the task is full."""
    name = task.after[0]
    followers = [each.name for each in tasks.values() if name in each.after]
    if len(set(task.after)) > 1 or len(followers) > 1:
        reason = f"topic {task.topic} blocks, which is for tasks in a row, without fork or join"
        raise ModelSpecInvalid(place, reason)
    blocked = topics[tasks[name].topic]
    if blocked.rules.discipline != "fcfs":
        reason = f"the consumers of {blocked.name} cannot be blocked: its discipline is not fcfs"
        raise ModelSpecInvalid(place, reason)
    return blocked.name
