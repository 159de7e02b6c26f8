"""`dovemq import`: queues from an ElasticMQ file, created on a server or written as TOML."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dovemq.cli.command import FAILED, OK, Commands, add_server_command, add_switch, existing_file
from dovemq.cli.elasticmq import Imported, read_elasticmq
from dovemq.cli.output import Progress, print_json
from dovemq.cli.target import find_target
from dovemq.client import Refused
from dovemq.settings import DeclarationInvalid
from dovemq.sqs.declared import DeclaredQueue, write_declared
from dovemq.sqs.declaring import DeclarationResult, declare

FILE_BYTES_MAX: Final = 1 << 20


def add(commands: Commands) -> None:
    summary = "create the queues that an ElasticMQ configuration file declares"
    example = "dovemq import elasticmq.conf --toml > queues.toml"
    parser = add_server_command(commands, "import", _run, summary, example)
    text = "ElasticMQ configuration file (HOCON)"
    parser.add_argument("file", type=existing_file, metavar="FILE", help=text)
    add_switch(parser, "--toml", "print a file for `dovemq serve --queues`; ask no server")
    add_switch(parser, "--skip-unsupported", "ignore the keys that DoveMQ does not support")


def _run(args: argparse.Namespace) -> int:
    imported = read_elasticmq(_read(args.file), str(args.file))
    for place in imported.unsupported:
        print(f"dovemq: {args.file}: {place}: not supported", file=sys.stderr)
    if imported.unsupported and not args.skip_unsupported:
        print("dovemq: nothing was done; --skip-unsupported ignores these keys", file=sys.stderr)
        return FAILED
    if args.toml:
        return _print_toml(args, imported)
    outcome = asyncio.run(_declare(args, imported.queues))
    if args.json:
        print_json(_summary(outcome, imported))
    else:
        for what, names in (("created", outcome.created), ("changed", outcome.changed)):
            for name in names:
                print(f"{name} {what}")
        print(f"{len(outcome.unchanged)} queues unchanged")
    return OK


def _print_toml(args: argparse.Namespace, imported: Imported) -> int:
    text = write_declared(imported.queues)
    if args.json:
        print_json({"toml": text, "unsupported": imported.unsupported})
    else:
        print(text, end="")
    return OK


def _summary(outcome: DeclarationResult, imported: Imported) -> dict[str, list[str]]:
    return {
        "created": outcome.created,
        "changed": outcome.changed,
        "unchanged": outcome.unchanged,
        "unsupported": imported.unsupported,
    }


async def _declare(args: argparse.Namespace, queues: Sequence[DeclaredQueue]) -> DeclarationResult:
    async with find_target(args).sqs() as client, Progress(lambda: "creating queues"):
        return await declare(queues, client, str(args.file), Refused)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_BYTES_MAX + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DeclarationInvalid(str(path), f"cannot be read: {error}") from None
    if len(data) > FILE_BYTES_MAX:
        raise DeclarationInvalid(str(path), f"longer than {FILE_BYTES_MAX} bytes")
    return text
