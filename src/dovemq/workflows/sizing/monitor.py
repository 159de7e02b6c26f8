"""The monitor: figures of a sliding window from records of jobs. It is pure.

A job counts as an arrival by the time of its submission, a service by the end of the task, and a
response time by the end of the job. Jobs that are already older than the threshold are counted
before they end: behind a topic that is overloaded nothing ends that could raise the alarm.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from dovemq.core.errors import InvariantError
from dovemq.models.jobs import JobRoute
from dovemq.workflows.sizing.observed import RUNNING, ObservedJob, ObservedTask
from dovemq.workflows.sizing.workload import (
    SERVICE_MS_MIN,
    MeasuredWorkload,
    TopicFigures,
    TypeFigures,
)

SCV_EXPECTED: Final = 1.0
SCV_WEIGHT: Final = 10.0
"""The number of samples that the expected variability counts as."""
SECOND_MS: Final = 1_000.0


class MonitorSettings(Struct, frozen=True):
    """`since_ms` is the time from which on all jobs are known: a window does not reach behind it.

    `service_ms_start` is the service time that is assumed where none was measured yet.
    """

    window_ms: int = 60_000
    threshold_ms: float = float("inf")
    since_ms: int = 0
    service_ms_start: Mapping[str, float] = {}
    service_ms_assumed: float = 1_000.0

    def __post_init__(self) -> None:
        if self.window_ms < 1:
            raise InvariantError(f"The window of the monitor is {self.window_ms} ms.")


def measure(
    jobs: Iterable[ObservedJob],
    routes: Mapping[str, Sequence[JobRoute]],
    now_ms: int,
    settings: MonitorSettings,
) -> MeasuredWorkload:
    """Measures the job types that have routes, and the topics of these routes."""
    span_ms = max(min(settings.window_ms, now_ms - settings.since_ms), 1)
    first_ms = now_ms - span_ms
    by_type: dict[str, list[ObservedJob]] = {name: [] for name in routes}
    by_topic: dict[str, list[ObservedTask]] = defaultdict(list)
    for job in jobs:
        if job.type in by_type:
            by_type[job.type].append(job)
            for task in job.tasks.values():
                by_topic[task.topic].append(task)
    topics = dict.fromkeys(
        task.topic for each in routes.values() for route in each for task in route.tasks
    )
    return MeasuredWorkload(
        now_ms,
        span_ms,
        {
            name: _type_figures(found, first_ms, now_ms, settings.threshold_ms)
            for name, found in by_type.items()
        },
        {name: _topic_figures(name, by_topic[name], first_ms, settings) for name in topics},
    )


def _type_figures(
    jobs: Sequence[ObservedJob], first_ms: int, now_ms: int, threshold_ms: float
) -> TypeFigures:
    arrived = sorted(job.created_ms for job in jobs if first_ms <= job.created_ms <= now_ms)
    gaps = [float(later - earlier) for earlier, later in itertools.pairwise(arrived)]
    ended = [
        job.response_ms
        for job in jobs
        if job.response_ms is not None and (job.ended_ms or 0) >= first_ms
    ]
    running = [now_ms - job.created_ms for job in jobs if job.state == RUNNING]
    overdue = [age for age in running if age > threshold_ms]
    return TypeFigures(
        arrivals=len(arrived),
        arrival_rate=len(arrived) * SECOND_MS / (now_ms - first_ms),
        arrival_scv=_scv(gaps),
        ended=len(ended),
        response_ms=sum(ended) / len(ended) if ended else None,
        running=len(running),
        overdue=len(overdue),
        overdue_ms=float(sum(overdue)),
    )


def _topic_figures(
    name: str, tasks: Sequence[ObservedTask], first_ms: int, settings: MonitorSettings
) -> TopicFigures:
    times = [
        task.occupied_ms
        for task in tasks
        if task.occupied_ms is not None and (task.ended_ms or 0) >= first_ms
    ]
    if times:
        mean_ms = sum(times) / len(times)
    else:
        mean_ms = settings.service_ms_start.get(name, settings.service_ms_assumed)
    unfinished = [task for task in tasks if task.published_ms is not None and task.ended_ms is None]
    started = sum(task.started_ms is not None for task in unfinished)
    return TopicFigures(
        samples=len(times),
        service_rate=SECOND_MS / max(mean_ms, SERVICE_MS_MIN),
        service_scv=_scv(times),
        waiting=len(unfinished) - started,
        running=started,
    )


def _scv(samples: Sequence[float]) -> float:
    """The squared coefficient of variation, which leans on the expected one if few are known."""
    count = len(samples)
    mean = sum(samples) / count if count else 0.0
    if count < 2 or mean <= 0.0:
        return SCV_EXPECTED
    scv = sum((each - mean) ** 2 for each in samples) / (count - 1) / mean**2
    return (count * scv + SCV_WEIGHT * SCV_EXPECTED) / (count + SCV_WEIGHT)
