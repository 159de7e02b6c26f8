"""Routes for jobs of workflows: their progress, and the words of their workers."""

from http import HTTPStatus
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.errors import TaskMissing
from dovemq.core.workflows.documents import (
    job_document,
    result_of,
    summary_document,
    timeline_document,
)
from dovemq.core.workflows.jobs import RESULT_BYTES_MAX, Job, JobState
from dovemq.core.workflows.transitions import (
    Cancelled,
    Ended,
    Event,
    Failed,
    Retried,
    Started,
    wants,
)
from dovemq.server.admin_context import (
    PAGE,
    PAGE_DEFAULT,
    AdminCall,
    AdminContext,
    AdminRefusal,
    AdminRoute,
)
from dovemq.server.admin_views import Document
from dovemq.server.admin_workflows import account_of

_ACCOUNT: Final = ("account",)
_STATES: Final = [state.value for state in JobState]
END_BYTES_MAX: Final = 4 * RESULT_BYTES_MAX
"""A result may be written with escapes."""
SERVICE_MS_MAX: Final = 365 * limits.DAY_MS

Attempts = Annotated[int, Meta(ge=1, le=1_000_000)]
ServiceMs = Annotated[float, Meta(ge=0, le=SERVICE_MS_MAX)]
Worker = Annotated[str, Meta(max_length=200)]


class TaskStart(Struct, frozen=True, forbid_unknown_fields=True):
    attempt: Attempts
    worker: Worker = ""
    deliveries: Attempts = 1


class TaskEnd(Struct, frozen=True, forbid_unknown_fields=True):
    attempt: Attempts
    worker: Worker = ""
    service_ms: ServiceMs = 0.0
    result: Any = None


class TaskFailure(Struct, frozen=True, forbid_unknown_fields=True):
    attempt: Attempts
    error: Annotated[str, Meta(max_length=4_000)]
    worker: Worker = ""
    service_ms: ServiceMs = 0.0
    final: bool = False


@AdminRoute(
    "GET",
    "/v1/jobs",
    Role.VIEWER,
    query=("account", "type", "state", "after", "limit"),
    own=True,
)
async def list_jobs(admin: AdminContext, call: AdminCall) -> Document:
    """Jobs of an account, the newest first, with the times of their tasks.

    A page may have fewer jobs than `limit` although `next` is not null.
    """
    state = call.query.get("state") or None
    if state is not None and state not in _STATES:
        raise AdminRefusal("InvalidValue", f"state must be one of {', '.join(_STATES)}.")
    jobs, after = await admin.service.workflows.jobs.page(
        account_of(call, Role.VIEWER),
        call.query.get("type") or None,
        state,
        call.query.get("after", ""),
        call.number("limit", PAGE_DEFAULT, PAGE),
    )
    return {"jobs": [summary_document(job) for job in jobs], "next": after}


@AdminRoute("GET", "/v1/jobs/{job}", Role.VIEWER, query=_ACCOUNT, own=True)
async def show_job(admin: AdminContext, call: AdminCall) -> Document:
    """One job with its input, its tasks and their results."""
    return await _document(admin, await _job(admin, call))


@AdminRoute("GET", "/v1/jobs/{job}/result", Role.VIEWER, query=_ACCOUNT, own=True)
async def show_result(admin: AdminContext, call: AdminCall) -> Document:
    """The result of a job that has ended; 409 if it has not."""
    job = await _job(admin, call)
    if job.state is not JobState.ENDED:
        text = f"Job {job.job_id} is {job.state.value}."
        raise AdminRefusal("NotEnded", text, HTTPStatus.CONFLICT)
    result = result_of(job, await admin.service.workflows.jobs.spec_of(job))
    return {"job_id": job.job_id, "state": job.state.value, "result": result}


@AdminRoute("GET", "/v1/jobs/{job}/timeline", Role.VIEWER, query=_ACCOUNT, own=True)
async def show_timeline(admin: AdminContext, call: AdminCall) -> Document:
    """The events of a job, in order of time."""
    job = await _job(admin, call)
    return {"job_id": job.job_id, "events": timeline_document(job)}


@AdminRoute(
    "POST", "/v1/jobs/{job}/cancellation", Role.OPERATOR, query=_ACCOUNT, audited=True, own=True
)
async def cancel_job(admin: AdminContext, call: AdminCall) -> Document:
    """Cancels a running job: no further task of it is started."""
    return await _document(admin, (await _changed(admin, call, Cancelled()))[0])


@AdminRoute("POST", "/v1/jobs/{job}/retry", Role.OPERATOR, query=_ACCOUNT, audited=True, own=True)
async def retry_job(admin: AdminContext, call: AdminCall) -> Document:
    """Publishes the failed tasks of a failed job again; what has ended is not repeated."""
    return await _document(admin, (await _changed(admin, call, Retried()))[0])


@AdminRoute(
    "POST",
    "/v1/jobs/{job}/tasks/{task}/start",
    Role.OPERATOR,
    query=_ACCOUNT,
    body=TaskStart,
    own=True,
)
async def start_task(admin: AdminContext, call: AdminCall) -> Document:
    """A worker begins with an attempt of a task; `wanted` says whether it should."""
    said: TaskStart = call.body
    task = call.path["task"]
    event = Started(task, said.attempt, said.worker, said.deliveries)
    job, _ = await _changed(admin, call, event)
    return {"wanted": wants(job, task, said.attempt), "state": job.state.value}


@AdminRoute(
    "POST",
    "/v1/jobs/{job}/tasks/{task}/end",
    Role.OPERATOR,
    query=_ACCOUNT,
    body=TaskEnd,
    body_bytes_max=END_BYTES_MAX,
    own=True,
)
async def end_task(admin: AdminContext, call: AdminCall) -> Document:
    """A worker has done a task. The first such word counts; `accepted` is false for others."""
    said: TaskEnd = call.body
    event = Ended(call.path["task"], said.attempt, said.worker, said.service_ms, said.result)
    job, accepted = await _changed(admin, call, event)
    return _answer(job, event.task, accepted=accepted)


@AdminRoute(
    "POST",
    "/v1/jobs/{job}/tasks/{task}/failure",
    Role.OPERATOR,
    query=_ACCOUNT,
    body=TaskFailure,
    own=True,
)
async def fail_task(admin: AdminContext, call: AdminCall) -> Document:
    """A worker has failed. Another attempt follows after a pause, unless there were enough."""
    said: TaskFailure = call.body
    event = Failed(
        call.path["task"], said.attempt, said.worker, said.service_ms, said.error, said.final
    )
    job, accepted = await _changed(admin, call, event)
    return _answer(job, event.task, accepted=accepted)


def _answer(job: Job, name: str, *, accepted: bool) -> Document:
    task = job.task(name)
    if task is None:
        raise TaskMissing(job.job_id, name)
    return {"accepted": accepted, "state": job.state.value, "task_state": task.state.value}


async def _job(admin: AdminContext, call: AdminCall) -> Job:
    account = account_of(call, Role.VIEWER)
    return await admin.service.workflows.jobs.job(account, call.path["job"])


async def _changed(admin: AdminContext, call: AdminCall, event: Event) -> tuple[Job, bool]:
    account = account_of(call, Role.OPERATOR)
    return await admin.service.workflows.jobs.change(account, call.path["job"], event)


async def _document(admin: AdminContext, job: Job) -> Document:
    return job_document(job, await admin.service.workflows.jobs.spec_of(job))
