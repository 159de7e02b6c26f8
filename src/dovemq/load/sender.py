"""A sender: sends numbered messages with random bodies, and writes its journal before each send.

A send that fails stays in the journal as refused or unknown. With `resend` it is repeated under the
same number, in a new row.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from dovemq.client import AnswerMalformed, ClientError, Refused
from dovemq.load.contents import Filler, Label
from dovemq.load.counters import WorkerCounters
from dovemq.load.journals import SenderJournal
from dovemq.load.pacing import ClosedPace, OpenPace, RequestPace
from dovemq.load.rows import Slot
from dovemq.load.threads import Share, Thread, is_certain
from dovemq.sqs.shapes import AttributeValue, SendEntry, SendMessageRequest, SendMessageResponse

SEQUENCE_ATTRIBUTE: Final = "dovemq.seq"
"""The message attribute from which a server's lifecycle trace takes the sequence number."""


class PreparedMessage(Struct, frozen=True):
    send_seq: int
    body: str
    body_crc32: int


class SignedMessage(Struct, frozen=True):
    """The next message of a closed loop, with its signed request."""

    draft: PreparedMessage
    request: bytes


class Sender(Thread):
    def __init__(
        self,
        share: Share,
        number: int,
        journal: SenderJournal,
        counters: WorkerCounters,
        now_us: Callable[[], int],
    ) -> None:
        super().__init__(share, "sender", number, counters, now_us)
        self._run_name = share.run
        self._queue = number // self.plan.senders
        self._queue_url = share.queue_urls[self._queue]
        self._journal = journal
        self._filler = Filler(self.plan.body_bytes, self.rng)
        self._ready: SignedMessage | None = None

    async def work(self, starts_us: int) -> None:
        plan = self.plan
        pace = self._pace(starts_us)
        ends_us = None if plan.seconds_max is None else starts_us + int(plan.seconds_max * 1e6)
        next_seq = 1
        while plan.messages is None or next_seq <= plan.messages:
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
            return [self._ready.draft]
        return [self._draft(each) for each in range(first_seq, last_seq + 1)]

    def _prepare(self, send_seq: int) -> None:
        """Prepares the next message, so that the client's own work does not delay its send."""
        draft = self._draft(send_seq)
        self._ready = SignedMessage(
            draft, self.client.signed_send(self._queue_url, self._request(draft))
        )

    def _pace(self, starts_us: int) -> RequestPace:
        plan = self.plan
        if plan.send_rate is None:
            return ClosedPace(plan.send_pause_ms, self.now_us)
        interval_us = 1e6 * plan.send_batch * plan.senders_total / plan.send_rate
        return OpenPace(
            interval_us, plan.arrivals, starts_us, self.rng, self.now_us, punctual=plan.punctual
        )

    def _draft(self, send_seq: int) -> PreparedMessage:
        label = Label(self._run_name, self.number, send_seq)
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
            await self.outage.failed(error)
            if not self.plan.resend:
                return

    async def _attempt(
        self, drafts: Sequence[PreparedMessage], from_us: int
    ) -> tuple[Sequence[PreparedMessage], ClientError | None]:
        """Returns the messages that were not acknowledged, and the error."""
        now_us = self.now_us()
        slots = [
            self._journal.sending(
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
                    self._journal.refused(slot, self.now_us())
            return drafts, failure
        self.counters.tally.sends.done(len(drafts) - len(left), from_us, self.now_us())
        return left, error

    async def _send_one(self, draft: PreparedMessage) -> SendMessageResponse:
        if self._ready is not None and self._ready.draft is draft:
            request, self._ready = self._ready.request, None
            return await self.client.send_signed(request)
        return await self.client.send(self._queue_url, self._request(draft))

    async def _send_batch(
        self, drafts: Sequence[PreparedMessage], slots: Sequence[Slot]
    ) -> tuple[Sequence[PreparedMessage], ClientError | None]:
        entries = [self._entry(place, draft) for place, draft in enumerate(drafts)]
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
                self._journal.refused(slots[int(failed.id)], self.now_us())
        if left and error is None:
            error = AnswerMalformed(self._queue_url, "an entry of a batch without an answer")
        return list(left.values()), error

    def _acknowledged(self, slot: Slot, message_id: str) -> None:
        now_us = self.counters.eventful_us = self.now_us()
        self._journal.acknowledged(slot, message_id, now_us)
        self.counters.acknowledged.append(message_id)

    def _request(self, draft: PreparedMessage) -> SendMessageRequest:
        return SendMessageRequest(
            draft.body,
            message_attributes=self._attributes(draft),
            message_deduplication_id=self._deduplication_id(draft),
            message_group_id=self._group,
        )

    def _entry(self, place: int, draft: PreparedMessage) -> SendEntry:
        return SendEntry(
            draft.body,
            message_attributes=self._attributes(draft),
            message_deduplication_id=self._deduplication_id(draft),
            message_group_id=self._group,
            id=str(place),
        )

    def _attributes(self, draft: PreparedMessage) -> dict[str, AttributeValue] | None:
        if self.plan.plain:
            return None
        return {SEQUENCE_ATTRIBUTE: AttributeValue("Number", str(draft.send_seq))}

    def _deduplication_id(self, draft: PreparedMessage) -> str | None:
        if not self.plan.fifo:
            return None
        return f"{self._run_name}-{self.number}-{draft.send_seq}"

    @property
    def _group(self) -> str | None:
        return str(self.number) if self.plan.fifo else None
