"""A queue without an owner, as one front end serves it. Implements `core.ports.Partition`.

Every front end serves it, and none needs a word of another: what they share is in the database.
What this partition promises, and what it does not, is in docs/explanation/coordination.md.
"""

import asyncio
import functools
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

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
)
from dovemq.core.drawing import IndexTuple
from dovemq.core.errors import DoveError, Draining, QueueMissing
from dovemq.core.hint_meters import HintMeters
from dovemq.core.message import Message
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock
from dovemq.core.queue import ADAPTIVE_ORDER, Queue
from dovemq.core.sending import accepted, stored_units
from dovemq.stores.owned.records import RecordCodec
from dovemq.stores.shared_index.buckets import LATE_MS, Buckets, MonotonicMs, bucket_of, is_late
from dovemq.stores.shared_index.holding import ReceiptHolding
from dovemq.stores.shared_index.memory import OwnDoings
from dovemq.stores.shared_index.moving import (
    PlainMoves,
    SerialMoves,
    TupleMoves,
    body_keep_ms,
)
from dovemq.stores.shared_index.ports import BodyRow, IndexTables
from dovemq.stores.shared_index.receiving import ClaimedMessage, IndexReceiving
from dovemq.stores.shared_index.sampling import Sampling
from dovemq.stores.shared_index.sequences import Sequences, adopted_sequence
from dovemq.stores.shared_index.statistics import IndexStatistics
from dovemq.stores.shared_index.surveying import Survey

T = TypeVar("T")
Wake = Callable[[], None]
SERIAL: Final = "serial"


class IndexContext(Struct, frozen=True, eq=False):
    """Everything that the partitions of one front end share.

    `look_ms` is the time after which a parked poll looks again.
    """

    tables: IndexTables
    sequences: Sequences
    clock: Clock
    monotonic_ms: MonotonicMs
    rng: random.Random
    observer: Observer
    look_ms: Callable[[], int]
    hints: HintMeters = msgspec.field(default_factory=HintMeters)


