"""`dovemq workflow worker`: a process that does the tasks of topics until it is stopped."""

import argparse
import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Final

from dovemq.cli.command import Commands, WrongUse, add_server_command
from dovemq.cli.output import Progress, print_result
from dovemq.cli.target import find_target
from dovemq.cli.values import count, number, pair
from dovemq.core.workflows.specification import TOPIC_NAME
from dovemq.server.run import until_stopped
from dovemq.system.process_ids import process_id
from dovemq.workflows.executing import CommandExecution, Execution, TaskFailed, execution_of
from dovemq.workflows.sizing.allocators.worker_record import (
    LOOK_SECONDS,
    UNKEPT_SECONDS,
    KeeperWatch,
)
from dovemq.workflows.tasks import TasksInvalid, by_topic, load_tasks
from dovemq.workflows.worker import GRACE_SECONDS, TopicWorker

CONCURRENCY_MAX: Final = 1_000


def add(actions: Commands) -> None:
    summary = "do the tasks of topics until Ctrl-C or SIGTERM, which lets running ones finish"
    example = (
        "dovemq workflow worker app:tasks --topic A --concurrency 4\n"
        "  dovemq workflow worker --command 'A=./unpack --fast'"
    )
    parser = add_server_command(actions, "worker", _run, summary, example)
    text = "module with functions under @task, or MODULE:NAME; also found in this directory"
    parser.add_argument("tasks", nargs="?", metavar="MODULE", help=text)
    text = "topic to serve (default: all that the functions and commands serve)"
    parser.repeated("--topic", "TOPIC", text)
    text = "command line for a topic: JSON of the call on its input, JSON result on its output"
    parser.repeated("--command", "TOPIC=COMMAND", text, pair)
    parser.option("--concurrency", "N", "tasks of each topic at a time (default: 1)", count, 1)
    text = "name of the worker in jobs (default: host and process id)"
    parser.option("--name", "NAME", text)
    text = f"time for running tasks after SIGTERM (default: {GRACE_SECONDS:g})"
    parser.option("--grace-seconds", "N", text, number, int(GRACE_SECONDS))
    group = parser.group("under a manager", "The manager sets these for the workers it starts.")
    text = "record of a manager's workers; the worker ends when no manager keeps it there"
    group.option("--kept-in", "FILE", text, Path)
    text = f"time without a manager after which it ends (default: {UNKEPT_SECONDS:g})"
    group.option("--kept-seconds", "N", text, number, int(UNKEPT_SECONDS))


def _run(args: argparse.Namespace) -> int:
    if args.concurrency > CONCURRENCY_MAX:
        raise WrongUse(f"--concurrency is {args.concurrency}: the most is {CONCURRENCY_MAX}")
    try:
        executions = _executions(args)
    except (TasksInvalid, TaskFailed) as error:
        raise WrongUse(str(error)) from None
    worker = asyncio.run(_worked(args, executions))
    code = print_result(args, worker.counts, _line(worker))
    if worker.counts.given_back:
        # Threads of tasks that were given back would keep the process alive.
        sys.stdout.flush()
        os._exit(code)
    return code


def _executions(args: argparse.Namespace) -> dict[str, Execution]:
    commands = dict(args.command)
    functions = {}
    if args.tasks:
        # As `python -m` does, so that a script beside the shell is found.
        sys.path.insert(0, str(Path.cwd()))
        functions = by_topic(load_tasks(args.tasks))
    for topic in commands:
        if topic in functions:
            raise WrongUse(f"topic {topic}: give a function or a command, not both")
        if not TOPIC_NAME.fullmatch(topic):
            raise WrongUse(f"--command {topic}=…: {topic!r} is no topic")
    topics = args.topic or [*functions, *commands]
    if not topics:
        raise WrongUse("name a module with functions under @task, or give --command")
    found: dict[str, Execution] = {}
    for topic in topics:
        if topic in functions:
            found[topic] = execution_of(functions[topic], args.concurrency)
        elif topic in commands:
            found[topic] = CommandExecution(commands[topic])
        else:
            known = ", ".join([*functions, *commands]) or "none"
            raise WrongUse(f"no function and no command serves the topic {topic}; known: {known}")
    return found


async def _worked(args: argparse.Namespace, executions: dict[str, Execution]) -> TopicWorker:
    name = args.name or f"{socket.gethostname()}-{os.getpid()}"
    target = find_target(args)
    async with target.sqs() as sqs, target.workflows() as workflows:
        worker = TopicWorker(
            sqs,
            workflows,
            executions,
            name=name,
            concurrency=args.concurrency,
            grace_seconds=args.grace_seconds,
            report=_report,
        )
        _report(f"worker {name} serves {', '.join(executions)}")
        async with Progress(lambda: _line(worker)):
            await worker.run(_until_ended(args))
    return worker


async def _until_ended(args: argparse.Namespace) -> None:
    """Waits for a signal, or until no manager keeps the worker any more."""
    ways = [asyncio.ensure_future(until_stopped())]
    if args.kept_in is not None:
        watch = KeeperWatch(args.kept_in, process_id(os.getpid()), args.kept_seconds)
        ways.append(asyncio.ensure_future(_until_abandoned(watch)))
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()


async def _until_abandoned(watch: KeeperWatch) -> None:
    while not watch.abandoned():
        await asyncio.sleep(LOOK_SECONDS)
    _report("no manager keeps this worker any more; it finishes its tasks and ends")


def _line(worker: TopicWorker) -> str:
    counts = worker.counts
    parts = [f"{counts.ended} tasks done", f"{counts.failed} failed"]
    for name in ("unwanted", "given_back"):
        if found := getattr(counts, name):
            parts.append(f"{found} {name.replace('_', ' ')}")
    return ", ".join([*parts, f"{worker.in_hand} running"])


def _report(text: str) -> None:
    print(f"dovemq: {text}", file=sys.stderr, flush=True)
