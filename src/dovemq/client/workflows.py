"""A client of workflows: specifications, jobs, and the words of workers.

Methods return the JSON documents of the admin API, which `docs/reference/admin.md` describes. The
account is that of the key, unless another one is named.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from dovemq.client.admin_session import AdminSession, Document

ENDED: Final = "ended"
RUNNING: Final = "running"
LOOK_SECONDS: Final = 0.1
LOOK_SECONDS_MAX: Final = 2.0
"""Shortest and longest pause between two looks at a job that is waited for."""


class WorkflowClient(AdminSession):
    async def workflows(self, *, account: str = "") -> list[Document]:
        """The newest version of each workflow."""
        found = await self._get("/v1/workflows", {"account": account})
        listed: list[Document] = found["workflows"]
        return listed

    async def workflow(
        self, type_: str, *, version: int | None = None, account: str = ""
    ) -> Document:
        query = {"account": account, "version": str(version or "")}
        return await self._get(_type_path(type_), query)

    async def put_workflow(
        self, type_: str, content: Mapping[str, Any], *, account: str = ""
    ) -> Document:
        """Store a specification, a table such as `{"path": ["A", "B"]}`, and create its topics."""
        query = {"account": account}
        return await self._document("PUT", _type_path(type_), content, query=query, repeatable=True)

    async def submit(
        self, type_: str, content: Any = None, *, key: str | None = None, account: str = ""
    ) -> Document:
        """Start a job with this input. With a key the request may be repeated safely for a day."""
        return await self._document(
            "POST",
            f"{_type_path(type_)}/jobs",
            {"input": content, "key": key},
            query={"account": account},
            repeatable=key is not None,
        )

    async def publish_sizing(self, report: Mapping[str, Any], *, account: str = "") -> Document:
        """Publish a decision of a resource manager. It is not repeated if the reply is lost."""
        query = {"account": account}
        return await self._document("POST", "/v1/sizing/decisions", report, query=query)

    async def sizings(self, *, count_max: int = 50, account: str = "") -> list[Document]:
        """The newest decisions of the resource manager, the newest first."""
        query = {"account": account, "limit": str(count_max)}
        found: list[Document] = (await self._get("/v1/sizing/decisions", query))["decisions"]
        return found

    async def job(self, job_id: str, *, account: str = "") -> Document:
        return await self._get(_job_path(job_id), {"account": account})

    async def jobs_page(
        self,
        *,
        type_: str = "",
        state: str = "",
        after: str = "",
        count_max: int = 100,
        account: str = "",
    ) -> Document:
        """A page of jobs, the newest first; `next` is the `after` of the following page."""
        query = {"type": type_, "state": state, "after": after, "account": account}
        return await self._get("/v1/jobs", {**query, "limit": str(count_max)})

    async def jobs(
        self, *, type_: str = "", state: str = "", count_max: int = 100, account: str = ""
    ) -> list[Document]:
        """The newest jobs, of as many pages as that takes."""
        found: list[Document] = []
        after = ""
        while len(found) < count_max:
            page = await self.jobs_page(
                type_=type_,
                state=state,
                after=after,
                count_max=min(1_000, count_max - len(found)),
                account=account,
            )
            found += page["jobs"]
            after = page["next"]
            if not after:
                break
        return found

    async def result(self, job_id: str, *, account: str = "") -> Any:
        """The result of a job that has ended; `Refused` with the code NotEnded before that."""
        return (await self._get(f"{_job_path(job_id)}/result", {"account": account}))["result"]

    async def finished(self, job_id: str, seconds_max: float, *, account: str = "") -> Document:
        """The job once it does not run any more, or as it is after that time."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + seconds_max, LOOK_SECONDS
        while True:
            job = await self.job(job_id, account=account)
            left = until - loop.time()
            if job["state"] != RUNNING or left <= 0:
                return job
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 1.5, LOOK_SECONDS_MAX)

    async def timeline(self, job_id: str, *, account: str = "") -> list[Document]:
        found = await self._get(f"{_job_path(job_id)}/timeline", {"account": account})
        events: list[Document] = found["events"]
        return events

    async def cancel(self, job_id: str, *, account: str = "") -> Document:
        return await self._said(f"{_job_path(job_id)}/cancellation", None, account)

    async def retry(self, job_id: str, *, account: str = "") -> Document:
        """Publish the failed tasks of a failed job again."""
        path, query = f"{_job_path(job_id)}/retry", {"account": account}
        return await self._document("POST", path, query=query)

    async def start_task(
        self, job_id: str, task: str, attempt: int, *, worker: str = "", deliveries: int = 1
    ) -> Document:
        """Say that a worker begins; `wanted` is false if the task needs no more work."""
        body = {"attempt": attempt, "worker": worker, "deliveries": deliveries}
        return await self._said(f"{_task_path(job_id, task)}/start", body)

    async def end_task(
        self,
        job_id: str,
        task: str,
        attempt: int,
        result: Any = None,
        *,
        worker: str = "",
        service_ms: float = 0.0,
    ) -> Document:
        """Say that a task is done. Only the first such word has an effect."""
        body = {
            "attempt": attempt,
            "worker": worker,
            "service_ms": service_ms,
            "result": result,
        }
        return await self._said(f"{_task_path(job_id, task)}/end", body)

    async def fail_task(
        self,
        job_id: str,
        task: str,
        attempt: int,
        error: str,
        *,
        worker: str = "",
        service_ms: float = 0.0,
        final: bool = False,
    ) -> Document:
        """Say that a task has failed; with `final` it is not tried again."""
        body = {
            "attempt": attempt,
            "worker": worker,
            "service_ms": service_ms,
            "error": error,
            "final": final,
        }
        return await self._said(f"{_task_path(job_id, task)}/failure", body)

    async def _said(self, path: str, body: Mapping[str, Any] | None, account: str = "") -> Document:
        query = {"account": account}
        return await self._document("POST", path, body, query=query, repeatable=True)


def _type_path(type_: str) -> str:
    return f"/v1/workflows/{quote(type_, safe='')}"


def _job_path(job_id: str) -> str:
    return f"/v1/jobs/{quote(job_id, safe='')}"


def _task_path(job_id: str, task: str) -> str:
    return f"{_job_path(job_id)}/tasks/{quote(task, safe='')}"
