"""From the queue into staging, and out of both once Spark is done.

An epoch is one micro-batch: a file of messages whose leases are extended until it is finished.
One is staged at a time: the next is received when Spark is done with the last. What comes twice
into an epoch is in it once, with the newer receipt. A message whose receipt no longer settles it
is owed: when it comes back it is settled, and not staged again. So every message is in exactly
one epoch, however often the queue delivers it.

All of it runs on one event loop. Settling and extending may be repeated; a lost answer to a
receive costs the wait for its lease's end.
"""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from dovemq.client.errors import ClientError
from dovemq.client.patience import Pause, patiently
from dovemq.client.sqs import SqsClient
from dovemq.core import limits
from dovemq.pipeline.source.columns import received_batch
from dovemq.pipeline.source.errors import StagingStrange
from dovemq.pipeline.source.options import Pace
from dovemq.pipeline.source.staging import EpochWriter, Staging
from dovemq.sqs.shapes import BatchResponse, ReceivedMessage

ROWS_MAX: Final = 1_000
"""Of a record batch: the smallest part of an epoch that one task reads."""
REQUESTS_MAX: Final = 16
"""Settles or extensions at the same time."""
SETTLE_ROUNDS_MAX: Final = 3
GATHER_SECONDS_MAX: Final = 10.0
_VISIBLE: Final = "ApproximateNumberOfMessages"

T = TypeVar("T")


