"""Draining one queue into another, at any two SQS endpoints.

A message is received, sent to the target, and deleted at the source once the target has it. What
ends in between leaves it at the source, where it comes back when its lease ends: nothing is lost,
and what was sent but not deleted is sent again. A FIFO target takes that for the same message,
since the id of deduplication is the source's message id.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dovemq.client.batching import batches
from dovemq.client.errors import ClientError, Refused
from dovemq.client.retrying import PAUSE_SECONDS, Pause, retried
from dovemq.client.sqs import SqsClient
from dovemq.core import limits
from dovemq.core.sending import message_bytes
from dovemq.sqs.actions.sending import wire_attributes
from dovemq.sqs.shapes import (
    AttributeValue,
    NewMessage,
    ReceivedMessage,
    SendEntry,
    SendMessageRequest,
    SendMessageResponse,
    SentEntry,
)

REFUSED_MAX: Final = 1_000
ANSWERS_ENTRIES_MAX: Final = 100_000
FIRST_IDS_MAX: Final = 100
_TRACE: Final = "AWSTraceHeader"
_COUNTS: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
_ABOUT_A_MESSAGE: Final = re.compile(
    "InvalidMessageContents|InvalidParameter|InvalidAttributeValue|MissingParameter"
    "|MissingRequiredParameter|BatchRequestTooLong|MessageTooLong"
)
"""Other refusals would meet the next message as well, so they end the copy."""

T = TypeVar("T")


class SameQueue(ClientError):
    """Found when a message that was sent to the target comes out of the source."""

    def __init__(self, queue: str) -> None:
        super().__init__(f"{queue}: source and target are one queue under two names")


class MoveSide(Struct, frozen=True):
    client: SqsClient
    queue: str
    """Its URL."""

    @property
    def fifo(self) -> bool:
        return self.queue.endswith(limits.FIFO_SUFFIX)


class MoveOptions(Struct, frozen=True):
    workers: int = 4
    lease_seconds: int = 60
    idle_seconds: int = 90
    """Longer than the lease, so that what an ended copy had received comes back in time."""
    wait_seconds: int = 2
    """Of one receive: how long a stop may take to be noticed."""
    empty_seconds: float = 3.0
    """An empty source is looked at again after this, since some servers count roughly."""


class MoveSummary(Struct, frozen=True):
    """`undeleted` messages are at the target and will come back at the source."""

    copied: int
    refused: int
    undeleted: int
    remaining: int
    stopped: bool


class QueueMover:
    """`problem` is told of each message that the target refuses, and why."""

    def __init__(
        self,
        source: MoveSide,
        target: MoveSide,
        problem: Callable[[str], None],
        *,
        pace: MoveOptions | None = None,
        keep_ids: bool = False,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._source = source
        self._target = target
        self._problem = problem
        self._pace = pace or MoveOptions()
        self._keep_ids = keep_ids and target.fifo
        self._pause = pause
        self._stopped = False
        self._drained = False
        self._undeleted = 0
        self._refused: set[str] = set()
        self._answers: dict[str, str] = {}
        self._first_received: set[str] = set()
        self._first_sent: set[str] = set()
        self._moved_at = 0.0
        self._empty_at: float | None = None
        self._failure: ClientError | None = None
        self.copied = 0

    def stop(self) -> None:
        """Receive no more; what was received is finished."""
        self._stopped = True

    async def run(self) -> MoveSummary:
        self._moved_at = _now()
        await asyncio.gather(*(self._work() for _ in range(self._pace.workers)))
        if self._failure is not None:
            raise self._failure
        return MoveSummary(
            self.copied,
            len(self._refused),
            self._undeleted,
            await self._remaining(),
            self._stopped,
        )

    async def _work(self) -> None:
        """Until the end; a failure of one lets the others finish what they have received."""
        try:
            while not self._over():
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
                wait_seconds=self._pace.wait_seconds,
                lease_seconds=self._pace.lease_seconds,
            )
        )
        for each in messages:
            self._check_distinct(each.message_id, self._first_received, self._first_sent)
        fresh = [each for each in messages if each.message_id not in self._refused]
        if fresh:
            self._empty_at = None
            await self._move(fresh)
        else:
            await self._look_whether_empty()
            # Not every server waits when it is asked to.
            await self._pause(PAUSE_SECONDS)

    def _over(self) -> bool:
        idle = _now() - self._moved_at > self._pace.idle_seconds
        return self._stopped or self._drained or idle or len(self._refused) >= REFUSED_MAX

    async def _look_whether_empty(self) -> None:
        if await self._remaining() > len(self._refused):
            self._empty_at = None
        elif self._empty_at is None:
            self._empty_at = _now()
        elif _now() - self._empty_at >= self._pace.empty_seconds:
            self._drained = True

    async def _remaining(self) -> int:
        source = self._source
        told = await self._retried(lambda: source.client.attributes(source.queue, _COUNTS))
        return sum(int(told.get(name, "0")) for name in _COUNTS)

    async def _move(self, messages: Sequence[ReceivedMessage]) -> None:
        if self._target.fifo:
            sent = await self._send_in_order(messages)
        else:
            parts = batches(messages, received_bytes)
            sent = [each for part in parts for each in await self._send_batch(part)]
        if not sent:
            return
        source = self._source
        receipts = [each.receipt_handle for each in sent]
        answer = await self._retried(lambda: source.client.settle_batch(source.queue, receipts))
        self.copied += len(sent) - len(answer.failed)
        self._undeleted += len(answer.failed)
        self._moved_at = _now()

    async def _send_in_order(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        """One by one: of a batch a later message could be taken where an earlier one was not."""
        sent: list[ReceivedMessage] = []
        closed: set[str] = set()
        for message in messages:
            group = message.attributes.get("MessageGroupId", message.message_id)
            if group in closed:
                continue
            if await self._send_one(message):
                sent.append(message)
            else:
                closed.add(group)
        return sent

    async def _send_batch(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        target = self._target
        entries = [
            new_message(SendEntry(id=str(place)), message, fifo=False, keep_id=False)
            for place, message in enumerate(messages)
        ]
        try:
            answer = await self._retried(lambda: target.client.send_batch(target.queue, entries))
        except Refused as error:
            if not _ABOUT_A_MESSAGE.search(error.code):
                raise
            # One message may be the cause of it; alone each is judged for itself.
            return [each for each in messages if await self._send_one(each)]
        for failed in answer.failed:
            if failed.sender_fault:
                self._refuse(messages[int(failed.id)], f"{failed.code}: {failed.message}")
        return [
            message
            for entry in answer.successful
            for message in [messages[int(entry.id)]]
            if self._is_intact(message, entry)
        ]

    async def _send_one(self, message: ReceivedMessage) -> bool:
        target = self._target
        request = new_message(
            SendMessageRequest(), message, fifo=target.fifo, keep_id=self._keep_ids
        )
        try:
            answer = await self._retried(lambda: target.client.send(target.queue, request))
        except Refused as error:
            if not _ABOUT_A_MESSAGE.search(error.code):
                raise
            self._refuse(message, str(error))
            return False
        if self._keep_ids and not self._is_new(message, answer.message_id):
            self._refuse(message, "taken for another message of the same deduplication id")
            return False
        return self._is_intact(message, answer)

    def _is_intact(self, message: ReceivedMessage, sent: SendMessageResponse | SentEntry) -> bool:
        self._check_distinct(sent.message_id, self._first_sent, self._first_received)
        if sent.md5_of_message_body == message.md5_of_body:
            return True
        self._refuse(message, "the target has another digest of its body")
        return False

    def _check_distinct(self, message_id: str, mine: set[str], others: set[str]) -> None:
        """In a queue that is copied into itself one of the first messages comes round again.

        Either side may be the first to see it: a poll can be answered before the send is.
        """
        if message_id in others:
            raise SameQueue(self._source.queue)
        if len(mine) < FIRST_IDS_MAX:
            mine.add(message_id)

    def _is_new(self, message: ReceivedMessage, answered_id: str) -> bool:
        """Whether the target has not answered so to another message of the source."""
        known = self._answers.setdefault(answered_id, message.message_id)
        if len(self._answers) > ANSWERS_ENTRIES_MAX:
            del self._answers[next(iter(self._answers))]
        return known == message.message_id

    def _refuse(self, message: ReceivedMessage, reason: str) -> None:
        self._refused.add(message.message_id)
        self._problem(f"message {message.message_id}: {reason}")

    async def _retried(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Also for a send whose answer was lost: the message would be sent again in any case."""
        return await retried(ask, self._pause)


def received_bytes(message: ReceivedMessage) -> int:
    return message_bytes(message.body, wire_attributes(message.message_attributes))


M = TypeVar("M", bound=NewMessage)


def new_message(empty: M, message: ReceivedMessage, *, fifo: bool, keep_id: bool) -> M:
    """What was received as what is to be sent.

    Two messages of the source may have one deduplication id, sent more than five minutes apart,
    which the target would take for one message when it gets them at once. So the id is that of
    the message, unless it must be kept.
    """
    told = message.attributes
    trace = {_TRACE: AttributeValue("String", told[_TRACE])} if told.get(_TRACE) else None
    group = told.get("MessageGroupId")
    given = told.get("MessageDeduplicationId") if keep_id else None
    return replace(
        empty,
        message_body=message.body,
        message_attributes=message.message_attributes or None,
        message_system_attributes=trace,
        message_group_id=group or (message.message_id if fifo else None),
        message_deduplication_id=(given or message.message_id) if fifo else None,
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
