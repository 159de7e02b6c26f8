"""Moving all messages of one queue into another, at any two SQS endpoints.

A message is received, sent to the target, and deleted at the source once the target has it. If the
move ends in between, the message stays at the source and returns when its lease ends. So nothing
is lost; a message that was sent and not yet deleted is sent again. A FIFO target recognises it,
since its deduplication id is the message id of the source.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from dovemq.client.delivering import QueueSide, TargetSender
from dovemq.client.errors import ClientError
from dovemq.client.retrying import PAUSE_SECONDS, Pause, retried
from dovemq.core import limits
from dovemq.sqs.shapes import ReceivedMessage

_COUNTS: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)

T = TypeVar("T")


class MoveOptions(Struct, frozen=True):
    workers: int = 4
    lease_seconds: int = 60
    idle_seconds: int = 90
    """Longer than the lease, so that messages of an interrupted move return in time."""
    wait_seconds: int = 2
    """Wait of one receive, which is also the delay until a stop is noticed."""
    empty_seconds: float = 3.0
    """Time after which an empty source is checked again, since some servers count roughly."""


class MoveSummary(Struct, frozen=True):
    """`undeleted` messages are at the target and will return at the source."""

    moved: int
    refused: int
    undeleted: int
    remaining: int
    stopped: bool


class QueueMover:
    """Moves messages until the source is empty. `report` gets a line for each refused message."""

    def __init__(
        self,
        source: QueueSide,
        target: QueueSide,
        report: Callable[[str], None],
        *,
        options: MoveOptions | None = None,
        keep_ids: bool = False,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._source = source
        self._sender = TargetSender(source.queue, target, report, keep_ids=keep_ids, pause=pause)
        self._options = options or MoveOptions()
        self._pause = pause
        self._stopped = False
        self._drained = False
        self._undeleted = 0
        self._moved_at = 0.0
        self._empty_at: float | None = None
        self._failure: ClientError | None = None
        self.moved = 0

    def stop(self) -> None:
        """Receive no more messages, and finish those that were received."""
        self._stopped = True

    async def run(self) -> MoveSummary:
        self._moved_at = _now()
        await asyncio.gather(*(self._work() for _ in range(self._options.workers)))
        if self._failure is not None:
            raise self._failure
        return MoveSummary(
            self.moved,
            len(self._sender.refused),
            self._undeleted,
            await self._remaining(),
            self._stopped,
        )

    async def _work(self) -> None:
        """Run one worker. If one fails, the others finish what they have received."""
        try:
            while not self._is_over():
                await self._turn()
        except ClientError as error:
            self._failure = self._failure or error
            self._stopped = True

    async def _turn(self) -> None:
        source = self._source
        messages = await self._retried(
            lambda: source.client.receive(
                source.queue,
                limits.RECEIVE_COUNT.most,
                wait_seconds=self._options.wait_seconds,
                lease_seconds=self._options.lease_seconds,
            )
        )
        fresh = self._sender.fresh(messages)
        if fresh:
            self._empty_at = None
            await self._move(fresh)
        else:
            await self._look_whether_empty()
            # Some servers do not wait although they are asked to.
            await self._pause(PAUSE_SECONDS)

    def _is_over(self) -> bool:
        idle = _now() - self._moved_at > self._options.idle_seconds
        return self._stopped or self._drained or idle or self._sender.hopeless

    async def _look_whether_empty(self) -> None:
        if await self._remaining() > len(self._sender.refused):
            self._empty_at = None
        elif self._empty_at is None:
            self._empty_at = _now()
        elif _now() - self._empty_at >= self._options.empty_seconds:
            self._drained = True

    async def _remaining(self) -> int:
        return await remaining(self._source, self._pause)

    async def _move(self, messages: Sequence[ReceivedMessage]) -> None:
        sent = await self._sender.send(messages)
        if not sent:
            return
        source = self._source
        receipts = [each.receipt_handle for each in sent]
        answer = await self._retried(lambda: source.client.settle_batch(source.queue, receipts))
        self.moved += len(sent) - len(answer.failed)
        self._undeleted += len(answer.failed)
        self._moved_at = _now()

    async def _retried(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await retried(ask, self._pause)


async def remaining(side: QueueSide, pause: Pause = asyncio.sleep) -> int:
    """The messages of a queue, hidden ones included, as its server counts them."""
    counts = await retried(lambda: side.client.attributes(side.queue, _COUNTS), pause)
    return sum(int(counts.get(name, "0")) for name in _COUNTS)


def _now() -> float:
    return asyncio.get_running_loop().time()
