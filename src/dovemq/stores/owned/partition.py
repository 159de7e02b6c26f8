"""One physical queue that this process owns: its index on the loop, its messages in a journal.

Implements `core.ports.Partition`. The index decides, `GroupCommit` makes it durable (its module
says which verbs wait), and bodies are read when a message is handed out.

All of it runs on the event loop, so a method is atomic between two `await`s. A send changes the
journal first and the index after the commit (`_published`): a message that is visible is durable. A
delete changes the index first and is answered after the commit: a message that somebody deletes is
handed out to nobody meanwhile, and after a crash before the commit it is there again.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from dovemq.core.commands import (
    Ask,
    Counts,
    Draft,
    Duplicate,
    Extension,
    Leased,
    Peek,
    Peeked,
    Receipt,
    Sent,
    Settlement,
    Transfer,
)
from dovemq.core.entry import Entry
from dovemq.core.errors import QueueMissing
from dovemq.core.index import Index
from dovemq.core.queue import Queue
from dovemq.core.sending import accepted, stored_units
from dovemq.stores.owned.context import OwnerContext
from dovemq.stores.owned.group import PartitionKey, Sending, SendItem
from dovemq.stores.owned.handout import Handout
from dovemq.stores.owned.records import RecordCodec, deduplication_digest

DAMAGED_ROUNDS_MAX: Final = 16
"""Tries of a receive that has found damaged messages only."""
LET_GO_MAX: Final = 200
"""Entries of a removed queue that are freed in one turn of the loop."""


class OwnedPartition:
    """`removed` is called when a send was committed after the queue had been removed."""

    def __init__(
        self,
        queue: Queue,
        number: int,
        index: Index,
        context: OwnerContext,
        removed: Callable[[Queue], None],
    ) -> None:
        self.queue = queue
        self._closed = False
        self._place: PartitionKey = (queue.number, number)
        self._index = index
        self._context = context
        self._commits = context.commits
        self._observer = context.observer
        self._cache = context.bodies.cache
        self._row = RecordCodec().row
        self._removed = removed
        self._handout = Handout(queue, self._place, index, context, self._wake)
        self._watchers: dict[object, Callable[[], None]] = {}
        self._now_ms = 0

    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        self._check_open()
        self._commits.check_space(now_ms)
        if not drafts:
            return []
        sending, row, place = self._sending(now_ms), self._row, self._place
        settings = self.queue.settings
        for draft in drafts:
            sequence = next(self._context.sequences)
            message = accepted(draft, sequence, now_ms)
            visible_ms = now_ms + draft.delay_ms
            entry = Entry(sequence, visible_ms, now_ms, 0, 0, draft.group, stored_units(draft))
            item = SendItem(message, row(message, place), entry, Sent(draft.message_id, sequence))
            if settings.fifo:
                item.key = deduplication_digest(settings, message)
            sending.items.append(item)
        return await self._commits.send(sending)

    async def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> list[Sent]:
        self._check_open()
        self._commits.check_space(now_ms)
        if not transfers:
            return []
        self._expire(now_ms)
        sending = self._sending(now_ms)
        sending.adopted = True
        sending.items = [self._adopted(transfer, now_ms) for transfer in transfers]
        answers = await self._commits.send(sending)
        return [Sent(answer.message_id, answer.sequence) for answer in answers]

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        self._check_open()
        self._commits.check_usable()
        self._now_ms = now_ms
        for _ in range(DAMAGED_ROUNDS_MAX):
            picked = self._index.lease(ask, now_ms)
            if self._index.dropped:
                self._forget_dropped()
            if not picked.taken and not picked.exhausted:
                break
            at_once = self._handout.at_once(picked, now_ms)
            if at_once is not None:
                return at_once
            leased, damaged = await self._handout.hand_out(picked, now_ms)
            if damaged:
                self._wake_blocked()
            if leased.messages or leased.exhausted or not damaged:
                return leased
            now_ms = self._now_ms
        return Leased([], [], picked.more, picked.next_due_ms)

    async def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> list[Settlement]:
        self._check_open()
        self._commits.check_usable()
        self._now_ms = now_ms
        settlements = []
        settled = []
        durable = True
        for receipt in receipts:
            sequence = receipt.sequence
            settlement = self._index.settle(sequence, receipt.receive_count, now_ms, forced=forced)
            if settlement is Settlement.SETTLED:
                self._commits.delete(self._place, sequence)
                self._cache.discard(sequence)
                settled.append(receipt)
                durable = False
            elif settlement is Settlement.GONE and self._commits.deleting(sequence):
                # Deleted by an earlier request whose commit is still under way: wait for it too.
                durable = False
            settlements.append(settlement)
        if self._index.dropped:
            self._forget_dropped()
        observed = [] if moved else settled
        if not durable:
            committed = self._commits.commit()
            self._wake_blocked()
            try:
                await committed
            except asyncio.CancelledError:
                # The caller went away; the messages are deleted all the same.
                self._observe_settled(observed)
                raise
        self._observe_settled(observed)
        return settlements

    async def extend(self, changes: Sequence[tuple[Receipt, int]], now_ms: int) -> list[Extension]:
        self._check_open()
        self._commits.check_usable()
        self._now_ms = now_ms
        extensions = []
        sooner = False
        for receipt, lease_ms in changes:
            entry = self._index.get(receipt.sequence)
            was_ms = 0 if entry is None else entry.visible_ms
            until_ms = now_ms + lease_ms
            extension = self._index.extend(
                receipt.sequence, receipt.receive_count, until_ms, now_ms
            )
            # Another entry may stand for the message now.
            entry = self._index.get(receipt.sequence)
            if extension is Extension.EXTENDED and entry is not None:
                self._commits.touch(self._place, (entry,))
                sooner = sooner or until_ms < was_ms
            extensions.append(extension)
        self._forget_dropped()
        if sooner:
            self._wake()
        return extensions

    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        self._check_open()
        self._commits.check_usable()
        self._now_ms = now_ms
        for receipt in receipts:
            entry = self._index.get(receipt.sequence)
            if entry is not None:
                self._handout.take_back(entry, receipt.receive_count)
        self._wake()

    async def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> int:
        self._check_open()
        self._commits.check_usable()
        self._expire(now_ms)
        dropped = self._index.drop(sent_before_ms, count_max)
        for sequence in dropped:
            self._commits.delete(self._place, sequence)
            self._cache.discard(sequence)
        if dropped:
            self._observer.expired(self.queue, self._place[1], dropped)
        self._wake_blocked()
        if self.queue.settings.fifo:
            self._commits.forget_deduplication(self._place, sent_before_ms)
        await self._commits.commit()
        return len(dropped)

    async def peek(self, page: Peek, now_ms: int) -> list[Peeked]:
        self._check_open()
        self._expire(now_ms)
        return await self._context.reader.peek(self._place, page, now_ms)

    async def counts(self, now_ms: int) -> Counts:
        self._check_open()
        self._now_ms = now_ms
        counts = self._index.counts(now_ms)
        self._forget_dropped()
        return counts

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        key = object()
        self._watchers[key] = wake

        def unwatch() -> None:
            self._watchers.pop(key, None)

        return unwatch

    def follow(self, queue: Queue) -> None:
        """Use the settings of a newer version of the queue."""
        self.queue = queue
        self._index.settings = queue.settings
        self._wake()

    def expire(self, now_ms: int) -> None:
        """Remove expired messages of a queue that nobody uses, so that it frees its space too."""
        self._expire(max(now_ms, self._now_ms))

    def close(self) -> None:
        """Refuse everything: the queue is removed. Waiting receives are woken and find that out."""
        self._closed = True
        self._wake()
        self._let_go()

    def _let_go(self) -> None:
        """Free the index in pieces: freeing a long one at once would stop the loop."""
        if self._index.drop(sys.maxsize, LET_GO_MAX):
            self._context.loop.call_soon(self._let_go)

    def _check_open(self) -> None:
        if self._closed:
            raise QueueMissing(str(self.queue.key))

    def _adopted(self, transfer: Transfer, now_ms: int) -> SendItem:
        moved = transfer.message
        sequence = next(self._context.sequences)
        sent_ms = now_ms if self.queue.settings.fifo else moved.sent_ms
        message = msgspec.structs.replace(moved, sequence=sequence, sent_ms=sent_ms)
        entry = Entry(
            sequence,
            now_ms,
            sent_ms,
            transfer.receive_count,
            transfer.first_received_ms,
            message.group,
            stored_units(message),
        )
        answer = Sent(message.message_id, sequence)
        return SendItem(message, self._row(message, self._place), entry, answer)

    def _sending(self, now_ms: int) -> Sending:
        return Sending(self._place, now_ms, self._published, self._context.loop.create_future())

    def _published(self, sending: Sending) -> None:
        if self._closed:
            self._removed(self.queue)
            return
        items = [item for item in sending.items if item.accepted]
        if items and not sending.adopted:
            self._observer.sent(self.queue, self._place[1], [item.message for item in items])
        fresh, records_bytes = {}, 0
        for item in items:
            self._index.add(item.entry)
            fresh[item.entry.sequence] = item.message
            records_bytes += len(item.body[2])
        self._cache.put_all(fresh, records_bytes)
        self._wake()

    def _observe_settled(self, receipts: list[Receipt]) -> None:
        if receipts:
            self._observer.settled(self.queue, self._place[1], receipts)

    def _expire(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._forget(self._index.expire(now_ms))

    def _forget_dropped(self) -> None:
        self._forget(self._index.take_dropped())

    def _forget(self, dropped: list[int]) -> None:
        if dropped:
            self._observer.expired(self.queue, self._place[1], dropped)
            self._commits.expire(self._place, dropped)
            for sequence in dropped:
                self._cache.discard(sequence)

    def _wake_blocked(self) -> None:
        """Wake waiting receives if a message that left may have blocked its group."""
        settings = self.queue.settings
        if settings.fifo or settings.group_concurrency is not None:
            self._wake()

    def _wake(self) -> None:
        for wake in tuple(self._watchers.values()):
            wake()
