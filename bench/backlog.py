"""A queue that is filled and drained by many connections, up to a million messages and more."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from bench.load import Access, Connection, Load, Signer, settle_one, settle_ten

SIGNED_FOR_SECONDS: Final = 300
"""Signatures are renewed after this long, since a fill may take minutes."""
COUNTED: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class _Attributes(msgspec.Struct):
    Attributes: dict[str, str]


class Backlog:
    """One queue that is kept at a level."""

    def __init__(
        self, access: Access, queue_url: str, body_bytes: int, *, fifo: bool = False
    ) -> None:
        self._access = access
        self._url = queue_url
        self._body_bytes = body_bytes
        self._fifo = fifo
        self._numbers: Iterator[int] = itertools.count()
        self._signed_at = 0.0

    @property
    def load(self) -> Load:
        if time.monotonic() > self._signed_at + SIGNED_FOR_SECONDS:
            self._signed_at = time.monotonic()
            self._load = Load(Signer(self._access), self._url, self._body_bytes)
        return self._load

    async def fill(
        self,
        connections: list[Connection],
        count: int,
        sent: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Send messages in tens; `sent` is called with their number after each ten."""
        left = iter(range(10, count + 10, 10))

        async def work(connection: Connection) -> None:
            for number in left:
                await connection.must(self._send_ten())
                sent(number)

        await asyncio.gather(*map(work, connections))

    def _send_ten(self) -> bytes:
        if not self._fifo:
            return self.load.send_ten
        numbers = [next(self._numbers) for _ in range(10)]
        entries = [
            {
                "Id": str(place),
                "MessageBody": "x" * self._body_bytes,
                "MessageGroupId": f"group-{number}",
                "MessageDeduplicationId": str(number),
            }
            for place, number in enumerate(numbers)
        ]
        return self.load.request("SendMessageBatch", Entries=entries)

    async def drain(self, connections: list[Connection], count: int, *, tens: bool) -> None:
        size = 10 if tens else 1
        left = iter(range(0, count, size))

        async def work(connection: Connection) -> None:
            for _ in left:
                if tens:
                    await settle_ten(connection, self.load)
                else:
                    await settle_one(connection, self.load)

        await asyncio.gather(*map(work, connections))

    def count(self) -> bytes:
        """The request for the counters of the queue."""
        return self.load.request("GetQueueAttributes", AttributeNames=COUNTED)


def counted(answer: bytes) -> int:
    """All messages of the queue, visible or not, from the answer to `Backlog.count`."""
    attributes = msgspec.json.decode(answer, type=_Attributes).Attributes
    return sum(int(attributes[name]) for name in COUNTED)
