"""Jobs and specifications as the admin API shows them, and the message of a task."""

from typing import Any

import msgspec
from msgspec import Struct

from dovemq.core.workflows.broker import last_tasks
from dovemq.core.workflows.jobs import (
    Job,
    JobState,
    Publication,
    TaskAttempt,
    TaskProgress,
    TaskState,
)
from dovemq.core.workflows.specification import WorkflowRoute, WorkflowSpec

JsonTable = dict[str, Any]


class TaskMessage(Struct, frozen=True):
    """The body of a message of a topic: all that a worker needs."""

    job_id: str
    account: str
    type: str
    version: int
    task: str
    topic: str
    attempt: int
    input: Any = None
    results: dict[str, Any] = {}


def task_message(job: Job, route: WorkflowRoute, publication: Publication) -> TaskMessage:
    task = next(each for each in route.tasks if each.name == publication.task)
    results = {each.name: each.result for each in job.tasks if each.name in task.after}
    return TaskMessage(
        job.job_id,
        job.account,
        job.type,
        job.version,
        task.name,
        task.topic,
        publication.attempt,
        job.input,
        results,
    )


def specification_document(spec: WorkflowSpec) -> JsonTable:
    names = ("type", "version", "created_ms", "attempts_max", "backoff_seconds")
    return {
        **{name: getattr(spec, name) for name in names},
        "patience_seconds": spec.patience_seconds,
        "retention_seconds": spec.retention_seconds,
        "routes": [
            {
                "share": route.share,
                "tasks": {
                    task.name: {"topic": task.topic, "after": list(task.after)}
                    for task in route.tasks
                },
            }
            for route in spec.routes
        ],
        "topics": {
            topic.name: {
                "queue": topic.queue,
                "dead_queue": topic.dead_queue,
                "lease_seconds": topic.lease_seconds,
            }
            for topic in spec.topics
        },
    }


def summary_document(job: Job) -> JsonTable:
    names = ("job_id", "account", "type", "version", "route", "created_ms", "ended_ms", "error")
    return {
        **{name: getattr(job, name) for name in names},
        "state": job.state.value,
        "tasks": {task.name: _task(task) for task in job.tasks},
    }


def job_document(job: Job, spec: WorkflowSpec) -> JsonTable:
    ended = [task for task in job.tasks if task.state is TaskState.ENDED]
    return {
        **summary_document(job),
        "input": job.input,
        "results": {task.name: task.result for task in ended},
        "result": result_of(job, spec),
    }


def result_of(job: Job, spec: WorkflowSpec) -> Any:
    """The result of the last task; of several, a table by their names; None before the end."""
    if job.state is not JobState.ENDED:
        return None
    last = last_tasks(spec.routes[job.route])
    results = {task.name: task.result for task in job.tasks if task.name in last}
    return results[last[0]] if len(last) == 1 else results


def timeline_document(job: Job) -> list[JsonTable]:
    """The events of a job, in order of time."""
    events = [_event(job.created_ms, "submitted")]
    for task in job.tasks:
        for attempt in task.attempts:
            events += _attempt_events(task, attempt)
    if job.ended_ms is not None:
        events.append(_event(job.ended_ms, f"job {job.state.value}"))
    return sorted(events, key=lambda event: event["ms"])


def _attempt_events(task: TaskProgress, attempt: TaskAttempt) -> list[JsonTable]:
    events = [_event(attempt.published_ms, "published", task, attempt)]
    if attempt.started_ms is not None:
        events.append(_event(attempt.started_ms, "started", task, attempt))
    if attempt.ended_ms is not None:
        what = "ended" if attempt.error is None else "failed"
        events.append(_event(attempt.ended_ms, what, task, attempt))
    return events


def _event(
    ms: int, event: str, task: TaskProgress | None = None, attempt: TaskAttempt | None = None
) -> JsonTable:
    return {
        "ms": ms,
        "event": event,
        "task": task.name if task else None,
        "attempt": attempt.number if attempt else None,
        "worker": attempt.worker if attempt and event != "published" else None,
    }


def _task(task: TaskProgress) -> JsonTable:
    earlier = [_attempt(each) for each in task.attempts[:-1]]
    newest = _attempt(task.attempt) if task.attempt else dict.fromkeys(_ATTEMPT_FIELDS)
    return {"topic": task.topic, "state": task.state.value, **newest, "earlier": earlier}


_ATTEMPT_FIELDS = ("attempt", *TaskAttempt.__struct_fields__[1:])


def _attempt(attempt: TaskAttempt) -> JsonTable:
    values = msgspec.structs.asdict(attempt)
    return {"attempt": values.pop("number"), **values}
