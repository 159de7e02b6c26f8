"""The effect of an event on a job: one pure function, `advance`.

The new job holds what must be published in its outbox. It is stored by compare-and-set first, then
its publications are sent to the queues of the topics, then they are marked as done. So an event
that arrives twice, or at two front ends at a time, changes the job once: a task ends once, a fork
publishes each branch once and a join fires once. A message may still be sent twice, by a repair
after a crash; `Started` and `Ended` of a task that has ended change nothing.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from dovemq.core.errors import JobRefused, TaskMissing, WorkflowInvalid
from dovemq.core.limits import SECOND_MS
from dovemq.core.workflows.broker import ready_tasks, route_of
from dovemq.core.workflows.jobs import (
    ATTEMPTS_KEPT,
    ERROR_LENGTH_MAX,
    RESULT_BYTES_MAX,
    RESULTS_BYTES_MAX,
    WORKER_LENGTH_MAX,
    Job,
    JobState,
    Publication,
    TaskAttempt,
    TaskProgress,
    TaskState,
)
from dovemq.core.workflows.specification import WorkflowSpec

DELIVERIES_MAX: Final = 10
"""A message that was received more often killed its workers, and counts as a failed task."""
REPAIR_MS: Final = 10 * SECOND_MS
"""A publication that was not marked as done for so long is sent again."""


class Published(Struct, frozen=True):
    """These messages are in the queues of their topics."""

    publications: tuple[Publication, ...]


class Started(Struct, frozen=True):
    task: str
    attempt: int
    worker: str
    deliveries: int = 1


class Ended(Struct, frozen=True):
    task: str
    attempt: int
    worker: str
    service_ms: float
    result: Any = None


class Failed(Struct, frozen=True):
    """An attempt has failed. No further one is made if it is `final`."""

    task: str
    attempt: int
    worker: str
    service_ms: float
    error: str
    final: bool = False


class Cancelled(Struct, frozen=True):
    pass


class Retried(Struct, frozen=True):
    """Somebody asks for another attempt of the failed tasks."""


class Reviewed(Struct, frozen=True):
    """The regular review: what is overdue is published again."""


Event = Published | Started | Ended | Failed | Cancelled | Retried | Reviewed


def new_job(spec: WorkflowSpec, job_id: str, account: str, content: Any, now_ms: int) -> Job:
    number = route_of(spec, job_id)
    tasks = tuple(TaskProgress(task.name, task.topic) for task in spec.routes[number].tasks)
    job = Job(job_id, account, spec.type, spec.version, number, now_ms, tasks, input=content)
    return _published_ready(job, spec, now_ms)


def advance(job: Job, event: Event, spec: WorkflowSpec, now_ms: int) -> Job:
    """The job after the event; the same object if the event changes nothing."""
    match event:
        case Published():
            return _marked(job, event)
        case Cancelled():
            return _cancelled(job, now_ms)
        case Retried():
            return _retried(job, spec, now_ms)
        case Reviewed():
            return _reviewed(job, spec, now_ms)
    task = job.task(event.task)
    if task is None:
        raise TaskMissing(job.job_id, event.task)
    match event:
        case Started():
            return _started(job, task, event, spec, now_ms)
        case Ended():
            return _ended(job, task, event, spec, now_ms)
        case Failed():
            return _failed(job, task, event, spec, now_ms)


def due_ms(job: Job, spec: WorkflowSpec) -> int | None:
    """When somebody must look at the job: for a repair, a lost task, or its removal."""
    if job.outbox:
        return min(each.since_ms for each in job.outbox) + REPAIR_MS
    if job.state is not JobState.RUNNING:
        ended_ms = job.created_ms if job.ended_ms is None else job.ended_ms
        return ended_ms + spec.retention_seconds * SECOND_MS
    times = [_patient_until_ms(task, spec) for task in job.tasks if task.is_out]
    return min(times, default=None)


def wants(job: Job, name: str, attempt: int) -> bool:
    """Whether a worker that has received this attempt of a task should work on it."""
    task = job.task(name)
    if job.state is not JobState.RUNNING or task is None or not task.is_out:
        return False
    newest = task.attempt
    return newest is not None and attempt >= newest.number


def _started(job: Job, task: TaskProgress, event: Started, spec: WorkflowSpec, now_ms: int) -> Job:
    if not wants(job, event.task, event.attempt):
        return job
    if event.deliveries > DELIVERIES_MAX:
        error = f"received {event.deliveries} times; its workers ended without a word"
        failed = Failed(event.task, event.attempt, event.worker, 0.0, error, final=True)
        return _failed(job, task, failed, spec, now_ms)
    worker = event.worker[:WORKER_LENGTH_MAX]
    changed = _with_attempt(task, event.attempt, started_ms=now_ms, worker=worker, ended_ms=None)
    return job.with_task(msgspec.structs.replace(changed, state=TaskState.RUNNING))


def _ended(job: Job, task: TaskProgress, event: Ended, spec: WorkflowSpec, now_ms: int) -> Job:
    over = job.state is JobState.CANCELLED or task.state is TaskState.ENDED
    if over or not task.attempts:
        return job
    _check_result(job, event)
    changed = _with_attempt(
        task,
        event.attempt,
        ended_ms=now_ms,
        service_ms=event.service_ms,
        worker=event.worker[:WORKER_LENGTH_MAX],
        error=None,
    )
    changed = msgspec.structs.replace(changed, state=TaskState.ENDED, result=event.result)
    outbox = tuple(each for each in job.outbox if each.task != task.name or each.dead)
    job = msgspec.structs.replace(job.with_task(changed), outbox=outbox)
    if job.state is JobState.FAILED:
        # An earlier attempt of the failed task, or another branch: a retry goes on from here.
        return job
    if all(each.state is TaskState.ENDED for each in job.tasks):
        return msgspec.structs.replace(job, state=JobState.ENDED, ended_ms=now_ms)
    return _published_ready(job, spec, now_ms)


def _failed(job: Job, task: TaskProgress, event: Failed, spec: WorkflowSpec, now_ms: int) -> Job:
    newest = task.attempt
    if job.state is JobState.CANCELLED or not task.is_out or newest is None:
        return job
    if event.attempt < newest.number:
        return job
    error = event.error[:ERROR_LENGTH_MAX]
    task = _with_attempt(
        task,
        event.attempt,
        ended_ms=now_ms,
        service_ms=event.service_ms,
        worker=event.worker[:WORKER_LENGTH_MAX],
        error=error,
    )
    return _attempted(job, task, spec, now_ms, error, final=event.final)


def _attempted(
    job: Job, task: TaskProgress, spec: WorkflowSpec, now_ms: int, error: str, *, final: bool
) -> Job:
    """The job after an attempt that has failed: another one, or the end of the job."""
    assert task.attempt is not None
    made = task.attempt.number - task.attempts_before
    if not final and made < spec.attempts_max and job.state is JobState.RUNNING:
        return _published(job, task, spec, now_ms)
    number = task.attempt.number
    outbox = tuple(each for each in job.outbox if each.task != task.name)
    dead = Publication(task.name, number, now_ms, dead=True)
    job = job.with_task(msgspec.structs.replace(task, state=TaskState.FAILED))
    return msgspec.structs.replace(
        job,
        state=JobState.FAILED,
        ended_ms=now_ms,
        error=f"{task.name}: {error}",
        outbox=(*outbox, dead),
    )


def _marked(job: Job, event: Published) -> Job:
    done = {(each.task, each.attempt, each.dead) for each in event.publications}
    left = tuple(each for each in job.outbox if (each.task, each.attempt, each.dead) not in done)
    return job if len(left) == len(job.outbox) else msgspec.structs.replace(job, outbox=left)


def _cancelled(job: Job, now_ms: int) -> Job:
    if job.state is JobState.CANCELLED:
        return job
    if job.state is not JobState.RUNNING:
        raise JobRefused(f"Job {job.job_id} has {job.state.value} already.")
    return msgspec.structs.replace(job, state=JobState.CANCELLED, ended_ms=now_ms, outbox=())


def _retried(job: Job, spec: WorkflowSpec, now_ms: int) -> Job:
    if job.state is not JobState.FAILED:
        text = f"Job {job.job_id} is {job.state.value}: only failed jobs can be retried."
        raise JobRefused(text)
    job = msgspec.structs.replace(job, state=JobState.RUNNING, ended_ms=None, error=None)
    for task in job.tasks:
        if task.state is TaskState.FAILED or task.is_out:
            # Workers drop the messages of a job that has failed.
            before = task.attempt.number if task.attempt else 0
            fresh = msgspec.structs.replace(task, attempts_before=before)
            job = _published(job, fresh, spec, now_ms)
    if all(each.state is TaskState.ENDED for each in job.tasks):
        return msgspec.structs.replace(job, state=JobState.ENDED, ended_ms=now_ms)
    return _published_ready(job, spec, now_ms)


def _reviewed(job: Job, spec: WorkflowSpec, now_ms: int) -> Job:
    """Publications that nobody has marked begin anew; tasks without a word get another attempt."""
    outbox = tuple(
        msgspec.structs.replace(each, since_ms=now_ms)
        if each.since_ms + REPAIR_MS <= now_ms
        else each
        for each in job.outbox
    )
    if outbox != job.outbox:
        job = msgspec.structs.replace(job, outbox=outbox)
    if job.state is not JobState.RUNNING:
        return job
    waiting = {each.task for each in job.outbox}
    for task in job.tasks:
        if task.is_out and task.name not in waiting and _patient_until_ms(task, spec) <= now_ms:
            error = f"no word for {spec.patience_seconds} seconds"
            silent = _with_attempt(task, 0, error=error)
            job = _attempted(job, silent, spec, now_ms, error, final=False)
            if job.state is not JobState.RUNNING:
                break
    return job


def _patient_until_ms(task: TaskProgress, spec: WorkflowSpec) -> int:
    assert task.attempt is not None
    attempt = task.attempt
    last_ms = attempt.published_ms if attempt.started_ms is None else attempt.started_ms
    return last_ms + spec.patience_seconds * SECOND_MS


def _published_ready(job: Job, spec: WorkflowSpec, now_ms: int) -> Job:
    ended = [task.name for task in job.tasks if task.state is TaskState.ENDED]
    begun = [task.name for task in job.tasks if task.state is not TaskState.WAITING]
    for ready in ready_tasks(spec.routes[job.route], ended, begun):
        task = job.task(ready.name)
        assert task is not None
        job = _published(job, task, spec, now_ms)
    return job


def _published(job: Job, task: TaskProgress, spec: WorkflowSpec, now_ms: int) -> Job:
    """The job with the next attempt of a task in its outbox."""
    number = task.attempt.number + 1 if task.attempt else 1
    delay_ms = spec.backoff_ms(number - task.attempts_before)
    attempts = (*task.attempts, TaskAttempt(number, now_ms))[-ATTEMPTS_KEPT:]
    state = TaskState.PUBLISHED
    job = job.with_task(msgspec.structs.replace(task, state=state, attempts=attempts))
    outbox = tuple(each for each in job.outbox if each.task != task.name)
    publication = Publication(task.name, number, now_ms, delay_ms)
    return msgspec.structs.replace(job, outbox=(*outbox, publication))


def _with_attempt(task: TaskProgress, number: int, **changes: Any) -> TaskProgress:
    """The task with changes to this attempt, or to the newest if this one is not kept."""
    known = {each.number: each for each in task.attempts}
    newest = task.attempts[-1]
    changed = msgspec.structs.replace(known.get(number, newest), **changes)
    if number > newest.number:
        # The job was restored to an earlier state than its messages.
        changed = msgspec.structs.replace(changed, number=number)
    attempts: Iterable[TaskAttempt] = (
        changed if each is known.get(number, newest) else each for each in task.attempts
    )
    return msgspec.structs.replace(task, attempts=tuple(attempts))


def _check_result(job: Job, event: Ended) -> None:
    size = len(msgspec.json.encode(event.result))
    if size > RESULT_BYTES_MAX:
        text = f"{size} bytes are more than {RESULT_BYTES_MAX}: store it elsewhere, return its name"
        raise WorkflowInvalid("result", text)
    held = sum(len(msgspec.json.encode(task.result)) for task in job.tasks)
    if held + size > RESULTS_BYTES_MAX:
        text = f"the results of the job would have more than {RESULTS_BYTES_MAX} bytes"
        raise WorkflowInvalid("result", text)
