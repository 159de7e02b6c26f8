"""`dovemq move` and `dovemq copy`: the messages of one queue into another, on any two servers."""

import argparse
import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator, Callable
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from dovemq.cli.command import (
    FAILED,
    INTERRUPTED,
    OK,
    CommandParser,
    Commands,
    OptionGroup,
    WrongUse,
    add_command,
)
from dovemq.cli.output import Progress, print_result
from dovemq.cli.target import Target, find_target
from dovemq.cli.values import count, queue
from dovemq.client import SqsClient
from dovemq.client.copying import CopySummary, QueueCopier
from dovemq.client.delivering import QueueSide
from dovemq.client.errors import ClientError
from dovemq.client.moving import MoveOptions, MoveSummary, QueueMover
from dovemq.client.pool import CONNECTIONS_MAX
from dovemq.core.errors import DoveError
from dovemq.server.run import until_stopped

COPIED_MAX: Final = 10_000
_OPTIONS: Final = MoveOptions()
_SIDES: Final = {"from": "source", "to": "target"}
_SIDE_OPTIONS: Final = ("endpoint_url", "admin_url", "profile", "data", "region", "ca_bundle")
_AWS_HOST: Final = re.compile(r"sqs\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")


class TransferFailed(DoveError):
    """The source or the target cannot be used, or was lost on the way."""


class TransferEnd(Struct, frozen=True):
    """The source or the target as the command line names it; `word` is `from` or `to`."""

    word: str
    queue: str
    target: Target

    @classmethod
    def of(cls, args: argparse.Namespace, word: str, queue: str) -> "TransferEnd":
        given = {name: vars(args).get(f"{word}_{name}") for name in _SIDE_OPTIONS}
        if "://" in queue:
            address = urlsplit(queue)
            aws = _AWS_HOST.fullmatch(address.hostname or "")
            given["endpoint_url"] = given["endpoint_url"] or f"{address.scheme}://{address.netloc}"
            given["region"] = given["region"] or (aws[1] if aws else None)
        return cls(word, queue, find_target(argparse.Namespace(**given, port=None)))

    async def side(self, client: SqsClient) -> QueueSide:
        """The queue, which exists and is open to this key."""
        try:
            url = await client.queue_url(self.queue)
            if "/" in self.queue:
                # The URL was not looked up, so nothing has shown yet that the queue exists.
                await client.attributes(url, ["QueueArn"])
        except ClientError as error:
            raise TransferFailed(f"{_SIDES[self.word]} {self.queue}: {error}") from None
        return QueueSide(client, url)


def add(commands: Commands) -> None:
    summary = "move all messages of a queue into another, on any two SQS endpoints"
    example = "dovemq move http://127.0.0.1:9500/000000000000/jobs jobs --to-data ./data"
    parser = add_command(commands, "move", _move, summary, example)
    _add_queues(parser, "queue to empty")
    workers, lease, idle = _OPTIONS.workers, _OPTIONS.lease_seconds, _OPTIONS.idle_seconds
    parser.option("--workers", "N", "number of concurrent requests", count, workers)
    text = "time for which a received message is hidden at the source"
    parser.option("--lease", "SECONDS", text, count, lease)
    text = "time to wait for messages that are hidden at the source"
    parser.option("--idle", "SECONDS", text, count, idle)
    for word, side in _SIDES.items():
        _add_side(parser, word, side)
    summary = "copy the messages of a queue into another and leave the source as it is"
    parser = add_command(commands, "copy", _copy, summary, "dovemq copy jobs jobs-test --max 100")
    _add_queues(parser, "queue of a DoveMQ server to copy from")
    parser.option("--max", "N", "number of messages, the oldest first", count, COPIED_MAX)
    group = _add_side(parser, "from", "source")
    group.option("--from-admin-url", "URL", "admin API (default: the next port)")
    _add_side(parser, "to", "target")


