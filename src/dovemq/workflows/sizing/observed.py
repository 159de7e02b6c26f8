"""Jobs as the monitor sees them: times of jobs and of their tasks, read from the admin API.

Times are the wall clock of the front ends in milliseconds.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

ENDED: Final = "ended"
RUNNING: Final = "running"


class ObservedTask(Struct, frozen=True):
    """The newest attempt of a task. `service_ms` is the worker's own measure of the run."""

    topic: str
    published_ms: int | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    service_ms: float | None = None

    @property
    def occupied_ms(self) -> float | None:
        """How long a consumer was busy with it, with the requests that begin and end the run."""
        if self.ended_ms is None or self.service_ms is None:
            return None
        held = 0 if self.started_ms is None else self.ended_ms - self.started_ms
        return max(self.service_ms, float(held))


class ObservedJob(Struct, frozen=True):
    job_id: str
    type: str
    state: str
    created_ms: int
    ended_ms: int | None = None
    tasks: Mapping[str, ObservedTask] = {}

    @property
    def response_ms(self) -> int | None:
        """The response time of a job that ended well."""
        if self.state != ENDED or self.ended_ms is None:
            return None
        return self.ended_ms - self.created_ms


def observed_jobs(page: Mapping[str, Any]) -> Iterator[ObservedJob]:
    """Reads a page of `GET /v1/jobs`; keys that the monitor does not need are ignored."""
    yield from msgspec.convert(page["jobs"], list[ObservedJob])
