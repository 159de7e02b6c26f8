"""`dovemq workflow submit`, `status`, `result` and what else concerns one job or many."""

import argparse
import datetime
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from dovemq.cli.command import (
    FAILED,
    OK,
    CommandParser,
    Commands,
    WrongUse,
    add_server_command,
)
from dovemq.cli.output import (
    Columns,
    json_text,
    print_pairs,
    print_records,
    print_result,
    time_text,
)
from dovemq.cli.target import ask_workflows
from dovemq.cli.values import count
from dovemq.client import WorkflowClient
from dovemq.client.workflows import ENDED, RUNNING
from dovemq.core.workflows.jobs import INPUT_BYTES_MAX, JobState

Document = dict[str, Any]
Ask = Callable[[WorkflowClient, str, str], Awaitable[Document]]
WAIT_SECONDS: Final = 3_600.0
JOBS_DEFAULT: Final = 20
JOBS_MAX: Final = 100_000
_SECOND_MS: Final = 1_000


def add(actions: Commands) -> None:
    _add_submit(actions)
    for name, run, summary in (
        ("status", _status, "show a job and its tasks"),
        ("result", _result, "print the result of a job"),
        ("timeline", _timeline, "show what has happened to a job, in order of time"),
        ("cancel", _cancel, "cancel a running job"),
        ("retry", _retry, "publish the failed tasks of a failed job again"),
    ):
        example = f"dovemq workflow {name} JOB"
        parser = add_server_command(actions, name, run, summary, example)
        parser.add_argument("job", metavar="JOB", help="id of the job")
        _add_owner(parser)
        if name in ("status", "result"):
            _add_wait(parser)
    _add_jobs(actions)


def _add_submit(actions: Commands) -> None:
    example = "dovemq workflow submit report --input '{\"pages\": 3}' --wait"
    parser = add_server_command(actions, "submit", _submit, "start a job", example)
    parser.add_argument("type", metavar="TYPE", help="type of the job")
    text = "input of the job as JSON; - reads it from standard input"
    parser.option("--input", "JSON", text)
    text = "idempotency key: the same key gives the same job for a day"
    parser.option("--key", "TEXT", text)
    _add_wait(parser)
    _add_owner(parser)


def _add_jobs(actions: Commands) -> None:
    example = "dovemq workflow jobs --state failed"
    parser = add_server_command(actions, "jobs", _jobs, "list jobs, the newest first", example)
    parser.option("--type", "TYPE", "type of the jobs", default="")
    states = tuple(state.value for state in JobState)
    parser.choice("--state", states, "state of the jobs")
    parser.option("--limit", "N", "most jobs to list", count, JOBS_DEFAULT)
    _add_owner(parser)


def _add_owner(parser: CommandParser) -> None:
    text = "number of another account, which needs a role (default: that of the key)"
    parser.option("--owner", "NUMBER", text, default="")


def _add_wait(parser: CommandParser) -> None:
    parser.switch("--wait", "wait until the job does not run any more")


def _submit(args: argparse.Namespace) -> int:
    content = _content(args.input)

    async def submit(client: WorkflowClient) -> Document:
        job = await client.submit(args.type, content, key=args.key, account=args.owner)
        if args.wait:
            job = await client.finished(job["job_id"], WAIT_SECONDS, account=args.owner)
        return job

    job = ask_workflows(args, submit)
    if args.wait:
        return print_result(args, job, lambda: _print_job(job), _code(job))
    return print_result(args, job, job["job_id"])


def _content(text: str | None) -> Any:
    if text is None:
        return None
    if text == "-":
        text = sys.stdin.read(4 * INPUT_BYTES_MAX)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise WrongUse(f"--input is not JSON: {error}") from None


def _code(job: Document) -> int:
    return OK if job["state"] == ENDED else FAILED


def _found(args: argparse.Namespace) -> Document:
    async def find(client: WorkflowClient) -> Document:
        if args.wait:
            return await client.finished(args.job, WAIT_SECONDS, account=args.owner)
        return await client.job(args.job, account=args.owner)

    return ask_workflows(args, find)


def _status(args: argparse.Namespace) -> int:
    job = _found(args)
    code = _code(job) if args.wait else OK
    return print_result(args, job, lambda: _print_job(job), code)