class SharedIndexPartition:
    def __init__(self, queue: Queue, around: IndexContext) -> None:
        self._queue = queue
        self._around = around
        self._codec = RecordCodec()
        self.statistics = IndexStatistics()
        serial = queue.settings.coordination == SERIAL
        tables = around.tables.at_quorum() if serial else around.tables
        number, now_ms = queue.number, around.clock.now_ms
        self._tables = tables
        self._own = own = OwnDoings()
        self._buckets = buckets = Buckets(tables, number, around.monotonic_ms)
        self._plain = plain = PlainMoves(tables, number, buckets, now_ms, self.statistics)
        moves: TupleMoves = plain
        if serial:
            new_claim = functools.partial(around.rng.getrandbits, 62)
            moves = SerialMoves(tables, number, plain, now_ms, new_claim, self.statistics)
        self._receiving = IndexReceiving(
            tables, number, buckets, moves, plain, own, now_ms, around.rng, self.statistics
        )
        self._receiving.expired = self._report_expired
        self._holding = ReceiptHolding(tables, number, moves, plain, own)
        self._survey = Survey(tables, number, buckets, self._receiving, around.monotonic_ms)
        self._sampling = Sampling(tables, number, around.rng, self.statistics)
        if not serial:
            self._receiving.claimed = self._sampling.claimed
        self._follow_hint()
        self._refusal: Callable[[], DoveError] | None = None
        self._watchers: dict[object, Wake] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def clock(self) -> Clock:
        return self._around.clock

    @property
    def watched(self) -> bool:
        return bool(self._watchers)

    def follow(self, queue: Queue) -> None:
        """Use the settings of this version of the queue, unless a newer one is known."""
        if queue.version > self._queue.version:
            self._queue = queue
            self._follow_hint()
            self._wake()

    def _follow_hint(self) -> None:
        """Sample all claims while K adapts."""
        self._sampling.checked = None
        if self._queue.settings.order_hint == ADAPTIVE_ORDER:
            meter = self._around.hints.of(self._queue)
            self._sampling.checked = functools.partial(meter.checked, 1)

    def end(self) -> None:
        """Refuse everything: the queue was removed."""
        self._refusal = functools.partial(QueueMissing, str(self._queue.key))
        self._wake()

    async def close(self) -> None:
        """Refuse everything, and wait for what goes on in the background."""
        self._refusal = self._refusal or Draining
        self._sampling.close()
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        self._begin()
        sequences = self._around.sequences
        await sequences.claim()
        messages = [accepted(draft, sequences.next(now_ms), now_ms) for draft in drafts]
        pairs = zip(messages, drafts, strict=True)
        tuples = [_first(message, now_ms + draft.delay_ms) for message, draft in pairs]
        await self._store(messages, [each.due_ms for each in tuples], now_ms)
        await self._plain.insert(tuples)
        self._around.observer.sent(self._queue, 0, messages)
        self._wake()
        return [Sent(message.message_id, message.sequence) for message in messages]

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        self._begin()
        if self._queue.settings.delivery_paused:
            return Leased([], [], False, None)
        task = self._background(self._receive(ask, now_ms))
        try:
            found, more = await asyncio.shield(task)
        except asyncio.CancelledError:
            self._background(self._give_back(task))
            raise
        self._survey.changed()
        self.statistics.receives += 1
        self.statistics.empty += not found
        self._background(self.close_old_buckets())
        return Leased(
            [self._lease(each, now_ms) for each in found if not each.exhausted],
            [self._lease(each, now_ms) for each in found if each.exhausted],
            more,
            now_ms + self._around.look_ms(),
        )

    async def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> list[Settlement]:
        """A receipt is honoured whatever has become of its message since, `forced` or not.

        Whether somebody else has settled it before is not asked, so the answer is `GONE` only if
        this front end knows it.
        """
        self._begin()
        sequences = [receipt.sequence for receipt in receipts]
        known = [
            sequence in self._own.settled or sequence in sequences[:at]
            for at, sequence in enumerate(sequences)
        ]
        if forced:
            # An operator's receipt does not say where the tuple is.
            await self._buckets.refresh(self._around.clock.now_ms, at_once=True)
            await self._survey.remove(set(sequences), now_ms)
        # A settle whose caller goes away is done all the same, and reported.
        work = self._settle(receipts, known, now_ms, moved=moved)
        await asyncio.shield(self._background(work))
        return [Settlement.GONE if was else Settlement.SETTLED for was in known]

    async def _settle(
        self, receipts: Sequence[Receipt], known: Sequence[bool], now_ms: int, *, moved: bool
    ) -> None:
        await self._holding.settle(receipts, now_ms)
        self._survey.changed()
        settled = [receipt for receipt, was in zip(receipts, known, strict=True) if not was]
        if settled and not moved:
            self._around.observer.settled(self._queue, 0, settled)

    async def extend(self, changes: Sequence[tuple[Receipt, int]], now_ms: int) -> list[Extension]:
        self._begin()
        retention_ms = self._queue.settings.retention_ms
        extend = self._holding.extend
        extensions = await asyncio.gather(
            *(extend(receipt, lease_ms, now_ms, retention_ms) for receipt, lease_ms in changes)
        )
        self._wake()
        return list(extensions)

    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        self._begin()
        await self._holding.release(receipts, now_ms - LATE_MS // 2)
        self._wake()

    async def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> list[Sent]:
        self._begin()
        number = self._queue.number
        wanted = {adopted_sequence(each.message, number): each for each in transfers}
        known = await self._tables.bodies(number, list(wanted))
        messages = {
            sequence: msgspec.structs.replace(transfer.message, sequence=sequence)
            for sequence, transfer in wanted.items()
        }
        fresh = [message for sequence, message in messages.items() if sequence not in known]
        await self._store(fresh, [now_ms] * len(fresh), now_ms)
        tuples = []
        for sequence, transfer in wanted.items():
            row = known.get(sequence)
            if row is not None and (row.settled or await self._is_placed(row, now_ms)):
                continue
            due_ms = now_ms if row is None or is_late(row.born_ms, now_ms) else row.born_ms
            tuples.append(_adopted(messages[sequence], transfer, due_ms))
        if tuples:
            await self._plain.insert(tuples)
        self._wake()
        return [
            Sent(each.message.message_id, adopted_sequence(each.message, number))
            for each in transfers
        ]

    async def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> int:
        self._begin()
        await self._buckets.refresh(self._around.clock.now_ms, at_once=True)
        last_bucket = None if sent_before_ms > now_ms else bucket_of(sent_before_ms)
        dropped = await self._survey.drop(sent_before_ms, count_max, last_bucket, now_ms)
        if dropped:
            self._report_expired(dropped)
        return len(dropped)

    async def peek(self, page: Peek, now_ms: int) -> list[Peeked]:
        self._begin()
        await self._buckets.refresh(self._around.clock.now_ms)
        return await self._survey.peek(page, self._expired_ms(now_ms), now_ms)

    async def counts(self, now_ms: int) -> Counts:
        self._begin()
        await self._buckets.refresh(self._around.clock.now_ms)
        return await self._survey.counts(self._expired_ms(now_ms), now_ms)

    def watch(self, wake: Wake) -> Wake:
        key = object()
        self._watchers[key] = wake
        return lambda: self._unwatch(key)

    def _begin(self) -> None:
        if self._refusal is not None:
            raise self._refusal()

    async def _receive(self, ask: Ask, now_ms: int) -> tuple[list[ClaimedMessage], bool]:
        settings = self._queue.settings
        if isinstance(settings.order_hint, int):
            received = self._receiving.receive(ask, settings, settings.order_hint, now_ms)
        else:
            received = self._receive_adaptively(ask, now_ms)
        found, more = await received
        for each in found:
            lease = (each.before, each.after)
            self._own.leases.put((each.after.sequence, each.after.due_ms), lease)
        return found, more

    async def _receive_adaptively(self, ask: Ask, now_ms: int) -> tuple[list[ClaimedMessage], bool]:
        meter, settings = self._around.hints.of(self._queue), self._queue.settings
        refused = self.statistics.refused
        k = meter.began(now_ms)
        try:
            found, more = await self._receiving.receive(ask, settings, k, now_ms)
        finally:
            meter.ended()
        first = [
            (each.message.sent_ms, each.message.sequence)
            for each in found
            if each.after.receive_count == 1
        ]
        meter.claimed(len(found), first)
        if settings.coordination == SERIAL:
            # A refused claim has met another one, and nothing else has.
            meter.checked(len(found), self.statistics.refused - refused)
        return found, more

    def _expired_ms(self, now_ms: int) -> int:
        """Messages sent until then have expired."""
        return now_ms - self._queue.settings.retention_ms

    async def _give_back(self, task: "asyncio.Task[tuple[list[ClaimedMessage], bool]]") -> None:
        """Release what a receive gets whose caller has gone."""
        found, _ = await task
        now_ms = self._around.clock.now_ms()
        receipts = [self._lease(each, now_ms).receipt for each in found]
        await self._holding.release(receipts, now_ms - LATE_MS // 2)
        self._wake()

    async def close_old_buckets(self) -> None:
        """Drop buckets that are over and empty. Each receive does it; once in a while it counts."""
        self.statistics.closed += await self._buckets.close(self._around.clock.now_ms())

    async def _store(
        self, messages: Sequence[Message], born_ms: Sequence[int], now_ms: int
    ) -> None:
        """Write bodies, before their tuples."""
        rows = []
        for message, born in zip(messages, born_ms, strict=True):
            sequence, checksum, record = self._codec.row(message, (self._queue.number, 0))
            rows.append(BodyRow(sequence, checksum, record, False, born, 0, 0))
        if rows:
            keep_ms = max(body_keep_ms(message.sent_ms, now_ms) for message in messages)
            await self._tables.put_bodies(self._queue.number, rows, keep_ms)

    async def _is_placed(self, row: BodyRow, now_ms: int) -> bool:
        """Whether the first tuple of an adopted message is where it was put long ago."""
        if not is_late(row.born_ms, now_ms):
            return False
        bucket = bucket_of(row.born_ms)
        found = await self._tables.find(self._queue.number, bucket, row.born_ms, row.sequence)
        return found is not None

    def _lease(self, found: ClaimedMessage, now_ms: int) -> Lease:
        after = found.after
        receipt = Receipt(
            self._queue.number, 0, after.sequence, after.receive_count, now_ms, after.due_ms
        )
        return Lease(found.message, receipt, after.receive_count, after.first_received_ms)

    def _report_expired(self, tuples: Sequence[IndexTuple]) -> None:
        sequences = sorted({each.sequence for each in tuples})
        self._around.observer.expired(self._queue, 0, sequences)

    def _background(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, DoveError):
            # Errors of the database are raised to the caller of a receive; the rest is done again.
            raise error

    def _wake(self) -> None:
        self._survey.changed()
        for wake in list(self._watchers.values()):
            wake()

    def _unwatch(self, key: object) -> None:
        self._watchers.pop(key, None)


def _first(message: Message, due_ms: int) -> IndexTuple:
    return IndexTuple(due_ms, message.sequence, 0, 0, 0, message.sent_ms, stored_units(message))


def _adopted(message: Message, transfer: Transfer, due_ms: int) -> IndexTuple:
    return msgspec.structs.replace(
        _first(message, due_ms),
        receive_count=transfer.receive_count,
        first_received_ms=transfer.first_received_ms,
    )
