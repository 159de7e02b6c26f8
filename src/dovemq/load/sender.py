"""A sender: sends numbered messages with random bodies, and writes its journal before each send.

A send that fails stays in the journal as refused or unknown. With `resend` it is repeated under the
same number, in a new row.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from dovemq.client import AnswerMalformed, ClientError, Refused
from dovemq.load.contents import Filler, Label
from dovemq.load.journals import SenderJournal
from dovemq.load.rows import Slot
from dovemq.load.threads import Thread, is_certain
from dovemq.sqs.shapes import AttributeValue, SendEntry, SendMessageRequest, SendMessageResponse

SEQUENCE_ATTRIBUTE: Final = "dovemq.seq"
"""The message attribute from which a server's lifecycle trace takes the sequence number."""


class PreparedMessage(Struct, frozen=True):
    """A message to be sent; the next one of a closed loop has its signed request."""

    send_seq: int
    body: str
    body_crc32: int
    request: bytes = b""


@dataclass(eq=False)
class Sender(Thread):
    KIND = "sender"
    journal: SenderJournal
    _ready: PreparedMessage | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._queue = self.number // self.plan.senders
        self._queue_url = self.share.queue_urls[self._queue]
        self._filler = Filler(self.plan.body_bytes, self.rng)

    async def work(self, starts_us: int) -> None:
        plan = self.plan
        clients = plan.send_batch * plan.senders_total
        pace = self.pace(starts_us, plan.send_rate, clients, plan.send_pause_ms)
        ends_us = None if plan.seconds_max is None else starts_us + int(plan.seconds_max * 1e6)
        next_seq = 1
        while plan.messages is None or next_seq <= plan.messages:
            await self.attend(plan.senders, starts_us)
            from_us = await pace.next_us()
            if self.stopping or (ends_us is not None and self.now_us() >= ends_us):
                return
            last_seq = next_seq + plan.send_batch - 1
            if plan.messages is not None:
                last_seq = min(last_seq, plan.messages)
            drafts = self._drafts(next_seq, last_seq)
            next_seq = last_seq + 1
            if plan.sends_at_once and (plan.messages is None or next_seq <= plan.messages):
                # Runs while the request is on its way.
                asyncio.get_running_loop().call_soon(self._prepare, next_seq)
            await self._send(drafts, from_us)

    def _drafts(self, first_seq: int, last_seq: int) -> list[PreparedMessage]:
        if self._ready is not None:
            return [self._ready]
        return [self._draft(each) for each in range(first_seq, last_seq + 1)]

    def _prepare(self, send_seq: int) -> None:
        """Prepares the next message, so that the client's own work does not delay its send."""
        draft = self._draft(send_seq)
        message = SendMessageRequest(**self._fields(draft))
        self._ready = replace(draft, request=self.client.signed_send(self._queue_url, message))

    def _draft(self, send_seq: int) -> PreparedMessage:
        label = Label(self.run_name, self.number, send_seq)
        return PreparedMessage(send_seq, *self._filler.body(label, self.plan.body_bytes))

    async def _send(self, drafts: Sequence[PreparedMessage], from_us: int) -> None:
        """Sends until all are acknowledged, if sends are repeated; the outage bounds the time."""
        while drafts:
            self.busy = True
            try:
                drafts, error = await self._attempt(drafts, from_us)
            finally:
                self.busy = False
            if error is None:
                self.outage.over()
                continue
            self.counters.failed("send", error, self.now_us())
            # The signature may have expired when the service is back.
            self._ready = None
            if self.stopping:
                return
            await self.failed(error)
            if not self.plan.resend:
                return

    async def _attempt(
        self, drafts: Sequence[PreparedMessage], from_us: int
    ) -> tuple[Sequence[PreparedMessage], ClientError | None]:
        """Returns the messages that were not acknowledged, and the error."""
        now_us = self.now_us()
        slots = [
            self.journal.sending(
                self._queue, self.number, each.send_seq, each.body_crc32, len(each.body), now_us
            )
            for each in drafts
        ]
        try:
            if self.plan.send_batch == 1:
                sent = await self._send_one(drafts[0])
                self._acknowledged(slots[0], sent.message_id)
                left: Sequence[PreparedMessage] = ()
                error: ClientError | None = None
            else:
                left, error = await self._send_batch(drafts, slots)
        except ClientError as failure:
            if is_certain(failure):
                for slot in slots:
                    self.journal.refused(slot, self.now_us())
            return drafts, failure
        self.counters.tally.sends.done(len(drafts) - len(left), from_us, self.now_us())
        return left, error

    async def _send_one(self, draft: PreparedMessage) -> SendMessageResponse:
        if draft is self._ready:
            self._ready = None
            return await self.client.send_signed(draft.request)
        return await self.client.send(self._queue_url, SendMessageRequest(**self._fields(draft)))

    async def _send_batch(
        self, drafts: Sequence[PreparedMessage], slots: Sequence[Slot]
    ) -> tuple[Sequence[PreparedMessage], ClientError | None]:
        entries = [
            SendEntry(**self._fields(draft), id=str(place)) for place, draft in enumerate(drafts)
        ]
        answer = await self.client.send_batch(self._queue_url, entries)
        left = dict(enumerate(drafts))
        for entry in answer.successful:
            place = int(entry.id)
            self._acknowledged(slots[place], entry.message_id)
            del left[place]
        error: ClientError | None = None
        for failed in answer.failed:
            error = Refused(200, failed.code, failed.message, "")
            if failed.sender_fault:
                self.journal.refused(slots[int(failed.id)], self.now_us())
        if left and error is None:
            error = AnswerMalformed(self._queue_url, "an entry of a batch without an answer")
        return list(left.values()), error

    def _acknowledged(self, slot: Slot, message_id: str) -> None:
        now_us = self.counters.news.eventful_us = self.now_us()
        self.journal.acknowledged(slot, message_id, now_us)
        self.counters.news.acknowledged.append(message_id)

    def _fields(self, draft: PreparedMessage) -> dict[str, Any]:
        """Returns the fields that a message has alone and in a batch."""
        fields: dict[str, Any] = {"message_body": draft.body}
        if not self.plan.plain:
            number = AttributeValue("Number", str(draft.send_seq))
            fields["message_attributes"] = {SEQUENCE_ATTRIBUTE: number}
        if self.plan.fifo:
            deduplication_id = f"{self.run_name}-{self.number}-{draft.send_seq}"
            fields["message_deduplication_id"] = deduplication_id
            fields["message_group_id"] = str(self.number)
        return fields
