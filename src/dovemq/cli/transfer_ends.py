"""The two ends of `dovemq move` and `dovemq copy`, and the work between them until a signal."""

import argparse
import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from typing import Final, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from dovemq.cli.command import CommandParser, OptionGroup
from dovemq.cli.output import Progress
from dovemq.cli.target import Target, find_target
from dovemq.client import SqsClient
from dovemq.client.delivering import QueueSide
from dovemq.client.errors import ClientError
from dovemq.core.errors import DoveError
from dovemq.server.run import until_stopped

SIDES: Final = {"from": "source", "to": "target"}
_SIDE_OPTIONS: Final = ("endpoint_url", "admin_url", "profile", "data", "region", "ca_bundle")
_AWS_HOST: Final = re.compile(r"sqs\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")


class TransferFailed(DoveError):
    """The source or the target cannot be used, or was lost on the way."""


class TransferEnd(Struct, frozen=True):
    """The source or the target as the command line names it; `word` is `from` or `to`."""

    word: str
    queue: str
    """Empty if all queues are meant."""
    target: Target

    @classmethod
    def of(cls, args: argparse.Namespace, word: str, queue: str = "") -> "TransferEnd":
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
            raise TransferFailed(f"{SIDES[self.word]} {self.queue}: {error}") from None
        return QueueSide(client, url)


class Stoppable(Protocol):
    """Work that finishes what it has started when it is stopped."""

    def stop(self) -> None: ...


def add_side(parser: CommandParser, word: str, side: str) -> OptionGroup:
    group = parser.group(
        side, "Default: the server of the URL, else the server that other commands use."
    )
    group.option(f"--{word}-endpoint-url", "URL", "SQS endpoint")
    group.option(f"--{word}-profile", "NAME", "profile with the access key in ~/.aws")
    group.option(f"--{word}-data", "DIR", "data directory of a server on this machine")
    group.option(f"--{word}-region", "NAME", "region for signatures")
    group.option(f"--{word}-ca-bundle", "FILE", "trusted certificates (AWS_CA_BUNDLE)")
    return group


@contextlib.asynccontextmanager
async def stoppable(worker: Stoppable, progress: Callable[[], str]) -> AsyncIterator[None]:
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
