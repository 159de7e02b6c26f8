"""Counters of jobs by type and of tasks by topic, from stored changes of jobs.

The number of labels is bounded: types and topics that come later are counted together.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Generic, TypeVar

from msgspec import Struct, field

from dovemq.core.workflows.jobs import Job, JobState, TaskProgress, TaskState
from dovemq.telemetry.counters import BucketHistogram
from dovemq.telemetry.metrics import OTHER, Distribution, MetricSample

TYPES_MAX: Final = 100
TOPICS_MAX: Final = 200
SECONDS_BOUNDS: Final = (
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200,
)  # fmt: skip
_MS_BOUNDS: Final = tuple(int(bound * 1_000) for bound in SECONDS_BOUNDS)
_OTHERS: Final = (OTHER, OTHER)

Labels = tuple[str, str]


def _times() -> BucketHistogram:
    return BucketHistogram(_MS_BOUNDS)


class JobTally(Struct):
    """Jobs of one type. A job that is retried by hand can fail again."""

    started: int = 0
    ended: int = 0
    failed: int = 0
    cancelled: int = 0
    retried: int = 0
    response_ms: BucketHistogram = field(default_factory=_times)


class TaskTally(Struct):
    """Tasks of one topic. `retried` counts attempts after the first."""

    started: int = 0
    ended: int = 0
    failed: int = 0
    retried: int = 0
    service_ms: BucketHistogram = field(default_factory=_times)


Tally = TypeVar("Tally", JobTally, TaskTally)


class BoundedTallies(Generic[Tally]):
    """A tally for each of the first `count_max` labels, and one for all others.

    A label that has a tally keeps it, so that no counter decreases.
    """

    def __init__(self, kind: type[Tally], count_max: int) -> None:
        self._kind: type[Tally] = kind
        self._count_max = count_max
        self._known: dict[Labels, Tally] = {}

    def of(self, labels: Labels) -> Tally:
        tally = self._known.get(labels)
        if tally is not None:
            return tally
        if len(self._known) >= self._count_max:
            labels = _OTHERS
        return self._known.setdefault(labels, self._kind())

    def items(self) -> Iterator[tuple[Labels, Tally]]:
        return iter(self._known.items())


class WorkflowMeter:
    def __init__(self, types_max: int = TYPES_MAX, topics_max: int = TOPICS_MAX) -> None:
        self._jobs = BoundedTallies(JobTally, types_max)
        self._tasks = BoundedTallies(TaskTally, topics_max)

    def job_changed(self, before: Job | None, job: Job) -> None:
        """Count what the stored change of a job has changed; `before` is None for a new job."""
        tally = self._jobs.of((job.account, job.type))
        if before is None:
            tally.started += 1
        elif before.state is not job.state:
            _count_state(tally, before, job)
        known = {task.name: task for task in before.tasks} if before else {}
        for task in job.tasks:
            earlier = known.get(task.name)
            if task is not earlier:
                _count_task(self._tasks.of((job.account, task.topic)), earlier, task)

    def samples(self) -> Iterator[MetricSample]:
        for labels, job in self._jobs.items():
            for outcome in ("started", "ended", "failed", "cancelled", "retried"):
                count = getattr(job, outcome)
                yield MetricSample("dovemq_workflow_jobs_total", count, (*labels, outcome))
            yield _seconds("dovemq_workflow_job_seconds", job.response_ms, labels)
        for labels, task in self._tasks.items():
            for outcome in ("started", "ended", "failed", "retried"):
                count = getattr(task, outcome)
                yield MetricSample("dovemq_workflow_tasks_total", count, (*labels, outcome))
            yield _seconds("dovemq_workflow_task_seconds", task.service_ms, labels)


def _count_state(tally: JobTally, before: Job, job: Job) -> None:
    if before.state is JobState.FAILED:
        tally.retried += 1
    match job.state:
        case JobState.ENDED:
            tally.ended += 1
            if job.ended_ms is not None:
                tally.response_ms.add(max(job.ended_ms - job.created_ms, 0))
        case JobState.FAILED:
            tally.failed += 1
        case JobState.CANCELLED:
            tally.cancelled += 1


def _count_task(tally: TaskTally, before: TaskProgress | None, task: TaskProgress) -> None:
    attempts = before.attempts if before else ()
    begun = {each.number for each in attempts if each.started_ms is not None}
    last = attempts[-1].number if attempts else 0
    for each in task.attempts:
        tally.retried += each.number > max(last, 1)
        tally.started += each.started_ms is not None and each.number not in begun
    state = before.state if before else TaskState.WAITING
    if task.state is TaskState.ENDED and state is not TaskState.ENDED:
        tally.ended += 1
        if (service_ms := _service_ms(attempts, task)) is not None:
            tally.service_ms.add(max(int(service_ms), 0))
    tally.failed += task.state is TaskState.FAILED and state is not TaskState.FAILED


def _service_ms(before: Sequence[object], task: TaskProgress) -> float | None:
    """The service time of the attempt that has just ended the task."""
    changed = (each for each in task.attempts if each not in before)
    return next((each.service_ms for each in changed if each.service_ms is not None), None)


def _seconds(name: str, times: BucketHistogram, labels: Labels) -> MetricSample:
    value = Distribution(SECONDS_BOUNDS, list(times.counts), times.total / 1_000)
    return MetricSample(name, value, labels)
