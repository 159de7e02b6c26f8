"""`dovemq move --all`: all queues of an account with their messages, from one server to another."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from dovemq.cli.command import FAILED, INTERRUPTED, OK, WrongUse
from dovemq.cli.output import Columns, print_records, print_result
from dovemq.cli.transfer_ends import TransferEnd, stoppable
from dovemq.client.moving import MoveOptions
from dovemq.client.relocation import AccountMover, QueueOutcome


def move_all(args: argparse.Namespace, options: MoveOptions) -> int:
    outcomes, stopped = asyncio.run(_moved(args, options))
    document = {"queues": outcomes, "stopped": stopped}
    code = INTERRUPTED if stopped else OK if all(each.done for each in outcomes) else FAILED
    return print_result(args, document, lambda: _print(outcomes), code)


async def _moved(args: argparse.Namespace, options: MoveOptions) -> tuple[list[QueueOutcome], bool]:
    source, target = TransferEnd.of(args, "from"), TransferEnd.of(args, "to")
    if source.target.endpoint_url == target.target.endpoint_url:
        raise WrongUse(
            f"source and target are the same server, {source.target.endpoint_url}: choose them by "
            "--from-data or --from-endpoint-url and by --to-data or --to-endpoint-url"
        )
    async with source.target.sqs() as source_client, target.target.sqs() as target_client:
        ids = args.keep_deduplication_ids
        mover = AccountMover(source_client, target_client, _report, options=options, keep_ids=ids)
        async with stoppable(mover, lambda: mover.progress):
            return await mover.run(), mover.stopped


def _report(line: str) -> None:
    print(f"dovemq: {line}", file=sys.stderr)


def _print(outcomes: Sequence[QueueOutcome]) -> None:
    columns: Columns = {
        "QUEUE": lambda each: each.queue,
        "AT THE TARGET": lambda each: "created" if each.created else "existed",
        "MOVED": lambda each: each.moved,
        "REFUSED": lambda each: each.refused,
        "REMAIN": lambda each: each.remaining,
    }
    if outcomes:
        print_records(outcomes, columns)
        print()
    created = sum(each.created for each in outcomes)
    moved = sum(each.moved for each in outcomes)
    left = sum(each.remaining for each in outcomes)
    print(
        f"{len(outcomes)} queues, {created} of them created; {moved} messages moved, "
        f"{left} remain at the source"
    )
