"""The specification of a type of jobs: routes of tasks, their topics, attempts and times."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Struct

from dovemq.core import limits

TYPE_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
TOPIC_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")
"""Short enough for the name of the dead-letter topic's queue."""
TASK_NAME: Final = re.compile(r"[A-Za-z0-9_.#-]{1,64}")
VERSIONS: Final = limits.Range(1, 1_000)
"""Versions of one type; all are kept, since jobs may be on them."""
ROUTES_MAX: Final = 16
TASKS_MAX: Final = 64
"""Tasks of one route."""
ATTEMPTS: Final = limits.Range(1, 20)
BACKOFF_SECONDS: Final = limits.Range(0, 900)
PATIENCE_SECONDS: Final = limits.Range(10, 14 * 86_400)
RETENTION_SECONDS: Final = limits.Range(60, 90 * 86_400)
TOPIC_LEASE_SECONDS: Final = limits.Range(1, 12 * 3_600)
TOPIC_PREFIX: Final = "topic-"
DEAD_SUFFIX: Final = "-dead"


class TaskSpec(Struct, frozen=True):
    """A task of a route starts when all tasks in `after` have ended."""

    name: str
    topic: str
    after: tuple[str, ...] = ()


class WorkflowRoute(Struct, frozen=True):
    """One alternative path of a type; a job takes one route, by the shares."""

    share: float
    tasks: tuple[TaskSpec, ...]


class TopicSpec(Struct, frozen=True):
    """The queue of a kind of tasks. `lease_seconds` is renewed by workers while they work."""

    name: str
    lease_seconds: int = 60

    @property
    def queue(self) -> str:
        return queue_name(self.name)

    @property
    def dead_queue(self) -> str:
        return dead_queue_name(self.name)


class WorkflowSpec(Struct, frozen=True):
    """One version of a type of jobs. Running jobs finish on the version they began with."""

    type: str
    routes: tuple[WorkflowRoute, ...]
    topics: tuple[TopicSpec, ...]
    version: int = 0
    created_ms: int = 0
    attempts_max: int = 3
    backoff_seconds: int = 1
    """The pause before the second attempt; it doubles with each further one."""
    patience_seconds: int = 86_400
    """A task without a word for so long is published again, as another attempt."""
    retention_seconds: int = 7 * 86_400
    """The time for which a job is kept after its end."""

    def same_as(self, other: "WorkflowSpec") -> bool:
        """Whether both say the same, whatever their versions."""
        return msgspec.structs.replace(self, version=0, created_ms=0) == msgspec.structs.replace(
            other, version=0, created_ms=0
        )

    def backoff_ms(self, attempt: int) -> int:
        """The pause before this attempt."""
        if attempt <= 1:
            return 0
        seconds: int = self.backoff_seconds << min(attempt - 2, ATTEMPTS.most)
        return min(seconds, BACKOFF_SECONDS.most) * limits.SECOND_MS

    def tasks(self) -> Iterator[TaskSpec]:
        for route in self.routes:
            yield from route.tasks


def queue_name(topic: str) -> str:
    return f"{TOPIC_PREFIX}{topic}"


def dead_queue_name(topic: str) -> str:
    return f"{TOPIC_PREFIX}{topic}{DEAD_SUFFIX}"


def queue_of_dead_letters(name: str) -> str | None:
    """The queue of the topic whose dead letters a queue of this name holds, if the topic exists."""
    if not (name.startswith(TOPIC_PREFIX) and name.endswith(DEAD_SUFFIX)):
        return None
    return name.removesuffix(DEAD_SUFFIX)
