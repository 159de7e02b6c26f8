"""`dovemq queue move`, `moves` and `cancel-move`: tasks that move dead letters on the server."""

import argparse
import asyncio
from typing import Final

from dovemq.cli.command import FAILED, OK, Commands, add_queue, add_server_command
from dovemq.cli.output import Columns, Progress, print_records, print_result
from dovemq.cli.target import ask_sqs, find_target
from dovemq.cli.values import count
from dovemq.client import SqsClient
from dovemq.sqs.shapes import MoveTask

POLL_SECONDS: Final = 0.5
_RUNNING: Final = ("RUNNING", "CANCELLING")


def add_moves(actions: Commands) -> None:
    summary = "move all messages of a dead-letter queue back, or to another queue"
    example = "dovemq queue move failed --to jobs --wait"
    parser = add_server_command(actions, "move", _move, summary, example)
    add_queue(parser, "dead-letter queue")
    parser.option("--to", "QUEUE", "target queue (default: the source of each message)")
    parser.option("--rate", "N", "limit of messages per second", count)
    parser.switch("--wait", "wait until all messages are moved")
    summary = "list the move tasks of a queue, newest first"
    parser = add_server_command(actions, "moves", _list, summary, "dovemq queue moves failed")
    add_queue(parser, "dead-letter queue")
    example = "dovemq queue cancel-move HANDLE"
    parser = add_server_command(actions, "cancel-move", _cancel, "stop a move task", example)
    parser.add_argument("handle", help="handle that `dovemq queue move` printed")


def _move(args: argparse.Namespace) -> int:
    return asyncio.run(_start(args))


async def _start(args: argparse.Namespace) -> int:
    async with find_target(args).sqs() as client:
        source = await _arn(client, args.queue)
        target = await _arn(client, args.to) if args.to else None
        handle = await client.start_move(source, target, args.rate)
        task = await _ended(client, source) if args.wait else None
    if task is None:
        return print_result(args, {"TaskHandle": handle}, handle)
    text = f"{task.status.lower()}: {_moved(task)} messages moved"
    return print_result(args, task, text, OK if task.status == "COMPLETED" else FAILED)


async def _ended(client: SqsClient, source: str) -> MoveTask:
    """The newest task once it has ended. This waits without a limit, since queues can be long."""
    task = (await client.moves(source, 1))[0]
    async with Progress(lambda: f"{_moved(task)} messages moved"):
        while task.status in _RUNNING:
            await asyncio.sleep(POLL_SECONDS)
            task = (await client.moves(source, 1))[0]
    return task


def _moved(task: MoveTask) -> int:
    moved = task.approximate_number_of_messages_moved
    return moved if isinstance(moved, int) else 0


async def _arn(client: SqsClient, queue: str) -> str:
    return (await client.attributes(queue, ["QueueArn"]))["QueueArn"]


def _list(args: argparse.Namespace) -> int:
    async def listed(client: SqsClient) -> list[MoveTask]:
        return await client.moves(await _arn(client, args.queue))

    tasks = ask_sqs(args, listed)
    columns: Columns = {
        "STATUS": lambda each: each.status,
        "MOVED": _moved,
        "TO": lambda each: each.destination_arn,
        "REASON": lambda each: each.failure_reason,
    }
    return print_result(args, {"Results": tasks}, lambda: print_records(tasks, columns))


def _cancel(args: argparse.Namespace) -> int:
    moved = ask_sqs(args, lambda client: client.cancel_move(args.handle))
    value = {"ApproximateNumberOfMessagesMoved": moved}
    return print_result(args, value, f"{moved} messages were moved")
