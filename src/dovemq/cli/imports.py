"""`dovemq import`: queues from an ElasticMQ file, created on a server or written as TOML."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from msgspec import structs

from dovemq.cli.command import FAILED, Commands, add_server_command, read_text
from dovemq.cli.elasticmq import read_elasticmq
from dovemq.cli.output import Progress, print_result
from dovemq.cli.target import find_target
from dovemq.cli.values import existing_file
from dovemq.client import Refused
from dovemq.sqs.declared import DeclaredQueue, write_declared
from dovemq.sqs.declaring import DeclarationResult, declare


def add(commands: Commands) -> None:
    summary = "create the queues that an ElasticMQ configuration file declares"
    example = "dovemq import elasticmq.conf --toml > queues.toml"
    parser = add_server_command(commands, "import", _run, summary, example)
    text = "ElasticMQ configuration file (HOCON)"
    parser.add_argument("file", type=existing_file, metavar="FILE", help=text)
    parser.switch("--toml", "print a file for `dovemq serve --queues`; ask no server")
    parser.switch("--skip-unsupported", "ignore the keys that DoveMQ does not support")


def _run(args: argparse.Namespace) -> int:
    imported = read_elasticmq(read_text(args.file), str(args.file))
    for place in imported.unsupported:
        print(f"dovemq: {args.file}: {place}: not supported", file=sys.stderr)
    if imported.unsupported and not args.skip_unsupported:
        print("dovemq: nothing was done; --skip-unsupported ignores these keys", file=sys.stderr)
        return FAILED
    if args.toml:
        text = write_declared(imported.queues)
        document = {"toml": text, "unsupported": imported.unsupported}
        return print_result(args, document, lambda: print(text, end=""))
    outcome = asyncio.run(_declare(args, imported.queues))
    document = {**structs.asdict(outcome), "unsupported": imported.unsupported}
    lines = [f"{name} created" for name in outcome.created]
    lines += [f"{name} changed" for name in outcome.changed]
    text = "\n".join([*lines, f"{len(outcome.unchanged)} queues unchanged"])
    return print_result(args, document, text)


async def _declare(args: argparse.Namespace, queues: Sequence[DeclaredQueue]) -> DeclarationResult:
    async with find_target(args).sqs() as client, Progress(lambda: "creating queues"):
        return await declare(queues, client, str(args.file), Refused)
