"""Clients of a real server that keep a ledger until the server goes away."""

import asyncio
import itertools
import random
from collections.abc import Iterator
from typing import Final

from dovemq.client import SqsClient
from dovemq.client.errors import ClientError
from dovemq.sqs.shapes import SendEntry, SendMessageRequest
from dovemq.testing.local_server import LocalServer
from tests.faults.ledger import SENDING, SENT, SETTLED, SETTLING, Ledger, body_of, name_in

PLAIN: Final = "plain"
ORDERED: Final = "ordered.fifo"
_GROUPS: Final = 4
_LEASE_SECONDS: Final = 600
_COUNTERS: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def client_of(server: LocalServer) -> SqsClient:
    return SqsClient(server.endpoint_url, server.access_key, region=server.region)


class Traffic:
    """Workers that send, receive and settle; names go on over restarts of the server."""

    def __init__(self, ledger: Ledger, seed: int) -> None:
        self._ledger = ledger
        self._rng = random.Random(seed)
        self._numbers: Iterator[int] = itertools.count()
        self._answered = 0
        self._enough = 0
        self._reached = asyncio.Event()

    async def run(self, server: LocalServer, workers: int, answers: int) -> None:
        """Load the server and kill it once so many requests were answered."""
        self._enough = self._answered + answers
        self._reached.clear()
        async with client_of(server) as client:
            await self._queues(client)
            # One worker per FIFO queue's group, so that the order of sends is known.
            work = [
                asyncio.create_task(self._work(client, f"g{number}" if number < _GROUPS else None))
                for number in range(workers)
            ]
            await self._reached.wait()
            server.kill()
            await asyncio.gather(*work)

    async def _queues(self, client: SqsClient) -> None:
        await client.create_queue(PLAIN, {}, {})
        await client.create_queue(ORDERED, {"FifoQueue": "true"}, {})

    async def _work(self, client: SqsClient, group: str | None) -> None:
        queue = ORDERED if group else PLAIN
        try:
            while True:
                if self._rng.random() < 0.6:
                    await self._send(client, queue, group)
                else:
                    await self._receive(client, queue)
        except ClientError:
            return

    async def _send(self, client: SqsClient, queue: str, group: str | None) -> None:
        names = [
            f"{group or 'm'}.{next(self._numbers)}" for _ in range(self._rng.choice((1, 1, 10)))
        ]
        self._ledger.note(SENDING, names)
        if len(names) == 1:
            message = SendMessageRequest(
                queue_url=queue,
                message_body=body_of(names[0]),
                message_group_id=group,
                message_deduplication_id=names[0] if group else None,
            )
            await client.send(queue, message)
        else:
            entries = [
                SendEntry(
                    id=str(number),
                    message_body=body_of(name),
                    message_group_id=group,
                    message_deduplication_id=name if group else None,
                )
                for number, name in enumerate(names)
            ]
            answer = await client.send_batch(queue, entries)
            names = [names[int(done.id)] for done in answer.successful]
        self._ledger.note(SENT, names)
        self._count()

    async def _receive(self, client: SqsClient, queue: str) -> None:
        count = self._rng.choice((1, 10))
        messages = await client.receive(queue, count, lease_seconds=_LEASE_SECONDS)
        self._count()
        if not messages or self._rng.random() < 0.2:
            return
        names = [name_in(message.body) for message in messages]
        self._ledger.note(SETTLING, names)
        receipts = [message.receipt_handle for message in messages]
        answer = await client.settle_batch(queue, receipts)
        self._ledger.note(SETTLED, [names[int(done.id)] for done in answer.successful])
        self._count()

    def _count(self) -> None:
        self._answered += 1
        if self._answered >= self._enough:
            self._reached.set()


async def counted(server: LocalServer) -> int:
    """The number of messages that the server reports."""
    total = 0
    async with client_of(server) as client:
        for queue in (PLAIN, ORDERED):
            attributes = await client.attributes(queue, _COUNTERS)
            total += sum(int(attributes[name]) for name in _COUNTERS)
    return total
