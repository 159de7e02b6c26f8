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
    Commands,
    WrongUse,
    add_command,
    count,
    queue,
)
from dovemq.cli.output import Progress, print_result
from dovemq.cli.target import Target, find_target
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
            await client.attributes(url, ["QueueArn"])
        except ClientError as error:
            raise TransferFailed(f"{_SIDES[self.word]} {self.queue}: {error}") from None
        return QueueSide(client, url)


def add(commands: Commands) -> None:
    _add_move(commands)
    _add_copy(commands)


def _add_move(commands: Commands) -> None:
    parser = add_command(
        commands,
        "move",
        _move,
        "move all messages of a queue into another, on any two SQS endpoints",
        "dovemq move http://127.0.0.1:9500/000000000000/jobs jobs --to-data ./data",
    )
    _add_queues(parser, "queue to empty")
    parser.add_argument(
        "--workers",
        type=count,
        default=_OPTIONS.workers,
        metavar="N",
        help="number of concurrent requests (default: %(default)s)",
    )
    parser.add_argument(
        "--lease",
        type=count,
        default=_OPTIONS.lease_seconds,
        metavar="SECONDS",
        help="time for which a received message is hidden at the source (default: %(default)s)",
    )
    parser.add_argument(
        "--idle",
        type=count,
        default=_OPTIONS.idle_seconds,
        metavar="SECONDS",
        help="time to wait for messages that are hidden at the source (default: %(default)s)",
    )
    _add_sides(parser)


def _add_copy(commands: Commands) -> None:
    parser = add_command(
        commands,
        "copy",
        _copy,
        "copy the messages of a queue into another and leave the source as it is",
        "dovemq copy jobs jobs-test --max 100",
    )
    _add_queues(parser, "queue of a DoveMQ server to copy from")
    parser.add_argument(
        "--max",
        type=count,
        default=COPIED_MAX,
        metavar="N",
        help="number of messages, the oldest first (default: %(default)s)",
    )
    _add_sides(parser)
    group = parser.add_argument_group("admin API of the source")
    group.add_argument(
        "--from-admin-url", metavar="URL", help="admin API of the source (default: the next port)"
    )


def _add_queues(parser: argparse.ArgumentParser, source: str) -> None:
    forms = "NAME, ACCOUNT/NAME or URL"
    parser.add_argument("source", type=queue, metavar="SOURCE", help=f"{source}: {forms}")
    parser.add_argument(
        "target", type=queue, metavar="TARGET", help=f"existing queue to fill: {forms}"
    )
    parser.add_argument(
        "--keep-deduplication-ids",
        action="store_true",
        help="FIFO: keep the deduplication ids; messages that share one are refused",
    )


def _add_sides(parser: argparse.ArgumentParser) -> None:
    for word, side in _SIDES.items():
        group = parser.add_argument_group(
            side, "Default: the server of the URL, else the server that other commands use."
        )
        group.add_argument(
            f"--{word}-endpoint-url", metavar="URL", help=f"SQS endpoint of the {side}"
        )
        group.add_argument(
            f"--{word}-profile", metavar="NAME", help="profile with the access key in ~/.aws"
        )
        group.add_argument(
            f"--{word}-data", metavar="DIR", help="data directory of a server on this machine"
        )
        group.add_argument(f"--{word}-region", metavar="NAME", help="region for signatures")
        group.add_argument(
            f"--{word}-ca-bundle", metavar="FILE", help="trusted certificates (AWS_CA_BUNDLE)"
        )


def _move(args: argparse.Namespace) -> int:
    if args.workers > CONNECTIONS_MAX:
        raise WrongUse(f"--workers is at most {CONNECTIONS_MAX}")
    summary = asyncio.run(_moved(args))
    print_result(
        args,
        summary,
        f"{summary.moved} moved, {summary.refused} refused by the target, "
        f"{summary.remaining} remain at the source",
    )
    if summary.stopped:
        return INTERRUPTED
    return FAILED if summary.refused or summary.undeleted or summary.remaining else OK


async def _moved(args: argparse.Namespace) -> MoveSummary:
    source_end = TransferEnd.of(args, "from", args.source)
    target_end = TransferEnd.of(args, "to", args.target)
    async with source_end.target.sqs() as source_client, target_end.target.sqs() as target_client:
        source = await source_end.side(source_client)
        target = await target_end.side(target_client)
        _check_distinct(source, target)
        mover = QueueMover(
            source,
            target,
            _report,
            options=MoveOptions(args.workers, args.lease, args.idle),
            keep_ids=args.keep_deduplication_ids,
        )
        async with _stoppable(mover, lambda: f"{mover.moved} messages moved"):
            return await mover.run()


def _copy(args: argparse.Namespace) -> int:
    summary = asyncio.run(_copied(args))
    print_result(
        args,
        summary,
        f"{summary.copied} copied, {summary.refused} refused by the target, "
        f"{summary.left} left out",
    )
    if summary.stopped:
        return INTERRUPTED
    return FAILED if summary.refused or summary.left else OK


async def _copied(args: argparse.Namespace) -> CopySummary:
    source_end = TransferEnd.of(args, "from", args.source)
    target_end = TransferEnd.of(args, "to", args.target)
    async with (
        source_end.target.sqs() as source_client,
        source_end.target.admin() as admin,
        target_end.target.sqs() as target_client,
    ):
        source = await source_end.side(source_client)
        target = await target_end.side(target_client)
        _check_distinct(source, target)
        account, name = source.queue.split("/")[-2:]
        copier = QueueCopier(
            admin,
            account,
            name,
            target,
            _report,
            count_max=args.max,
            keep_ids=args.keep_deduplication_ids,
        )
        async with _stoppable(copier, lambda: f"{copier.copied} messages copied"):
            return await copier.run()


def _check_distinct(source: QueueSide, target: QueueSide) -> None:
    if source.queue == target.queue:
        raise WrongUse("source and target are the same queue")


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
