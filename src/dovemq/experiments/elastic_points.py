"""Measured response times of allocations of elastic's case study under given loads."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from dovemq.experiments.elastic_service import (
    MINUTE_S,
    PATHS,
    ElasticService,
    arrivals_of,
    mean_response,
)
from dovemq.experiments.figure import Tell
from dovemq.models.estimates import Estimate
from dovemq.models.jobs import JobRoute, chain
from dovemq.workflows.sizing.monitor import MonitorSettings, measure
from dovemq.workflows.sizing.observed import RUNNING
from dovemq.workflows.sizing.workload import MeasuredWorkload

ROUTES: Final = {name: (JobRoute(chain(*path)),) for name, path in PATHS.items()}
DRAIN_SECONDS: Final = 10.0
SCALE_READING: Final = (
    f"A minute of the paper takes {MINUTE_S:g} s here; each consumer is a process, and a task "
    "sleeps a gamma time with the paper's rate and scv. The start of a process and the requests of "
    "workers are not scaled, so they count sixty times as much as in the paper."
)
BACKLOG_READING: Final = (
    "Jobs that had not ended 10 s after the last arrival count with their age: at an overloaded "
    "topic the response time grows with the length of the run."
)


class MeasuredPoint(Struct, frozen=True):
    """Mean response times in seconds of the paper, of all jobs and of each type."""

    rates: tuple[float, ...]
    consumers: tuple[int, ...]
    jobs: int
    unfinished: int
    all_jobs: Estimate
    by_type: dict[str, Estimate]
    workload: MeasuredWorkload
    """The figures that the monitor of the resource manager makes of the same jobs."""


async def measured_point(
    service: ElasticService,
    rates: Sequence[float],
    consumers: Sequence[int],
    seconds: float,
    seed: int,
    tell: Tell,
) -> MeasuredPoint:
    """Runs the allocation under this load for so long, and leaves nothing behind."""
    named = f"{' '.join(map(str, consumers))} at {' '.join(f'{each:g}' for each in rates)}"
    tell(f"{named}: starting workers")
    await service.allocate(consumers)
    since_ms = service.clock.now_ms()
    arrivals = arrivals_of(rates, seconds, seed)
    ids = await service.submit(arrivals, seed, lambda text: tell(f"{named}: {text}"))
    jobs = await service.jobs(ids, DRAIN_SECONDS, since_ms)
    now_ms = service.clock.now_ms()
    last_ms = max((each.created_ms for each in jobs), default=now_ms)
    workload = measure(jobs, ROUTES, last_ms, MonitorSettings(max(last_ms - since_ms, 1)))
    await service.cancel(jobs)
    return MeasuredPoint(
        tuple(rates),
        tuple(consumers),
        len(jobs),
        sum(each.state == RUNNING for each in jobs),
        mean_response(jobs, now_ms),
        {name: mean_response(jobs, now_ms, name) for name in PATHS},
        workload,
    )
