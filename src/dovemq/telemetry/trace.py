"""The recorder of the lifecycle trace: events, their clients, and the times of their responses.

It owns the rows until a writer takes them. Recording never waits: rows that the writer has no room
for are dropped and counted. Bodies and receipts are kept until a few responses are written, or for
a second; rows contain none of them.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeVar
from zlib import crc32

from msgspec import Struct

from dovemq.core.commands import Duplicate, Lease, Receipt, Sent
from dovemq.core.message import Attribute, Message
from dovemq.core.queue import Queue
from dovemq.core.sending import attribute_bytes
from dovemq.telemetry.lanes import (
    ENTRY,
    NEVER,
    NOBODY,
    Chunk,
    JobText,
    Lane,
    entry_of,
    entry_unknown,
)
from dovemq.telemetry.schema import TraceEvent

log = logging.getLogger(__name__)

K = TypeVar("K")

TICK_SECONDS: Final = 1.0
"""The time for which an event waits for its response to be written, and the interval of checks."""
CHUNK_ROWS: Final = 20_000
CHUNK_TICKS_MAX: Final = 5
"""Rows go to the writer when there are CHUNK_ROWS of them, or after this many ticks."""
ROWS_WAITING_MAX: Final = 400_000
ANSWERED_MAX: Final = 32
"""Responses that are recorded together: code that runs once in a request takes three times as long
as in a loop, because the processor's caches are cold."""
TOLD_MAX: Final = 10_000
"""Sends, and settles, that wait for their responses to be written."""
MESSAGES_KNOWN_MAX: Final = 200_000
"""Messages whose entries are remembered from their send, or first lease, to their settle."""
QUEUE_NAMES_MAX: Final = 1_024
PARTITION_BITS: Final = 16
SEQUENCE_BITS: Final = 64
SEQUENCE_ATTRIBUTE: Final = "dovemq.seq"
SEQUENCE_DIGITS_MAX: Final = 18
JOB_ATTRIBUTES: Final = ("dovemq.job_type", "dovemq.job_id", "dovemq.task")
JOB_TEXT_LENGTH_MAX: Final = 128
"""Longer values are left out: they should be identifiers, not contents."""


class ChunkSink(Protocol):
    @property
    def rows_waiting(self) -> int:
        """Rows that were put here and not taken yet."""

    def put(self, chunk: Chunk) -> None: ...


