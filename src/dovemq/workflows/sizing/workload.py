"""Figures that the monitor measures, of job types and of topics within its window.

Rates are per second, times in milliseconds. A figure with few samples leans on what is expected, so
that two jobs do not make a variability.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic

SERVICE_MS_MIN: Final = 0.001
"""A shorter service counts as this long, since a rate must be finite."""


class TypeFigures(Struct, frozen=True):
    """`response_ms` is the mean of the jobs that ended in the window, None if none did.

    `overdue` are jobs that still run and are older than the threshold, `overdue_ms` the sum of
    their ages.
    """

    arrivals: int
    arrival_rate: float
    arrival_scv: float
    ended: int
    response_ms: float | None
    running: int
    overdue: int = 0
    overdue_ms: float = 0.0


class TopicFigures(Struct, frozen=True):
    """`service_rate` is that of one consumer; it is only assumed while `samples` is 0."""

    samples: int
    service_rate: float
    service_scv: float
    waiting: int
    running: int


class MeasuredWorkload(Struct, frozen=True):
    """`span_ms` is the time that was watched: the window, or less soon after the start."""

    now_ms: int
    span_ms: int
    types: Mapping[str, TypeFigures]
    topics: Mapping[str, TopicFigures]

    @property
    def response_ms(self) -> float | None:
        """The mean response time of all jobs; jobs that are overdue count with their age."""
        count = sum(each.ended + each.overdue for each in self.types.values())
        if not count:
            return None
        ended = sum((each.response_ms or 0.0) * each.ended for each in self.types.values())
        return (ended + sum(each.overdue_ms for each in self.types.values())) / count

    @property
    def arrival_rate(self) -> float:
        return sum(each.arrival_rate for each in self.types.values())

    @property
    def assumed(self) -> tuple[str, ...]:
        """The topics that no task has been measured at."""
        return tuple(name for name, each in self.topics.items() if not each.samples)

    def network(
        self, routes: Mapping[str, Sequence[JobRoute]], consumers: Mapping[str, int]
    ) -> JobNetwork:
        """The network of the topics with these consumers and of the types with their routes."""
        topics = tuple(
            Topic(name, each.service_rate, each.service_scv, consumers[name])
            for name, each in self.topics.items()
        )
        jobs = tuple(
            JobType(name, each.arrival_rate, tuple(routes[name]), each.arrival_scv)
            for name, each in self.types.items()
        )
        return JobNetwork(topics, jobs)