class Intake:
    def __init__(
        self,
        client: SqsClient,
        queue_url: str,
        staging: Staging,
        pace: Pace,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._client = client
        self._queue_url = queue_url
        self._staging = staging
        self._pace = pace
        self._pause = pause
        self._requests = asyncio.Semaphore(REQUESTS_MAX)
        self._allowed: int | None = None

    @property
    def settled(self) -> int:
        return self._staging.state.settled

    @property
    def last(self) -> int:
        return self._staging.last

    async def allow_present(self) -> None:
        """From now on no more is received than what is visible now."""
        ask = self._client.attributes
        told = await patiently(lambda: ask(self._queue_url, [_VISIBLE]), self._pause)
        self._allowed = int(told.get(_VISIBLE, "0"))

    async def offer(self, start: int, count_max: int) -> int:
        """The epoch that follows `start`, or `start` itself; all up to `start` is settled first.

        One that is staged already is offered again: whoever staged it did not live to read it.
        """
        self._check_known(start)
        await self.finish(start)
        if self.last > start:
            return start + 1
        return start + 1 if await self._gather(start + 1, count_max) else start

    async def finish(self, epoch: int) -> None:
        """Settles all epochs up to that one and removes their files."""
        for each in sorted(self._staging.receipts):
            if each <= epoch:
                left = await self._settle(self._staging.receipts[each])
                self._staging.forget(each, owed=frozenset(left))

    async def beat(self) -> int:
        """Extends the leases of all that is staged; how many still had one."""
        receipts = [
            receipt for epoch in self._staging.receipts.values() for receipt in epoch.values()
        ]
        kept = await asyncio.gather(*(self._extend(part) for part in _tens(receipts)))
        return sum(kept)

    async def keep_leases(self) -> None:
        """Until it is cancelled. A beat that fails is followed by another."""
        while True:
            await self._pause(self._pace.heartbeat_seconds)
            try:
                await self.beat()
            except ClientError:
                # The leases may end: their messages come back, and are known.
                continue

    def _check_known(self, start: int) -> None:
        settled, last = self._staging.state.settled, self._staging.last
        if not settled <= start <= last:
            found = f"it is at epoch {last}, settled up to {settled}; the checkpoint is at {start}"
            raise StagingStrange(self._staging.folder, found)

    async def _gather(self, epoch: int, count_max: int) -> bool:
        if self._allowed is not None:
            count_max = min(count_max, self._allowed)
        if count_max < 1:
            return False
        harvest = Harvest(self._staging, self._staging.write(epoch, self._pace.slices), count_max)
        try:
            await self._receive(harvest)
            await self._settle_owed(harvest.owed)
        except BaseException:
            harvest.writer.discard()
            raise
        if not harvest.count:
            harvest.writer.discard()
            return False
        harvest.write()
        harvest.writer.publish()
        if self._allowed is not None:
            self._allowed -= harvest.count
        return True

    async def _receive(self, harvest: "Harvest") -> None:
        """What was received before a failure is kept; the failure will be met again."""
        seconds = min(GATHER_SECONDS_MAX, self._pace.lease_seconds / 2)
        deadline = asyncio.get_running_loop().time() + seconds
        draws = [self._draw(harvest, deadline) for _ in range(self._pace.receivers)]
        for failure in await asyncio.gather(*draws, return_exceptions=True):
            if isinstance(failure, ClientError) and harvest.count:
                continue
            if failure is not None:
                raise failure

    async def _draw(self, harvest: "Harvest", deadline: float) -> None:
        """Receives until the queue is empty, or enough is there, or it took long enough."""
        now = asyncio.get_running_loop().time
        while now() < deadline and harvest.bytes < self._pace.bytes_max:
            asked = harvest.reserve(limits.RECEIVE_COUNT.most)
            if not asked:
                return
            # Only an empty epoch waits for messages; one that has some goes to Spark.
            wait = 0 if harvest.count else self._pace.wait_seconds
            messages = await patiently(partial(self._ask, asked, wait), self._pause)
            harvest.take(messages, asked)
            if not messages:
                return

    def _ask(self, count_max: int, wait_seconds: int) -> Awaitable[list[ReceivedMessage]]:
        return self._client.receive(
            self._queue_url,
            count_max,
            wait_seconds=wait_seconds,
            lease_seconds=self._pace.lease_seconds,
        )

    async def _settle_owed(self, owed: Mapping[str, str]) -> None:
        if owed:
            left = await self._settle(owed)
            self._staging.pay(frozenset(owed).difference(left))

    async def _settle(self, receipts: Mapping[str, str]) -> list[str]:
        """The ids of those that stay in the queue."""
        left = list(receipts)
        for _ in range(SETTLE_ROUNDS_MAX):
            tens = list(_tens(left))
            answers = await asyncio.gather(
                *(self._settle_ten([receipts[each] for each in ten]) for ten in tens)
            )
            failures = [
                (ten[int(failed.id)], failed.sender_fault)
                for ten, answer in zip(tens, answers, strict=True)
                for failed in answer.failed
            ]
            left = [message_id for message_id, _ in failures]
            if all(final for _, final in failures):
                break
        return left

    async def _settle_ten(self, receipts: Sequence[str]) -> BatchResponse:
        async with self._requests:
            ask = self._client.settle_batch
            return await patiently(lambda: ask(self._queue_url, receipts), self._pause)

    async def _extend(self, receipts: Sequence[str]) -> int:
        async with self._requests:
            answer = await self._client.extend_batch(
                self._queue_url, receipts, self._pace.lease_seconds
            )
        return len(answer.successful)


class Harvest:
    """What one epoch has received so far; rows wait until they fill a record batch."""

    def __init__(self, staging: Staging, writer: EpochWriter, count_max: int) -> None:
        self.writer = writer
        self.count = 0
        self.bytes = 0
        self.owed: dict[str, str] = {}
        self._staging = staging
        self._fresh: dict[str, ReceivedMessage] = {}
        self._room = count_max

    def reserve(self, most: int) -> int:
        asked = min(most, self._room)
        self._room -= asked
        return asked

    def take(self, messages: Sequence[ReceivedMessage], asked: int) -> None:
        self._room += asked
        for message in messages:
            if self._is_new(message):
                self._fresh[message.message_id] = message
                self.count += 1
                self._room -= 1
                self.bytes += len(message.body)
        if len(self._fresh) >= ROWS_MAX:
            self.write()

    def write(self) -> None:
        if self._fresh:
            self.writer.write(received_batch(list(self._fresh.values())))
            self._fresh.clear()

    def _is_new(self, message: ReceivedMessage) -> bool:
        message_id, receipt = message.message_id, message.receipt_handle
        if message_id in self._staging.state.owed:
            self.owed[message_id] = receipt
        elif message_id in self.writer.receipts:
            self.writer.renew(message_id, receipt)
        elif message_id in self._fresh:
            self._fresh[message_id] = message
        else:
            return True
        return False


def _tens(items: Sequence[T]) -> Iterator[list[T]]:
    size = limits.BATCH_COUNT.most
    return (list(items[start : start + size]) for start in range(0, len(items), size))