def _add_queues(parser: CommandParser, source: str) -> None:
    forms = "NAME, ACCOUNT/NAME or URL"
    parser.add_argument("source", type=queue, metavar="SOURCE", help=f"{source}: {forms}")
    parser.add_argument("target", type=queue, metavar="TARGET", help=f"queue to fill: {forms}")
    text = "FIFO: keep the deduplication ids; messages that share one are refused"
    parser.switch("--keep-deduplication-ids", text)


def _add_side(parser: CommandParser, word: str, side: str) -> OptionGroup:
    group = parser.group(
        side, "Default: the server of the URL, else the server that other commands use."
    )
    group.option(f"--{word}-endpoint-url", "URL", "SQS endpoint")
    group.option(f"--{word}-profile", "NAME", "profile with the access key in ~/.aws")
    group.option(f"--{word}-data", "DIR", "data directory of a server on this machine")
    group.option(f"--{word}-region", "NAME", "region for signatures")
    group.option(f"--{word}-ca-bundle", "FILE", "trusted certificates (AWS_CA_BUNDLE)")
    return group


def _move(args: argparse.Namespace) -> int:
    if args.workers > CONNECTIONS_MAX:
        raise WrongUse(f"--workers is at most {CONNECTIONS_MAX}")
    done = asyncio.run(_moved(args))
    counts = f"{done.moved} moved, {done.refused} refused by the target"
    failed = done.refused or done.undeleted or done.remaining
    code = INTERRUPTED if done.stopped else FAILED if failed else OK
    return print_result(args, done, f"{counts}, {done.remaining} remain at the source", code)


async def _moved(args: argparse.Namespace) -> MoveSummary:
    async with _ends(args) as (_, source, target):
        options = MoveOptions(args.workers, args.lease, args.idle)
        ids = args.keep_deduplication_ids
        mover = QueueMover(source, target, _report, options=options, keep_ids=ids)
        async with _stoppable(mover, lambda: f"{mover.moved} messages moved"):
            return await mover.run()


def _copy(args: argparse.Namespace) -> int:
    done = asyncio.run(_copied(args))
    counts = f"{done.copied} copied, {done.refused} refused by the target"
    code = INTERRUPTED if done.stopped else FAILED if done.refused or done.left else OK
    return print_result(args, done, f"{counts}, {done.left} left out", code)


async def _copied(args: argparse.Namespace) -> CopySummary:
    async with _ends(args) as (end, source, target), end.target.admin() as admin:
        account, name = source.queue.split("/")[-2:]
        ids = args.keep_deduplication_ids
        copier = QueueCopier(
            admin, account, name, target, _report, count_max=args.max, keep_ids=ids
        )
        async with _stoppable(copier, lambda: f"{copier.copied} messages copied"):
            return await copier.run()


@contextlib.asynccontextmanager
async def _ends(
    args: argparse.Namespace,
) -> AsyncIterator[tuple[TransferEnd, QueueSide, QueueSide]]:
    """The source as the command line names it, and both queues, which exist and differ."""
    source = TransferEnd.of(args, "from", args.source)
    target = TransferEnd.of(args, "to", args.target)
    async with source.target.sqs() as source_client, target.target.sqs() as target_client:
        sides = await source.side(source_client), await target.side(target_client)
        if sides[0].queue == sides[1].queue:
            raise WrongUse("source and target are the same queue")
        yield source, *sides


@contextlib.asynccontextmanager
async def _stoppable(
    worker: QueueMover | QueueCopier, progress: Callable[[], str]
) -> AsyncIterator[None]:
    """Show progress. The first signal lets the worker finish the messages that it has started."""
    stopped = asyncio.create_task(until_stopped())
    stopped.add_done_callback(lambda task: None if task.cancelled() else worker.stop())
    try:
        async with Progress(progress):
            yield
    except ClientError as error:
        raise TransferFailed(f"{progress()}, then: {error}") from None
    finally:
        stopped.cancel()


def _report(problem: str) -> None:
    print(f"dovemq: refused by the target: {problem}", file=sys.stderr)
