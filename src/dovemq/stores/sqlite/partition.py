"""One physical queue of the embedded store: its index on the loop, its rows on disk.

Implements `core.ports.Partition`. The index decides, the writer makes it durable, and bodies are
read when a message is handed out.

All of it runs on the event loop, so a method is atomic between two `await`s. A send changes the
disk first and the index after the commit (`_published`): a message that is visible is durable. A
delete changes the index first and is answered after the commit: a message that somebody deletes is
handed out to nobody meanwhile, and after a crash before the commit it is there again.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import apsw
import msgspec

from dovemq.core import limits
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
from dovemq.core.message import Message
from dovemq.core.queue import Queue
from dovemq.core.sending import accepted, stored_units
from dovemq.stores.sqlite.context import StoreContext
from dovemq.stores.sqlite.group import PartitionKey, PendingSend
from dovemq.stores.sqlite.handout import Handout, peeking
from dovemq.stores.sqlite.rows import deduplication_digest

DAMAGED_ROUNDS_MAX: Final = 16
"""Tries of a receive that has found damaged messages only."""
LET_GO_MAX: Final = 200
"""Entries of a removed queue that are freed in one turn of the loop."""


class SqlitePartition:
    def __init__(self, queue: Queue, number: int, index: Index, context: StoreContext) -> None:
        self.queue = queue
        self._closed = False
        self._place: PartitionKey = (queue.number, number)
        self._index = index
        self._context = context
        self._writer = context.writer
        self._observer = context.observer
        self._cache = context.bodies.cache
        self._row = context.body_reader.codec.row
        self._handout = Handout(queue, self._place, index, context, self._wake)
        self._watchers: dict[object, Callable[[], None]] = {}
        self._now_ms = 0

    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        self._check_open()
        self._writer.check_space(now_ms)
        if not drafts:
            return []
        sending, row = self._sending(now_ms), self._row
        for draft in drafts:
            sequence = next(self._context.sequences)
            message = accepted(draft, sequence, now_ms)
            sending.messages.append(message)
            sending.bodies.append(row(message, self._place))
            visible_ms = now_ms + draft.delay_ms
            units = stored_units(draft)
            sending.entries.append(Entry(sequence, visible_ms, now_ms, 0, 0, draft.group, units))
            sending.answers.append(Sent(draft.message_id, sequence))
        if self.queue.settings.fifo:
            settings = self.queue.settings
            sending.keys = [deduplication_digest(settings, each) for each in sending.messages]
        return await self._writer.send(sending)

    async def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> list[Sent]:
        self._check_open()
        self._writer.check_space(now_ms)
        if not transfers:
            return []
        self._expire(now_ms)
        sending, row = self._sending(now_ms), self._row
        for transfer in transfers:
            message = self._adopted(transfer.message, now_ms)
            sending.messages.append(message)
            sending.bodies.append(row(message, self._place))
            sending.entries.append(
                Entry(
                    message.sequence,
                    now_ms,
                    message.sent_ms,
                    transfer.receive_count,
                    transfer.first_received_ms,
                    message.group,
                    stored_units(message),
                )
            )
            sending.answers.append(Sent(message.message_id, message.sequence))
        sending.adopted = True
        answers = await self._writer.send(sending)
        return [Sent(answer.message_id, answer.sequence) for answer in answers]

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        self._check_open()
        self._writer.check_usable()
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
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False
    ) -> list[Settlement]:
        self._check_open()
        self._writer.check_usable()
        self._now_ms = now_ms
        settlements = []
        settled = []
        durable = True
        for receipt in receipts:
            sequence = receipt.sequence
            settlement = self._index.settle(sequence, receipt.receive_count, now_ms)
            if settlement is Settlement.SETTLED:
                self._writer.delete(self._place, sequence)
                self._cache.discard(sequence)
                settled.append(receipt)
                durable = False
            elif settlement is Settlement.GONE and self._writer.deleting(sequence):
                # Deleted by an earlier request whose commit is still under way: wait for it too.
                durable = False
            settlements.append(settlement)
        if self._index.dropped:
            self._forget_dropped()
        observed = [] if moved else settled
        if not durable:
            committed = self._writer.commit()
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
        self._writer.check_usable()
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
                self._writer.touch(self._place, (entry,))
                sooner = sooner or until_ms < was_ms
            extensions.append(extension)
        self._forget_dropped()
        if sooner:
            self._wake()
        return extensions

    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        self._check_open()
        self._writer.check_usable()
        self._now_ms = now_ms
        for receipt in receipts:
            entry = self._index.get(receipt.sequence)
            if entry is not None:
                self._handout.take_back(entry, receipt.receive_count)
        self._wake()

    async def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> int:
        self._check_open()
        self._writer.check_usable()
        self._expire(now_ms)
        dropped = self._index.drop(sent_before_ms, count_max)
        for sequence in dropped:
            self._writer.delete(self._place, sequence)
            self._cache.discard(sequence)
        if dropped:
            self._observer.expired(self.queue, self._place[1], dropped)
        self._wake_blocked()
        if self.queue.settings.fifo:
            await self._forget_deduplication(sent_before_ms)
        else:
            await self._writer.commit()
        return len(dropped)

    async def peek(self, page: Peek, now_ms: int) -> list[Peeked]:
        self._check_open()
        self._expire(now_ms)
        # After this the rows say what the index says, pending leases included.
        await self._writer.flush()
        return await self._context.reader.look_up(peeking(self._context, self._place, page, now_ms))

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

    def _adopted(self, message: Message, now_ms: int) -> Message:
        sent_ms = now_ms if self.queue.settings.fifo else message.sent_ms
        sequence = next(self._context.sequences)
        return msgspec.structs.replace(message, sequence=sequence, sent_ms=sent_ms)

    def _sending(self, now_ms: int) -> PendingSend:
        return PendingSend(self._place, now_ms, self._published, self._context.loop.create_future())

    def _published(self, sending: PendingSend) -> None:
        if self._closed:
            # Sent while the queue was being removed, and its rows may have been swept already.
            self._writer.sweep(self._place[0])
            return
        accepted = sending.accepted
        if not sending.adopted:
            self._observe_sent(sending)
        fresh, records_bytes = {}, 0
        for at in range(len(sending.entries)) if accepted is None else accepted:
            entry = sending.entries[at]
            self._index.add(entry)
            fresh[entry.sequence] = sending.messages[at]
            records_bytes += len(sending.bodies[at][2])
        self._cache.put_all(fresh, records_bytes)
        self._wake()

    def _observe_sent(self, sending: PendingSend) -> None:
        messages = sending.messages
        if sending.accepted is not None:
            messages = [messages[at] for at in sending.accepted]
        if messages:
            self._observer.sent(self.queue, self._place[1], messages)

    def _observe_settled(self, receipts: list[Receipt]) -> None:
        if receipts:
            self._observer.settled(self.queue, self._place[1], receipts)

    def _forget_deduplication(self, sent_before_ms: int) -> Awaitable[None]:
        """Done in one commit with the deletes that were asked for before."""
        bound = (self._place[0], sent_before_ms + limits.DEDUPLICATION_MS)

        def forget(connection: apsw.Connection) -> None:
            connection.execute(self._context.sql.forget_deduplication, bound)

        return self._writer.work(forget, lambda _: None)

    def _expire(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._forget(self._index.expire(now_ms))

    def _forget_dropped(self) -> None:
        self._forget(self._index.take_dropped())

    def _forget(self, dropped: list[int]) -> None:
        if dropped:
            self._observer.expired(self.queue, self._place[1], dropped)
            self._writer.expire(self._place, dropped)
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
