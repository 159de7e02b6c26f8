"""The jobs of a server as the monitor needs them, read page by page through the admin API.

Jobs that have ended are read once: they change only by a retry. A round therefore reads the pages
of the newest jobs, back to the oldest one that still ran or that may lie in the window.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dovemq.client.workflows import WorkflowClient
from dovemq.models.jobs import JobRoute, JobTask
from dovemq.workflows.sizing.observed import RUNNING, ObservedJob, observed_jobs

PAGE: Final = 500
PAGES_MAX: Final = 40
JOBS_MAX: Final = PAGE * PAGES_MAX
"""More jobs than that are not remembered; the figures are those of the newest ones then."""


class JobSource:
    """Jobs that were submitted before `since_ms` are left out."""

    def __init__(self, client: WorkflowClient, account: str = "", since_ms: int = 0) -> None:
        self._client, self._account, self._since_ms = client, account, since_ms
        self._jobs: dict[str, ObservedJob] = {}
        self._read_once = False
        self.first_ms: int | None = None

    async def routes(self) -> dict[str, tuple[JobRoute, ...]]:
        """The routes of all job types, in their newest version."""
        found = await self._client.workflows(account=self._account)
        return {each["type"]: routes_of(each) for each in found}

    async def jobs(self, now_ms: int, window_ms: int) -> list[ObservedJob]:
        """The jobs that ran in the window or still run."""
        first_ms = now_ms - window_ms
        kept = [each for each in self._jobs.values() if _matters(each, first_ms)]
        self._jobs = {each.job_id: each for each in kept}
        running = [each.created_ms for each in kept if each.state == RUNNING]
        # The first time jobs that have run for longer than the window are not known yet.
        back_to_ms = min([first_ms, *running]) if self._read_once else 0
        await self._read(max(back_to_ms, self._since_ms))
        self._read_once = True
        return [each for each in self._jobs.values() if _matters(each, first_ms)]

    async def _read(self, back_to_ms: int) -> None:
        after = ""
        for _ in range(PAGES_MAX):
            page = await self._client.jobs_page(after=after, count_max=PAGE, account=self._account)
            oldest_ms = None
            for job in observed_jobs(page):
                oldest_ms = job.created_ms
                if oldest_ms >= self._since_ms:
                    self._jobs[job.job_id] = job
                    self.first_ms = min(oldest_ms, self.first_ms or oldest_ms)
            after = page["next"]
            if not after or (oldest_ms is not None and oldest_ms < back_to_ms):
                return


def _matters(job: ObservedJob, first_ms: int) -> bool:
    return job.state == RUNNING or (job.ended_ms or job.created_ms) >= first_ms


def routes_of(specification: Mapping[str, Any]) -> tuple[JobRoute, ...]:
    """The routes of a specification as the models know them."""
    return tuple(
        JobRoute(tuple(_tasks(route["tasks"])), route["share"]) for route in specification["routes"]
    )


def _tasks(tasks: Mapping[str, Any]) -> Iterator[JobTask]:
    for name, task in tasks.items():
        yield JobTask(name, task["topic"], tuple(task["after"]))
