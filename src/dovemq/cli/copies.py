"""`dovemq copy`: the messages of one queue into another, at any two SQS endpoints."""

import argparse
import asyncio
import os
import re
import sys
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
)
from dovemq.cli.output import Progress, print_json
from dovemq.cli.profiles import read_profile
from dovemq.cli.target import find_target
from dovemq.client import SqsClient
from dovemq.client.errors import ClientError
from dovemq.client.moving import MoveOptions, MoveSide, MoveSummary, QueueMover
from dovemq.client.pool import CONNECTIONS_MAX
from dovemq.core.errors import DoveError
from dovemq.server.run import until_stopped

_PACE: Final = MoveOptions()
_SIDES: Final = {"from": "source", "to": "target"}
_AWS_HOST: Final = re.compile(r"sqs\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")


class CopyFailed(DoveError):
    """One of the two sides cannot be used, or was lost on the way."""


class End(Struct, frozen=True):
    """One end of the copy as the command line names it."""

    word: str
    queue: str
    endpoint_url: str | None
    profile: str | None
    data: str | None
    region: str | None
    ca_bundle: str | None

    @classmethod
    def of(cls, args: argparse.Namespace, word: str, queue: str) -> "End":
        given = vars(args)
        options = ("endpoint_url", "profile", "data", "region", "ca_bundle")
        return cls(word, queue, *(given[f"{word}_{option}"] for option in options))

    @property
    def _url(self) -> str | None:
        return self.queue if "://" in self.queue else None

    def client(self) -> SqsClient:
        address = urlsplit(self._url) if self._url else None
        origin = f"{address.scheme}://{address.netloc}" if address else None
        aws = _AWS_HOST.fullmatch(address.hostname or "") if address else None
        named = argparse.Namespace(
            endpoint_url=self.endpoint_url or origin,
            data=self.data,
            port=None,
            admin_url=None,
            profile=self.profile,
            region=self.region or (aws[1] if aws else None),
            ca_bundle=self.ca_bundle,
        )
        target = find_target(named)
        if self.profile:
            token = read_profile(self.profile, os.environ).session_token
        else:
            token = None if self.data else os.environ.get("AWS_SESSION_TOKEN")
        return SqsClient(
            target.endpoint_url,
            target.key,
            region=target.region,
            session_token=token,
            ca_bundle=target.ca_bundle,
        )

    async def side(self, client: SqsClient) -> MoveSide:
        """Known to be there, and to be open to this key."""
        try:
            if self._url:
                await client.attributes(self._url, ["QueueArn"])
            return MoveSide(client, self._url or await client.queue_url(self.queue))
        except ClientError as error:
            raise CopyFailed(f"{_SIDES[self.word]} {self.queue}: {error}") from None


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "copy",
        _run,
        "move the messages of one queue into another, at any two SQS endpoints",
        "dovemq copy http://127.0.0.1:9500/000000000000/jobs jobs --to-data ./data",
    )
    parser.add_argument("source", metavar="SRC", help="name or URL of the queue to drain")
    parser.add_argument("target", metavar="DST", help="name or URL of a queue that exists")
    parser.add_argument(
        "--workers", type=count, default=_PACE.workers, metavar="N", help="requests at a time"
    )
    parser.add_argument(
        "--lease",
        type=count,
        default=_PACE.lease_seconds,
        metavar="SECONDS",
        help="for which a received message is hidden at the source (default: %(default)s)",
    )
    parser.add_argument(
        "--idle",
        type=count,
        default=_PACE.idle_seconds,
        metavar="SECONDS",
        help="give up waiting for messages that others hold after (default: %(default)s)",
    )
    parser.add_argument(
        "--keep-deduplication-ids",
        action="store_true",
        help="FIFO: send under the source's ids; messages that share one are not copied",
    )
    for word, side in _SIDES.items():
        _add_side(parser, word, side)


def _add_side(parser: argparse.ArgumentParser, word: str, side: str) -> None:
    group = parser.add_argument_group(
        side, "Without these: the server of its URL, else as other commands find theirs."
    )
    group.add_argument(f"--{word}-endpoint-url", metavar="URL", help=f"SQS endpoint of the {side}")
    group.add_argument(f"--{word}-profile", metavar="NAME", help="profile of AWS's files")
    group.add_argument(f"--{word}-data", metavar="DIR", help="data directory with its root key")
    group.add_argument(f"--{word}-region", metavar="NAME", help="region of the signatures")
    group.add_argument(
        f"--{word}-ca-bundle", metavar="FILE", help="certificates to trust (AWS_CA_BUNDLE)"
    )


def _run(args: argparse.Namespace) -> int:
    if args.workers > CONNECTIONS_MAX:
        raise WrongUse(f"--workers is at most {CONNECTIONS_MAX}")
    summary = asyncio.run(_copy(args))
    if args.json:
        print_json(summary)
    else:
        print(
            f"{summary.copied} copied, {summary.refused} refused by the target, "
            f"{summary.remaining} remain at the source"
        )
    if summary.stopped:
        return INTERRUPTED
    return FAILED if summary.refused or summary.undeleted or summary.remaining else OK


async def _copy(args: argparse.Namespace) -> MoveSummary:
    source_end = End.of(args, "from", args.source)
    target_end = End.of(args, "to", args.target)
    async with source_end.client() as source_client, target_end.client() as target_client:
        source = await source_end.side(source_client)
        target = await target_end.side(target_client)
        if source.queue == target.queue:
            raise WrongUse("source and target are one queue")
        mover = QueueMover(
            source,
            target,
            _tell,
            pace=MoveOptions(args.workers, args.lease, args.idle),
            keep_ids=args.keep_deduplication_ids,
        )
        return await _until_done(mover)


async def _until_done(mover: QueueMover) -> MoveSummary:
    """The first signal lets the mover finish what it has received."""
    stopped = asyncio.create_task(until_stopped())
    stopped.add_done_callback(lambda task: None if task.cancelled() else mover.stop())
    try:
        async with Progress(lambda: f"{mover.copied} messages copied"):
            return await mover.run()
    except ClientError as error:
        raise CopyFailed(f"after {mover.copied} messages: {error}") from None
    finally:
        stopped.cancel()


def _tell(problem: str) -> None:
    print(f"dovemq: not copied: {problem}", file=sys.stderr)
