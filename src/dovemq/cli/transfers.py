"""`dovemq move` and `dovemq copy`: messages from one queue into another, on any two servers."""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Final

from dovemq.cli.command import (
    FAILED,
    INTERRUPTED,
    OK,
    CommandParser,
    Commands,
    WrongUse,
    add_command,
)
from dovemq.cli.output import print_result
from dovemq.cli.relocations import move_all
from dovemq.cli.transfer_ends import SIDES, TransferEnd, add_side, stoppable
from dovemq.cli.values import count, queue
from dovemq.client.copying import CopySummary, QueueCopier
from dovemq.client.delivering import QueueSide
from dovemq.client.moving import MoveOptions, MoveSummary, QueueMover
from dovemq.client.pool import CONNECTIONS_MAX

COPIED_MAX: Final = 10_000
_OPTIONS: Final = MoveOptions()


def add(commands: Commands) -> None:
    summary = "move all messages of a queue into another, or all queues to another server"
    example = "dovemq move --all --from-data ./old --to-data ./new"
    parser = add_command(commands, "move", _move, summary, example)
    _add_queues(parser, "queue to empty", nargs="?")
    text = "move all queues of the account, and create those that the target lacks"
    parser.switch("--all", text)
    workers, lease, idle = _OPTIONS.workers, _OPTIONS.lease_seconds, _OPTIONS.idle_seconds
    parser.option("--workers", "N", "number of concurrent requests of a queue", count, workers)
    text = "time for which a received message is hidden at the source"
    parser.option("--lease", "SECONDS", text, count, lease)
    text = "time to wait for messages that are hidden at the source"
    parser.option("--idle", "SECONDS", text, count, idle)
    for word, side in SIDES.items():
        add_side(parser, word, side)
    summary = "copy the messages of a queue into another and leave the source as it is"
    parser = add_command(commands, "copy", _copy, summary, "dovemq copy jobs jobs-test --max 100")
    _add_queues(parser, "queue of a DoveMQ server to copy from")
    parser.option("--max", "N", "number of messages, the oldest first", count, COPIED_MAX)
    group = add_side(parser, "from", "source")
    group.option("--from-admin-url", "URL", "admin API (default: the next port)")
    add_side(parser, "to", "target")


def _add_queues(parser: CommandParser, source: str, nargs: str | None = None) -> None:
    forms = "NAME, ACCOUNT/NAME or URL"
    for name, text in (("source", source), ("target", "queue to fill")):
        parser.add_argument(
            name, nargs=nargs, type=queue, metavar=name.upper(), help=f"{text}: {forms}"
        )
    text = "FIFO: keep the deduplication ids; messages that share one are refused"
    parser.switch("--keep-deduplication-ids", text)


def _move(args: argparse.Namespace) -> int:
    if args.workers > CONNECTIONS_MAX:
        raise WrongUse(f"--workers is at most {CONNECTIONS_MAX}")
    options = MoveOptions(args.workers, args.lease, args.idle)
    if args.all and args.source:
        raise WrongUse("--all moves all queues: leave SOURCE and TARGET out, or leave --all out")
    if args.all:
        return move_all(args, options)
    if args.target is None:
        raise WrongUse("name the queues SOURCE and TARGET, or give --all")
    done = asyncio.run(_moved(args, options))
    counts = f"{done.moved} moved, {done.refused} refused by the target"
    failed = done.refused or done.undeleted or done.remaining
    code = INTERRUPTED if done.stopped else FAILED if failed else OK
    return print_result(args, done, f"{counts}, {done.remaining} remain at the source", code)


async def _moved(args: argparse.Namespace, options: MoveOptions) -> MoveSummary:
    async with _ends(args) as (_, source, target):
        ids = args.keep_deduplication_ids
        mover = QueueMover(source, target, _report, options=options, keep_ids=ids)
        async with stoppable(mover, lambda: f"{mover.moved} messages moved"):
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
        async with stoppable(copier, lambda: f"{copier.copied} messages copied"):
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


def _report(problem: str) -> None:
    print(f"dovemq: refused by the target: {problem}", file=sys.stderr)
