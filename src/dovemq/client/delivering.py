"""Sending the messages of one queue to another queue, at any SQS endpoint.

`QueueMover` and `QueueCopier` share this. It keeps body, attributes, group and trace header of a
message, checks that the target stored the same body, and reports what the target refuses.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dovemq.client.batching import batches
from dovemq.client.errors import ClientError, Refused
from dovemq.client.retrying import Pause, is_about_one_message, retried
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

M = TypeVar("M", bound=NewMessage)


class SameQueue(ClientError):
    """A message that was sent to the target came out of the source."""

    def __init__(self, queue: str) -> None:
        super().__init__(f"{queue}: source and target are the same queue under two names")


class QueueSide(Struct, frozen=True):
    """The source or the target: a queue URL and a client of its endpoint."""

    client: SqsClient
    queue: str

    @property
    def fifo(self) -> bool:
        return self.queue.endswith(limits.FIFO_SUFFIX)


@dataclass(slots=True)
class TargetSender:
    """Sends messages to the target. `report` gets a line for each message that it refuses."""

    source: str
    target: QueueSide
    report: Callable[[str], None]
    _: KW_ONLY
    keep_ids: bool = False
    pause: Pause = asyncio.sleep
    refused: set[str] = field(default_factory=set)
    _answers: dict[str, str] = field(default_factory=dict)
    _first_received: set[str] = field(default_factory=set)
    _first_sent: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.keep_ids = self.keep_ids and self.target.fifo

    @property
    def hopeless(self) -> bool:
        """Whether so many messages were refused that going on makes no sense."""
        return len(self.refused) >= REFUSED_MAX

    def fresh(self, received: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        """The messages that the target has not refused before."""
        for each in received:
            self._check_distinct(each.message_id, self._first_received, self._first_sent)
        return [each for each in received if each.message_id not in self.refused]

    async def send(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        """The messages that the target has taken. Others were refused, or may be sent again."""
        if self.target.fifo:
            return await self._send_in_order(messages)
        parts = batches(messages, received_bytes)
        return [each for part in parts for each in await self._send_batch(part)]

    async def _send_in_order(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        """One by one: a batch could take a later message of a group and refuse an earlier one."""
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
        target = self.target
        entries = [
            new_message(SendEntry(id=str(place)), message, fifo=False, keep_id=False)
            for place, message in enumerate(messages)
        ]
        try:
            answer = await retried(
                lambda: target.client.send_batch(target.queue, entries), self.pause
            )
        except Refused as error:
            if not is_about_one_message(error.code):
                raise
            # One message may have caused this, so each is tried alone.
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
        target = self.target
        request = new_message(
            SendMessageRequest(), message, fifo=target.fifo, keep_id=self.keep_ids
        )
        try:
            answer = await retried(lambda: target.client.send(target.queue, request), self.pause)
        except Refused as error:
            if not is_about_one_message(error.code):
                raise
            self._refuse(message, str(error))
            return False
        if self.keep_ids and not self._is_new(message, answer.message_id):
            self._refuse(message, "the target took it for a message of the same deduplication id")
            return False
        return self._is_intact(message, answer)

    def _is_intact(self, message: ReceivedMessage, sent: SendMessageResponse | SentEntry) -> bool:
        self._check_distinct(sent.message_id, self._first_sent, self._first_received)
        if sent.md5_of_message_body == message.md5_of_body:
            return True
        self._refuse(message, "the target reports another digest of its body")
        return False

    def _check_distinct(self, message_id: str, mine: set[str], others: set[str]) -> None:
        """If source and target are one queue, one of the first messages is soon received again.

        Either side may see it first, since a poll can be answered before the send is.
        """
        if message_id in others:
            raise SameQueue(self.source)
        if len(mine) < FIRST_IDS_MAX:
            mine.add(message_id)

    def _is_new(self, message: ReceivedMessage, answered_id: str) -> bool:
        """Whether the target gave this id to no other message of the source."""
        known = self._answers.setdefault(answered_id, message.message_id)
        if len(self._answers) > ANSWERS_ENTRIES_MAX:
            del self._answers[next(iter(self._answers))]
        return known == message.message_id

    def _refuse(self, message: ReceivedMessage, reason: str) -> None:
        self.refused.add(message.message_id)
        self.report(f"message {message.message_id}: {reason}")


def received_bytes(message: ReceivedMessage) -> int:
    return message_bytes(message.body, wire_attributes(message.message_attributes))


def new_message(empty: M, message: ReceivedMessage, *, fifo: bool, keep_id: bool) -> M:
    """A received message as a message to send.

    Two messages of the source may share a deduplication id if they were sent more than five
    minutes apart. The target, which gets them at once, would drop the second. So the message id
    of the source becomes the deduplication id, unless the old id must be kept.
    """
    attributes = message.attributes
    trace = (
        {_TRACE: AttributeValue("String", attributes[_TRACE])} if attributes.get(_TRACE) else None
    )
    group = attributes.get("MessageGroupId")
    given = attributes.get("MessageDeduplicationId") if keep_id else None
    return replace(
        empty,
        message_body=message.body,
        # Without it the delay of the target's queue would begin anew.
        delay_seconds=None if fifo else 0,
        message_attributes=message.message_attributes or None,
        message_system_attributes=trace,
        message_group_id=group or (message.message_id if fifo else None),
        message_deduplication_id=(given or message.message_id) if fifo else None,
    )
