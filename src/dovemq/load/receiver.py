"""A receiver: receives, writes its journal, works for a while, settles, and repeats.

It may quit after a receive, as a program that crashes does. Its messages are received again when
their leases end, and it continues with a new connection.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovemq.client import ClientError
from dovemq.load.contents import crc32, is_intact, label_of
from dovemq.load.journals import ReceiverJournal
from dovemq.load.plan import Pauses
from dovemq.load.rows import Slot
from dovemq.load.threads import Thread, is_certain
from dovemq.sqs.shapes import FailedEntry, ReceivedMessage

Quits = Callable[[int], bool]
"""Called with the number of the receiver after each receive with messages; True makes it quit."""

_COUNT: Final = "ApproximateReceiveCount"
_NOTHING: Final = ()


@dataclass(eq=False)
class Receiver(Thread):
    KIND = "receiver"
    journal: ReceiverJournal
    quits: Quits | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._queue_url = self.share.queue_urls[self.number // self.plan.receivers]
        self._quits = self.quits or self._drawn
        self._names = _NOTHING if self.plan.plain else (_COUNT,)

    async def work(self, starts_us: int) -> None:
        pace = self.pace(starts_us, self.plan.receive_rate, self.plan.receivers_total)
        while not self.stopping:
            await self.attend(self.plan.receivers, starts_us)
            await self._cycle(await pace.next_us())

    async def _cycle(self, from_us: int) -> None:
        asked_us = self.now_us()
        try:
            messages = await self.client.receive(
                self._queue_url,
                self.plan.receive_batch,
                wait_seconds=self.plan.wait_seconds,
                names=self._names,
                attribute_names=_NOTHING,
            )
        except ClientError as error:
            self.counters.failed("receive", error, self.now_us())
            await self.failed(error)
            return
        self.outage.over()
        if not messages:
            self.counters.tally.misses += 1
            return
        self.busy = True
        try:
            await self._take(messages, from_us, asked_us)
        finally:
            self.busy = False

    async def _take(self, messages: Sequence[ReceivedMessage], from_us: int, asked_us: int) -> None:
        now_us = self.counters.news.eventful_us = self.now_us()
        slots = [self._record(each, asked_us, now_us) for each in messages]
        self.counters.tally.receives.done(len(messages), from_us, now_us)
        if self._quits(self.number):
            self.counters.tally.quits += 1
            await self.client.close()
            self.client = self.new_client()
            return
        if self.plan.receive_pause_ms:
            await asyncio.sleep(self._pause_seconds())
        ours = [
            (message, slot)
            for message, slot in zip(messages, slots, strict=True)
            if slot is not None
        ]
        if ours:
            await self._settle(ours)

    def _record(self, message: ReceivedMessage, asked_us: int, now_us: int) -> Slot | None:
        """Writes the row of a message of this run; returns None for other messages."""
        body = message.body
        label = label_of(body)
        if label is None or label.run != self.run_name:
            self.counters.tally.foreign += 1
            return None
        if not is_intact(body):
            self.counters.tally.corrupted += 1
        slot = self.journal.received(
            label.sender // self.plan.senders,
            self.number,
            label.sender,
            label.send_seq,
            message.message_id,
            crc32(body),
            len(body),
            int(message.attributes.get(_COUNT, 0)),
            asked_us,
            now_us,
            1_000 * self.plan.lease_ms,
        )
        self.counters.news.received.append(message.message_id)
        return slot

    async def _settle(self, ours: Sequence[tuple[ReceivedMessage, Slot]]) -> None:
        asked_us = self.now_us()
        for _, slot in ours:
            self.journal.settling(slot, asked_us)
        try:
            failed = await self._failed_settles([message for message, _ in ours])
        except ClientError as error:
            # If the settle was not done, the message is received again.
            if is_certain(error):
                for _, slot in ours:
                    self.journal.settle_refused(slot, self.now_us())
            self.counters.failed("settle", error, self.now_us())
            await self.failed(error)
            return
        now_us = self.counters.news.eventful_us = self.now_us()
        for place, (message, slot) in enumerate(ours):
            if place not in failed:
                self.journal.settled(slot, now_us)
                self.counters.news.settled.append(message.message_id)
            elif failed[place].sender_fault:
                self.journal.settle_refused(slot, now_us)
        self.counters.tally.settles.done(len(ours) - len(failed), asked_us, now_us)

    async def _failed_settles(
        self, messages: Sequence[ReceivedMessage]
    ) -> Mapping[int, FailedEntry]:
        receipts = [message.receipt_handle for message in messages]
        if self.plan.receive_batch == 1:
            await self.client.settle(self._queue_url, receipts[0])
            return {}
        answer = await self.client.settle_batch(self._queue_url, receipts)
        for entry in answer.failed:
            self.counters.tally.count_failure(f"settle: {entry.code}")
        return {int(entry.id): entry for entry in answer.failed}

    def _pause_seconds(self) -> float:
        mean = self.plan.receive_pause_ms / 1_000
        if self.plan.receive_pauses is Pauses.CONSTANT:
            return mean
        return self.rng.expovariate(1 / mean)

    def _drawn(self, _: int) -> bool:
        chance = self.plan.quit_probability
        return chance > 0 and self.rng.random() < chance
