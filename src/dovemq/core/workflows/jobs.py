"""The progress of one job: its tasks with their attempts, and what is to be published."""

import enum
from typing import Any, Final

import msgspec
from msgspec import Struct

INPUT_BYTES_MAX: Final = 64 * 1_024
RESULT_BYTES_MAX: Final = 32 * 1_024
RESULTS_BYTES_MAX: Final = 128 * 1_024
"""The results of all tasks of a job together."""
ERROR_LENGTH_MAX: Final = 500
WORKER_LENGTH_MAX: Final = 100
ATTEMPTS_KEPT: Final = 5


class JobState(enum.Enum):
    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TaskState(enum.Enum):
    WAITING = "waiting"
    """For the tasks before it."""
    PUBLISHED = "published"
    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"


class TaskAttempt(Struct, frozen=True):
    """One publication of a task. `service_ms` is how long the worker says that it worked."""

    number: int
    published_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    service_ms: float | None = None
    worker: str | None = None
    error: str | None = None


class TaskProgress(Struct, frozen=True):
    """`attempts_before` counts those before the last retry by hand, which begins anew."""

    name: str
    topic: str
    state: TaskState = TaskState.WAITING
    attempts: tuple[TaskAttempt, ...] = ()
    attempts_before: int = 0
    result: Any = None

    @property
    def attempt(self) -> TaskAttempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def is_out(self) -> bool:
        return self.state in (TaskState.PUBLISHED, TaskState.RUNNING)


class Publication(Struct, frozen=True):
    """A message that must reach the queue of a topic. `since_ms` is when that was decided."""

    task: str
    attempt: int
    since_ms: int
    delay_ms: int = 0
    dead: bool = False
    """It goes to the dead-letter topic."""


class Job(Struct, frozen=True):
    job_id: str
    account: str
    type: str
    version: int
    route: int
    created_ms: int
    tasks: tuple[TaskProgress, ...]
    state: JobState = JobState.RUNNING
    ended_ms: int | None = None
    input: Any = None
    outbox: tuple[Publication, ...] = ()
    error: str | None = None

    def task(self, name: str) -> TaskProgress | None:
        return next((task for task in self.tasks if task.name == name), None)

    def with_task(self, changed: TaskProgress) -> "Job":
        tasks = tuple(changed if task.name == changed.name else task for task in self.tasks)
        return msgspec.structs.replace(self, tasks=tasks)


def encode_job(job: Job) -> bytes:
    return msgspec.json.encode(job)


def decode_job(value: bytes) -> Job:
    return msgspec.json.decode(value, type=Job)
