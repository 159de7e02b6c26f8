"""Open networks of stations (GI/G/m), and jobs that are acyclic graphs of tasks (002).

A job of a type arrives, takes one of the type's paths by its share, and its tasks go to their
stations: a task is ready when all tasks that it comes after are done, so that a path may split and
join, and may visit a station again. The job is done with its last task. At a station, tasks of the
least priority number go first, equal ones in the order of becoming ready; none interrupts another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dovemq.models.simulation.checking import positive, refuse, shares, whole
from dovemq.models.simulation.distributions import Distribution

SERVERS_MAX: Final = 1_000_000
STATIONS_MAX: Final = 10_000
JOBS_MAX: Final = 10_000
TASKS_MAX: Final = 1_000
PRIORITY_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Station:
    """`service` is the time of every task that names none of its own."""

    name: str
    servers: int
    service: Distribution | None = None

    def __post_init__(self) -> None:
        whole(f"station {self.name!r}: servers", self.servers, 1, SERVERS_MAX)


@dataclass(frozen=True, slots=True)
class Task:
    """`after` names the tasks of the same path that must be done before."""

    name: str
    station: str
    service: Distribution | None = None
    after: tuple[str, ...] = ()
    priority: int = 0

    def __post_init__(self) -> None:
        whole(f"task {self.name!r}: priority", self.priority, -PRIORITY_MAX, PRIORITY_MAX)


@dataclass(frozen=True, slots=True)
class Path:
    tasks: tuple[Task, ...]
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class JobType:
    """`arrival` is the time between two jobs of the type."""

    name: str
    arrival: Distribution
    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        place = f"job {self.name!r}"
        positive(f"{place}: arrival: mean", self.arrival.mean)
        shares(f"{place}: shares of its paths", [path.share for path in self.paths])
        for number, path in enumerate(self.paths):
            _check_graph(f"{place}: path {number}", path.tasks)


def in_sequence(name: str, arrival: Distribution, stations: Sequence[str]) -> JobType:
    """A job that visits stations one after another."""
    names = [f"{place}:{station}" for place, station in enumerate(stations, 1)]
    tasks = [
        Task(name, station, after=tuple(names[place - 1 : place]) if place else ())
        for place, (name, station) in enumerate(zip(names, stations, strict=True))
    ]
    return JobType(name, arrival, (Path(tuple(tasks)),))


def _check_graph(place: str, tasks: Sequence[Task]) -> None:
    if not 1 <= len(tasks) <= TASKS_MAX:
        refuse(f"{place}: tasks", len(tasks), f"from 1 to {TASKS_MAX:,} tasks")
    after = {task.name: set(task.after) for task in tasks}
    if len(after) < len(tasks):
        refuse(f"{place}: tasks", [task.name for task in tasks], "names that differ")
    for task in tasks:
        if unknown := after[task.name] - after.keys():
            refuse(f"{place}: task {task.name!r}: after", sorted(unknown), "tasks of the same path")
    while ready := {name for name, before in after.items() if not before}:
        after = {name: before - ready for name, before in after.items() if name not in ready}
    if after:
        refuse(f"{place}: tasks", sorted(after), "a graph without a cycle")


@dataclass(frozen=True, slots=True)
class Network:
    stations: tuple[Station, ...]
    jobs: tuple[JobType, ...]

    def __post_init__(self) -> None:
        _check_names("stations", [station.name for station in self.stations], STATIONS_MAX)
        _check_names("jobs", [job.name for job in self.jobs], JOBS_MAX)
        stations = {station.name: station for station in self.stations}
        for job in self.jobs:
            for task in (task for path in job.paths for task in path.tasks):
                place = f"job {job.name!r}: task {task.name!r}"
                if task.station not in stations:
                    refuse(f"{place}: station", task.station, "the name of a station")
                if task.service is None and stations[task.station].service is None:
                    refuse(f"{place}: service", None, "a time, here or at the station")

    def service_of(self, task: Task) -> Distribution:
        if task.service is not None:
            return task.service
        service = next(each.service for each in self.stations if each.name == task.station)
        assert service is not None
        return service

    def loads(self) -> dict[str, float]:
        """Offered work per server of each station; from 1 on its queue grows without end."""
        work = dict.fromkeys((station.name for station in self.stations), 0.0)
        for job in self.jobs:
            for path in job.paths:
                for task in path.tasks:
                    visits = path.share / job.arrival.mean
                    work[task.station] += visits * self.service_of(task).mean
        return {station.name: work[station.name] / station.servers for station in self.stations}


def _check_names(place: str, names: Sequence[str], most: int) -> None:
    if not 1 <= len(names) <= most:
        refuse(place, len(names), f"from 1 to {most:,} of them")
    if len(set(names)) < len(names):
        refuse(place, names, "names that differ")