def _result(args: argparse.Namespace) -> int:
    job = _found(args)
    document = {"job_id": job["job_id"], "state": job["state"], "result": job["result"]}
    if job["state"] != ENDED:
        reason = f": {job['error']}" if job["error"] else ""
        text = f"job {job['job_id']} is {job['state']}{reason}"
        return print_result(args, document, text, FAILED)
    return print_result(args, document, json_text(job["result"]))


def _timeline(args: argparse.Namespace) -> int:
    events = ask_workflows(args, lambda client: client.timeline(args.job, account=args.owner))
    begun_ms = events[0]["ms"] if events else 0
    columns: Columns = {
        "TIME": lambda event: _moment(event["ms"]),
        "SECONDS": lambda event: f"{(event['ms'] - begun_ms) / _SECOND_MS:.3f}",
        "EVENT": "event",
        "TASK": "task",
        "ATTEMPT": "attempt",
        "WORKER": "worker",
    }
    document = {"job_id": args.job, "events": events}
    return print_result(args, document, lambda: print_records(events, columns))


def _moment(ms: int) -> str:
    moment = datetime.datetime.fromtimestamp(ms / _SECOND_MS, datetime.UTC)
    return f"{moment:%H:%M:%S}.{ms % _SECOND_MS:03}Z"


def _cancel(args: argparse.Namespace) -> int:
    job = ask_workflows(args, lambda client: client.cancel(args.job, account=args.owner))
    return print_result(args, job, f"job {job['job_id']} is {job['state']}")


def _retry(args: argparse.Namespace) -> int:
    job = ask_workflows(args, lambda client: client.retry(args.job, account=args.owner))
    return print_result(args, job, f"job {job['job_id']} is {job['state']}")


def _jobs(args: argparse.Namespace) -> int:
    jobs = ask_workflows(
        args,
        lambda client: client.jobs(
            type_=args.type,
            state=args.state or "",
            count_max=min(args.limit, JOBS_MAX),
            account=args.owner,
        ),
    )
    columns: Columns = {
        "JOB": "job_id",
        "TYPE": "type",
        "STATE": "state",
        "SUBMITTED": lambda job: time_text(job["created_ms"]),
        "SECONDS": _seconds,
        "TASKS": _task_counts,
    }
    return print_result(args, {"jobs": jobs}, lambda: print_records(jobs, columns))


def _seconds(job: Document) -> str:
    ended_ms = job["ended_ms"]
    return "" if ended_ms is None else f"{(ended_ms - job['created_ms']) / _SECOND_MS:.3f}"


def _task_counts(job: Document) -> str:
    tasks = job["tasks"].values()
    return f"{sum(task['state'] == ENDED for task in tasks)}/{len(tasks)}"


def _print_job(job: Document) -> None:
    pairs: list[tuple[str, object]] = [
        ("job", job["job_id"]),
        ("type", f"{job['type']} (version {job['version']}, route {job['route']})"),
        ("state", job["state"]),
        ("submitted", time_text(job["created_ms"])),
    ]
    if job["state"] != RUNNING:
        pairs.append(("seconds", _seconds(job)))
    if job["error"]:
        pairs.append(("error", job["error"]))
    if job["state"] == ENDED:
        pairs.append(("result", json_text(job["result"])))
    print_pairs(pairs)
    print()
    tasks = [{"name": name, **task} for name, task in job["tasks"].items()]
    columns: Columns = {
        "TASK": "name",
        "TOPIC": "topic",
        "STATE": "state",
        "ATTEMPT": "attempt",
        "WAITED_S": lambda task: _between(task["published_ms"], task["started_ms"]),
        "WORKED_S": _worked,
        "WORKER": "worker",
    }
    print_records(tasks, columns)


def _between(first_ms: int | None, last_ms: int | None) -> str:
    if first_ms is None or last_ms is None:
        return ""
    return f"{(last_ms - first_ms) / _SECOND_MS:.3f}"


def _worked(task: Document) -> str:
    worked_ms = task["service_ms"]
    return "" if worked_ms is None else f"{worked_ms / _SECOND_MS:.3f}"
