"""The heartbeat of a lease: it is renewed while a long job runs.

    async with kept_lease(client, queue, message.receipt_handle, lease_seconds=30) as keeper:
        await work()          # keeper.lost tells whether somebody else may have the message
    await client.settle(queue, message.receipt_handle)

If the process dies, the lease ends soon, and the message is delivered again.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from dovemq.client.errors import ClientError, Refused
from dovemq.client.retrying import is_transient
from dovemq.client.sqs import SqsClient

BEATS: Final = 3
"""Renewals in the time of one lease, so that two may fail."""
BEAT_SECONDS_MIN: Final = 0.2

Extend = Callable[[str, str, int], Awaitable[None]]


class LeaseKeeper:
    """Renews one lease from `start` to `stop`."""

    def __init__(self, extend: Extend, queue: str, receipt: str, lease_seconds: int) -> None:
        self.lost = False
        """Whether the lease could not be kept: another receive may have the message."""
        self._extend = extend
        self._queue = queue
        self._receipt = receipt
        self._lease_seconds = lease_seconds
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._beat())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._lease_seconds
        while not self.lost:
            await asyncio.sleep(max(BEAT_SECONDS_MIN, self._lease_seconds / BEATS))
            asked = loop.time()
            try:
                await self._extend(self._queue, self._receipt, self._lease_seconds)
                until = asked + self._lease_seconds
            except ClientError as error:
                refused = isinstance(error, Refused) and not is_transient(error)
                self.lost = refused or loop.time() > until


@contextlib.asynccontextmanager
async def kept_lease(
    client: SqsClient, queue: str, receipt: str, lease_seconds: int
) -> AsyncIterator[LeaseKeeper]:
    """Renew the lease of a message while the block runs, however long that is."""
    keeper = LeaseKeeper(client.extend, queue, receipt, lease_seconds)
    await keeper.start()
    try:
        yield keeper
    finally:
        await keeper.stop()
