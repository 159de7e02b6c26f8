"""The store in memory: the plainest implementation of `core/ports.py`, opened by `memory://`.

It is the oracle: tests compare the other stores with it, message by message. It therefore shares
rules on values with them (`core/choosing.py`) but no structure of messages: a partition is a dict
of rows in order of sequence, and every method filters it and loops over it. A receive costs more
the longer the queue is, and nothing survives the process. The embedded store has neither limit.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from dovemq.core import choosing, limits
from dovemq.core.commands import (
    Ask,
    Counts,
    Draft,
    Duplicate,
    Extension,
    Lease,
    Leased,
    Peek,
    Peeked,
    Receipt,
    Sent,
    Settlement,
    Transfer,
    Visibility,
)
from dovemq.core.coordination import OWNED
from dovemq.core.errors import Draining, QueueMissing
from dovemq.core.observing import Observer
from dovemq.core.queue import Queue
from dovemq.core.sending import accepted, stored_units
from dovemq.stores.memory_catalogue import MemoryCatalogue
from dovemq.stores.memory_ledger import MemoryLedger
from dovemq.stores.memory_receive import MemoryGroups, MemoryRow, Receive


class MemoryPartition:
    def __init__(
        self,
        queue: Queue,
        number: int,
        sequences: Iterator[int],
        rng: random.Random,
        check_queue: Callable[[Queue], None],
        observer: Observer,
    ) -> None:
        self._queue = queue
        self._number = number
        self._sequences = sequences
        self._rng = rng
        self._check_queue = check_queue
        self._observer = observer
        self._rows: dict[int, MemoryRow] = {}
        self.groups = MemoryGroups()
        self._first_sends: dict[str, tuple[int, Sent]] = {}
        self._sent_ms_min = 0
        self._watchers: dict[object, Callable[[], None]] = {}

    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        self._begin(now_ms)
        answers = [self._send(draft, now_ms) for draft in drafts]
        sent = [answer.sequence for answer in answers if isinstance(answer, Sent)]
        if sent:
            messages = [self._rows[sequence].message for sequence in sent]
            self._observer.sent(self._queue, self._number, messages)
        self._wake()
        return answers

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        self._begin(now_ms)
        settings = self._queue.settings
        if settings.delivery_paused:
            return Leased([], [], False, None)
        self.groups.forget_old_leases(now_ms)
        receive = Receive(self._rows.values(), settings, self.groups, ask, now_ms)
        if settings.fifo:
            receive.take_fifo()
        else:
            receive.take_standard(self._rng)
        return Leased(
            [self._lease(row, now_ms) for row in receive.taken],
            [self._lease(row, now_ms) for row in receive.exhausted],
            receive.more(),
            receive.next_due_ms(),
        )

    async def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> list[Settlement]:
        self._begin(now_ms)
        settlements = [
            self._delete(receipt) if forced else self._settle(receipt, now_ms)
            for receipt in receipts
        ]
        pairs = zip(receipts, settlements, strict=True)
        settled = [receipt for receipt, each in pairs if each is Settlement.SETTLED]
        if settled and not moved:
            self._observer.settled(self._queue, self._number, settled)
        self._wake()
        return settlements

    async def extend(self, changes: Sequence[tuple[Receipt, int]], now_ms: int) -> list[Extension]:
        self._begin(now_ms)
        extensions = [self._extend(receipt, lease_ms, now_ms) for receipt, lease_ms in changes]
        self._wake()
        return extensions

    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        self._begin(now_ms)
        for receipt in receipts:
            row = self._rows.get(receipt.sequence)
            if row and row.receive_count == receipt.receive_count:
                row.release()
        self._wake()

    async def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> list[Sent]:
        self._begin(now_ms)
        adopted = [self._adopt(transfer, now_ms) for transfer in transfers]
        self._wake()
        return adopted

    async def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> int:
        self._begin(now_ms)
        older = [row for row in self._rows.values() if row.message.sent_ms < sent_before_ms]
        self._expire(older[:count_max])
        self._forget_sends(sent_before_ms)
        self._wake()
        return len(older[:count_max])

    async def peek(self, page: Peek, now_ms: int) -> list[Peeked]:
        self._begin(now_ms)
        after = (row for row in self._rows.values() if row.sequence > page.after_sequence)
        return [
            Peeked(
                row.message,
                row.visibility(now_ms),
                row.visible_ms,
                row.receive_count,
                row.first_received_ms,
            )
            for row in itertools.islice(after, page.count_max)
        ]

    async def counts(self, now_ms: int) -> Counts:
        self._begin(now_ms)
        rows = self._rows.values()
        tally = Counter(row.visibility(now_ms) for row in rows)
        return Counts(
            visible=tally[Visibility.VISIBLE],
            leased=tally[Visibility.LEASED],
            delayed=tally[Visibility.DELAYED],
            oldest_ms=min(
                (row.message.sent_ms for row in rows if row.visible(now_ms)), default=None
            ),
            bytes=sum(stored_units(row.message) for row in rows) * limits.STORED_UNIT_BYTES,
        )

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        key = object()
        self._watchers[key] = wake
        return lambda: self._unwatch(key)

    def follow(self, queue: Queue) -> None:
        """Use the settings of this version of the queue, unless a newer one is known."""
        if queue.version > self._queue.version:
            self._queue = queue
            self._wake()

    def _begin(self, now_ms: int) -> None:
        """Start of every method: refuse a removed queue, and remove expired messages."""
        self._check_queue(self._queue)
        sent_until_ms = now_ms - self._queue.settings.retention_ms
        if self._sent_ms_min > sent_until_ms:
            return
        rows = self._rows.values()
        self._expire([row for row in rows if row.message.sent_ms <= sent_until_ms])
        self._sent_ms_min = min(
            (row.message.sent_ms for row in self._rows.values()), default=now_ms
        )

    def _send(self, draft: Draft, now_ms: int) -> Sent | Duplicate:
        key = self._deduplication_key(draft)
        if key is not None:
            self._forget_sends(now_ms - limits.DEDUPLICATION_MS + 1)
            if key in self._first_sends:
                _, first = self._first_sends[key]
                return Duplicate(first.message_id, first.sequence)
        message = accepted(draft, next(self._sequences), now_ms)
        self._add(MemoryRow(message, visible_ms=now_ms + draft.delay_ms))
        sent = Sent(message.message_id, message.sequence)
        if key is not None:
            self._first_sends[key] = (now_ms, sent)
        return sent

    def _deduplication_key(self, draft: Draft) -> str | None:
        settings = self._queue.settings
        if not settings.fifo or draft.group is None or draft.deduplication_id is None:
            return None
        return choosing.deduplication_key(settings, draft.group, draft.deduplication_id)

    def _forget_sends(self, sent_before_ms: int) -> None:
        """Remove deduplication keys of older sends; the dict is in order of time."""
        while self._first_sends:
            key, (first_ms, _) = next(iter(self._first_sends.items()))
            if first_ms >= sent_before_ms:
                return
            del self._first_sends[key]

    def _lease(self, row: MemoryRow, now_ms: int) -> Lease:
        receipt = Receipt(self._queue.number, self._number, row.sequence, row.receive_count, now_ms)
        return Lease(row.message, receipt, row.receive_count, row.first_received_ms)

    def _settle(self, receipt: Receipt, now_ms: int) -> Settlement:
        row = self._rows.get(receipt.sequence)
        if row is None:
            return Settlement.GONE
        if self._queue.settings.fifo and not _holds(receipt, row, now_ms):
            return Settlement.EXPIRED
        self._remove(row)
        return Settlement.SETTLED

    def _delete(self, receipt: Receipt) -> Settlement:
        row = self._rows.get(receipt.sequence)
        if row is None:
            return Settlement.GONE
        self._remove(row)
        return Settlement.SETTLED

    def _extend(self, receipt: Receipt, lease_ms: int, now_ms: int) -> Extension:
        row = self._rows.get(receipt.sequence)
        if row is None:
            return Extension.GONE
        fifo = self._queue.settings.fifo
        if receipt.receive_count < row.receive_count and not lease_ms and not fifo:
            return Extension.EXTENDED
        if not row.leased(now_ms):
            return self._renew(receipt, row, lease_ms, now_ms)
        if not _holds(receipt, row, now_ms):
            return Extension.STALE
        row.visible_ms = now_ms + lease_ms
        return Extension.EXTENDED

    def _renew(self, receipt: Receipt, row: MemoryRow, lease_ms: int, now_ms: int) -> Extension:
        """Hide a message again whose newest lease has ended, unless it is FIFO."""
        settings = self._queue.settings
        newest = receipt.receive_count == row.receive_count
        if settings.fifo or not newest or not row.visible(now_ms):
            return Extension.NOT_LEASED
        if not lease_ms:
            return Extension.EXTENDED
        if row.group is not None and settings.group_concurrency is not None:
            leases = [r for r in self._rows.values() if r.group == row.group and r.leased(now_ms)]
            if len(leases) >= settings.group_concurrency:
                return Extension.NOT_LEASED
        row.visible_ms = now_ms + lease_ms
        return Extension.EXTENDED

    def _adopt(self, transfer: Transfer, now_ms: int) -> Sent:
        message_id = transfer.message.message_id
        for row in self._rows.values():
            if row.adopted and row.message.message_id == message_id:
                return Sent(message_id, row.sequence)
        sent_ms = now_ms if self._queue.settings.fifo else transfer.message.sent_ms
        message = msgspec.structs.replace(
            transfer.message, sequence=next(self._sequences), sent_ms=sent_ms
        )
        self._add(
            MemoryRow(
                message,
                visible_ms=now_ms,
                receive_count=transfer.receive_count,
                first_received_ms=transfer.first_received_ms,
                adopted=True,
            )
        )
        return Sent(message_id, message.sequence)

    def _add(self, row: MemoryRow) -> None:
        self._rows[row.sequence] = row
        self._sent_ms_min = min(self._sent_ms_min, row.message.sent_ms)
        if row.group is not None:
            self.groups.joined(row.group, row.message.sent_ms)

    def _expire(self, rows: Sequence[MemoryRow]) -> None:
        for row in rows:
            self._remove(row)
        if rows:
            sequences = [row.sequence for row in rows]
            self._observer.expired(self._queue, self._number, sequences)

    def _remove(self, row: MemoryRow) -> None:
        del self._rows[row.sequence]
        if row.group is not None:
            self.groups.left(row.group)

    def _wake(self) -> None:
        for wake in list(self._watchers.values()):
            wake()

    def _unwatch(self, key: object) -> None:
        self._watchers.pop(key, None)


def _holds(receipt: Receipt, row: MemoryRow, now_ms: int) -> bool:
    """Whether the receipt is that of the current lease."""
    return row.leased(now_ms) and row.receive_count == receipt.receive_count


class MemoryStore:
    coordinations = OWNED

    def __init__(
        self, rng: random.Random, receipt_key: bytes, observer: Observer | None = None
    ) -> None:
        self.catalogue = MemoryCatalogue(self._check_open, self._forget)
        self.ledger = MemoryLedger(self._check_open, {})
        self.receipt_key = receipt_key
        self._rng = rng
        self._observer = observer or Observer()
        self._sequences = itertools.count(1)
        self._partitions: dict[tuple[int, int], MemoryPartition] = {}
        self._closed = False

    def partition(self, queue: Queue, number: int) -> MemoryPartition:
        place = (queue.number, number)
        if place not in self._partitions:
            self._check_queue(queue)
            self._partitions[place] = self._new_partition(queue, number)
        self._partitions[place].follow(queue)
        return self._partitions[place]

    async def close(self) -> None:
        self._closed = True
        self._partitions.clear()

    def _new_partition(self, queue: Queue, number: int) -> MemoryPartition:
        return MemoryPartition(
            queue, number, self._sequences, self._rng, self._check_queue, self._observer
        )

    def _check_open(self) -> None:
        if self._closed:
            raise Draining()

    def _check_queue(self, queue: Queue) -> None:
        self._check_open()
        if not self.catalogue.holds(queue):
            raise QueueMissing(str(queue.key))

    def _forget(self, queue: Queue) -> None:
        for place in [place for place in self._partitions if place[0] == queue.number]:
            del self._partitions[place]