class Trace:
    """The trace of one process. `now_ns` never goes backwards; the writer knows its zero.

    An event of a store waits under its first message until its response has been written, or until
    it is clear that none will be. Sequences are unique only within a partition, so that messages
    are known by queue, partition and sequence.
    """

    def __init__(
        self, sink: ChunkSink, now_ns: Callable[[], int], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.now_ns = now_ns
        self.rows_dropped = 0
        self._sink = sink
        self._loop = loop
        self._chunk = Chunk()
        self._room = ROWS_WAITING_MAX
        self._dropped_told = 0
        self._ticks = 0
        self._receive_next = 1
        self._names: dict[int, str] = {}
        self._known: dict[int, bytes] = {}
        self._known_before: dict[int, bytes] = {}
        self._sent: dict[str, tuple[int, Queue, int, Sequence[Message]]] = {}
        self._settled: dict[int, tuple[int, Queue, int, Sequence[Receipt]]] = {}
        self.answered: list[RequestTrail] = []
        """Requests whose responses are written and whose rows are recorded next."""
        self._timer = loop.call_later(TICK_SECONDS, self._tick)

    def trail(self, client: str, read_ns: int) -> "RequestTrail":
        return RequestTrail(self, client, read_ns)

    def sent(self, queue: Queue, partition: int, messages: Sequence[Message]) -> None:
        if len(self._sent) >= TOLD_MAX:
            self._give_up(self.now_ns())
        self._sent[messages[0].message_id] = (self.now_ns(), queue, partition, messages)

    def settled(self, queue: Queue, partition: int, receipts: Sequence[Receipt]) -> None:
        if len(self._settled) >= TOLD_MAX:
            self._give_up(self.now_ns())
        first = _key(queue.number, partition, receipts[0].sequence)
        self._settled[first] = (self.now_ns(), queue, partition, receipts)

    def expired(self, queue: Queue, partition: int, sequences: Sequence[int]) -> None:
        self.record_answered()
        lane = self._chunk.lanes[TraceEvent.EXPIRED]
        if self._has_room(len(sequences)):
            for sequence in sequences:
                lane.entries += self._forgotten(queue.number, partition, sequence)
            lane.end_group(len(sequences), self._name(queue), partition, self.now_ns())

    def redriven(self, queue: Queue, leases: Sequence[Lease]) -> None:
        lane = self._chunk.lanes[TraceEvent.REDRIVEN]
        for partition, some in _by_partition(leases):
            if self._has_room(len(some)):
                lane.entries += b"".join(_entry(lease.message) for lease in some)
                lane.counts.extend(lease.receive_count for lease in some)
                lane.end_group(len(some), self._name(queue), partition, self.now_ns())

    def exchanged(self, queue: Queue, leases: Sequence[Lease]) -> None:
        lane = self._chunk.lanes[TraceEvent.EXCHANGED]
        for partition, some in _by_partition(leases):
            if self._has_room(len(some)):
                for lease in some:
                    self._forgotten(queue.number, partition, lease.message.sequence)
                    lane.entries += _entry(lease.message)
                lane.end_group(len(some), self._name(queue), partition, self.now_ns())

    def close(self) -> None:
        """Hand all rows to the writer."""
        self._timer.cancel()
        self._give_up(self.now_ns())
        self._hand_over()

    def record_answered(self) -> None:
        answered, self.answered = self.answered, []
        for trail in answered:
            trail.record()
        self._bound_known()

    def record_sent(self, message_id: str, trail: "RequestTrail") -> None:
        """Record a send whose response was written, or will not be.

        `message_id` is that of its first message; others have no effect.
        """
        told = self._sent.pop(message_id, None)
        if told is None or not self._has_room(len(told[3])):
            return
        at_ns, queue, partition, messages = told
        lane, known = self._chunk.sent, self._known
        for message in messages:
            entry = known[_key(queue.number, partition, message.sequence)] = _entry(message)
            lane.entries += entry
            if message.attributes:
                _add_job(lane, message.attributes)
        self._end(lane, len(messages), queue, partition, at_ns, trail, messages[0].sender)

    def record_settled(self, first: int, trail: "RequestTrail") -> None:
        """`first` is the key of the first message of the event; others have no effect."""
        told = self._settled.pop(first, None)
        if told is None:
            return
        settled_ns, queue, partition, receipts = told
        if self._has_room(len(receipts)):
            lane = self._chunk.settled
            for receipt in receipts:
                lane.entries += self._forgotten(queue.number, partition, receipt.sequence)
                lane.counts.append(receipt.receive_count)
            self._end(lane, len(receipts), queue, partition, settled_ns, trail)

    def number_leases(self, count: int) -> int:
        """The number of the first of `count` leases."""
        first = self._receive_next
        self._receive_next += count
        return first

    def record_leased(
        self, queue: Queue, leases: Sequence[Lease], first: int, it_ns: int, trail: "RequestTrail"
    ) -> None:
        if len(leases) > 1 and len({_origin(lease) for lease in leases}) > 1:
            for at, lease in enumerate(leases):
                self.record_leased(queue, (lease,), first + at, it_ns, trail)
        elif self._has_room(len(leases)):
            sender, partition = _origin(leases[0])
            lane, known = self._chunk.leased, self._known
            for lease in leases:
                message = lease.message
                key = _key(queue.number, partition, message.sequence)
                lane.entries += known.get(key) or self._learnt(key, message)
                lane.counts.append(lease.receive_count)
                if message.attributes:
                    _add_job(lane, message.attributes)
            self._end(lane, len(leases), queue, partition, it_ns, trail, sender, first)

    def record_missed(self, queue: Queue, trail: "RequestTrail") -> None:
        if self._has_room(1):
            lane = self._chunk.lanes[TraceEvent.MISSED]
            # A receive from a queue of several partitions has missed in all that it looked into.
            partition = NOBODY if queue.settings.layout.highest else 0
            self._end(lane, 1, queue, partition, trail.written_ns, trail)

    def _end(
        self,
        lane: Lane,
        rows: int,
        queue: Queue,
        partition: int,
        time_ns: int,
        trail: "RequestTrail",
        sender: str | None = None,
        receives: int = 0,
    ) -> None:
        answered = (trail.client, trail.read_ns, trail.written_ns)
        lane.end_group(rows, self._name(queue), partition, time_ns, *answered, sender, receives)

    def _has_room(self, count: int) -> bool:
        self._room -= count
        if self._room >= 0:
            return True
        self.rows_dropped += count
        return False

    def _learnt(self, key: int, message: Message) -> bytes:
        """The entry of a message that was sent long ago, or before this process started."""
        known = self._known_before.pop(key, None) or _entry(message)
        self._known[key] = known
        return known

    def _forgotten(self, queue_number: int, partition: int, sequence: int) -> bytes:
        """Forget a message that is gone; returns its entry."""
        key = _key(queue_number, partition, sequence)
        known = self._known.pop(key, None) or self._known_before.pop(key, None)
        return known or entry_unknown(sequence)

    def _bound_known(self) -> None:
        if len(self._known) > MESSAGES_KNOWN_MAX // 2:
            self._known_before, self._known = self._known, {}

    def _name(self, queue: Queue) -> str:
        name = self._names.get(queue.number)
        if name is None:
            if len(self._names) >= QUEUE_NAMES_MAX:
                self._names.clear()
            name = self._names[queue.number] = str(queue.key)
        return name

    def _tick(self) -> None:
        self._timer = self._loop.call_later(TICK_SECONDS, self._tick)
        self._give_up(self.now_ns() - int(TICK_SECONDS * 1e9))
        self._ticks += 1
        if self._ticks >= CHUNK_TICKS_MAX or self._chunk.rows >= CHUNK_ROWS:
            self._hand_over()

    def _give_up(self, until_ns: int) -> None:
        """Record the events until that time whose responses were not written."""
        self.record_answered()
        nobody = RequestTrail(self)
        for message_id in _older(self._sent, until_ns):
            self.record_sent(message_id, nobody)
        for first in _older(self._settled, until_ns):
            self.record_settled(first, nobody)

    def _hand_over(self) -> None:
        self._ticks = 0
        if self._chunk.rows:
            self._sink.put(self._chunk)
            self._chunk = Chunk()
        self._room = ROWS_WAITING_MAX - self._sink.rows_waiting
        if self.rows_dropped > self._dropped_told:
            dropped = self.rows_dropped - self._dropped_told
            self._dropped_told = self.rows_dropped
            log.warning("trace: %d rows dropped, the writer cannot follow", dropped)


class RequestTrail(Struct, eq=False, gc=False):
    """The trail of one request in the trace; implements `core.observing.Trail`.

    References to it end when it is recorded, so it needs no garbage collection.
    """

    _trace: Trace
    client: str | None = None
    read_ns: int = NEVER
    written_ns: int = NEVER
    _sent: Sequence[str] = ()
    _receipts: Sequence[Receipt] = ()
    _queue: Queue | None = None
    _leases: Sequence[Lease] = ()
    _it_ns: int = NEVER
    _first: int = 0

    def sent(self, answers: Sequence[Sent | Duplicate]) -> None:
        # A duplicate has the ids of the first send, which belongs to another request.
        self._sent = [answer.message_id for answer in answers if type(answer) is Sent]

    def settled(self, receipts: Sequence[Receipt]) -> None:
        self._receipts = receipts

    def leased(self, queue: Queue, leases: Sequence[Lease]) -> None:
        self._queue = queue
        self._leases = leases
        self._it_ns = self._trace.now_ns()
        self._first = self._trace.number_leases(len(leases))

    def missed(self, queue: Queue) -> None:
        self._queue = queue

    def written(self) -> None:
        trace = self._trace
        self.written_ns = trace.now_ns()
        trace.answered.append(self)
        if len(trace.answered) >= ANSWERED_MAX:
            trace.record_answered()

    def record(self) -> None:
        trace = self._trace
        # An event is kept under its first message; there is one event for each partition.
        if self._sent:
            for message_id in self._sent:
                trace.record_sent(message_id, self)
        elif self._receipts:
            for each in self._receipts:
                key = _key(each.queue_number, each.partition, each.sequence)
                trace.record_settled(key, self)
        elif self._queue is None:
            return
        elif self._leases:
            trace.record_leased(self._queue, self._leases, self._first, self._it_ns, self)
        else:
            trace.record_missed(self._queue, self)


def send_number(message: Message) -> int:
    """The number that the sender gave the message, else its sequence."""
    given = message.attributes.get(SEQUENCE_ATTRIBUTE)
    text = given.value if given is not None else ""
    if not isinstance(text, str) or len(text) > SEQUENCE_DIGITS_MAX:
        return message.sequence
    return int(text) if text.isascii() and text.isdigit() else message.sequence


def _key(queue_number: int, partition: int, sequence: int) -> int:
    """One number for a message of this store: faster to make and to look up than a tuple."""
    return (queue_number << PARTITION_BITS | partition) << SEQUENCE_BITS | sequence


def _origin(lease: Lease) -> tuple[str, int]:
    return lease.message.sender, lease.receipt.partition


def _by_partition(leases: Sequence[Lease]) -> Iterator[tuple[int, list[Lease]]]:
    ordered = sorted(leases, key=lambda lease: lease.receipt.partition)
    for partition, some in itertools.groupby(ordered, lambda lease: lease.receipt.partition):
        yield partition, list(some)


def _older(told: Mapping[K, tuple[int, Queue, int, object]], until_ns: int) -> list[K]:
    """The keys of events until that time, the oldest first."""
    found = []
    for key, (told_ns, *_) in told.items():
        if told_ns > until_ns:
            break
        found.append(key)
    return found


def _entry(message: Message) -> bytes:
    encoded = message.body.encode()
    attributes = message.attributes
    if not attributes:
        return entry_of(message.message_id, message.sequence, len(encoded), crc32(encoded))
    size = len(encoded) + sum(map(attribute_bytes, attributes.items()))
    return entry_of(message.message_id, send_number(message), size, crc32(encoded))


def _add_job(lane: Lane, attributes: Mapping[str, Attribute]) -> None:
    """Add the job of the row whose entry was added last."""
    if any(job := _job(attributes)):
        lane.jobs[len(lane.entries) // ENTRY.size - 1] = job


def _job(attributes: Mapping[str, Attribute]) -> JobText:
    job_type, job_id, task = (_text(attributes.get(name)) for name in JOB_ATTRIBUTES)
    return job_type, job_id, task


def _text(attribute: Attribute | None) -> str | None:
    value = attribute.value if attribute is not None else None
    return value if isinstance(value, str) and len(value) <= JOB_TEXT_LENGTH_MAX else None
