"""The lifecycle trace as it is recorded: what happened, who asked for it, when it was answered.

Owns the rows until a writer takes them, and bounds them: whoever records never waits, and what
the writer has no room for is dropped and counted. No body, secret or receipt is ever held here.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol
from zlib import crc32

from dovemq.core.commands import Duplicate, Lease, Receipt, Sent
from dovemq.core.message import Attribute, Message
from dovemq.core.queue import Queue
from dovemq.core.sending import attribute_bytes
from dovemq.telemetry.lanes import Chunk, JobText, Lane
from dovemq.telemetry.schema import Event

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 1.0
"""Rows go to the writer one tick after theirs, so that answers to them can be written first."""
ROWS_WAITING_MAX: Final = 400_000
LEASES_KNOWN_MAX: Final = 200_000
"""Messages whose id is remembered from their lease to their settle."""
QUEUE_NAMES_MAX: Final = 1_024
SEQUENCE_ATTRIBUTE: Final = "dovemq.seq"
SEQUENCE_DIGITS_MAX: Final = 18
JOB_ATTRIBUTES: Final = ("dovemq.job_type", "dovemq.job_id", "dovemq.task")
JOB_TEXT_LENGTH_MAX: Final = 128
"""A longer one is left out: an identifier is meant, not contents."""


class Sink(Protocol):
    @property
    def rows_waiting(self) -> int:
        """Taken and not yet looked at."""
        ...

    def put(self, chunk: Chunk) -> None: ...


class Trace:
    def __init__(
        self, sink: Sink, now_us: Callable[[], int], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.now_us = now_us
        self.rows_dropped = 0
        self._sink = sink
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._chunk = Chunk()
        self._before = Chunk()
        self._rows_held = 0
        self._dropped_told = 0
        self._receive_next = 1
        self._names: dict[int, str] = {}
        self._known: dict[int, str | tuple[str, int]] = {}
        self._known_before: dict[int, str | tuple[str, int]] = {}

    def trail(self, client: str, read_us: int) -> "RequestTrail":
        return RequestTrail(self, client, read_us)

    def sent(self, queue: Queue, partition: int, messages: Sequence[Message]) -> None:
        lane = self._chunk.sent
        group = self._begin(lane, queue, partition, len(messages), self.now_us())
        if group is None:
            return
        lane.claims[messages[0].sequence] = group
        lane.senders.append(messages[0].sender)
        _add_bodies(lane, messages)

    def settled(self, queue: Queue, partition: int, receipts: Sequence[Receipt]) -> None:
        lane = self._chunk.settled
        group = self._begin(lane, queue, partition, len(receipts), self.now_us())
        if group is None:
            return
        lane.claims[receipts[0].sequence] = group
        for receipt in receipts:
            self._add_known(lane, receipt.sequence)
            lane.counts.append(receipt.receive_count)

    def expired(self, queue: Queue, partition: int, sequences: Sequence[int]) -> None:
        lane = self._chunk.lanes[Event.EXPIRED]
        if self._begin(lane, queue, partition, len(sequences), self.now_us()) is not None:
            for sequence in sequences:
                self._add_known(lane, sequence)

    def redriven(self, queue: Queue, leases: Sequence[Lease]) -> None:
        lane = self._chunk.lanes[Event.REDRIVEN]
        partition = leases[0].receipt.partition
        if self._begin(lane, queue, partition, len(leases), self.now_us()) is not None:
            for lease in leases:
                message = lease.message
                lane.ids.append(message.message_id)
                lane.numbers.append(send_number(message))
                lane.counts.append(lease.receive_count)

    def close(self) -> None:
        """Hand over all that is held."""
        if self._timer is not None:
            self._timer.cancel()
        self._tick()
        self._tick()

    def claim(self, event: Event, sequence: int, trail: "RequestTrail") -> tuple[Lane, int] | None:
        """The group that the request of this trail made, if it is still held."""
        for chunk in (self._chunk, self._before):
            lane = chunk.lanes[event]
            group = lane.claims.pop(sequence, None)
            if group is not None:
                lane.clients[group] = trail.client
                lane.reads_us[group] = trail.read_us
                return lane, group
        return None

    def lease(self, leases: Sequence[Lease]) -> int:
        """The first number of these leases; their ids are known from now on."""
        known = self._known
        for lease in leases:
            message = lease.message
            if message.attributes:
                known[message.sequence] = (message.message_id, send_number(message))
            else:
                known[message.sequence] = message.message_id
        if len(known) > LEASES_KNOWN_MAX // 2:
            self._known_before, self._known = known, {}
        first = self._receive_next
        self._receive_next += len(leases)
        return first

    def delivered(
        self, trail: "RequestTrail", queue: Queue, leases: Sequence[Lease], first: int, it_us: int
    ) -> None:
        lane = self._chunk.leased
        messages = [lease.message for lease in leases]
        if len({message.sender for message in messages}) > 1:
            for at, lease in enumerate(leases):
                self.delivered(trail, queue, [lease], first + at, it_us)
            return
        rows = lane.rows
        group = self._begin(lane, queue, leases[0].receipt.partition, len(leases), it_us)
        if group is None:
            return
        self._answered(lane, group, trail, self.now_us())
        lane.senders.append(messages[0].sender)
        lane.receives.append(first - rows)
        _add_bodies(lane, messages)
        lane.counts += [lease.receive_count for lease in leases]

    def missed(self, trail: "RequestTrail", queue: Queue) -> None:
        lane = self._chunk.lanes[Event.MISSED]
        now_us = self.now_us()
        group = self._begin(lane, queue, 0, 1, now_us)
        if group is not None:
            self._answered(lane, group, trail, now_us)

    def _answered(self, lane: Lane, group: int, trail: "RequestTrail", now_us: int) -> None:
        lane.clients[group] = trail.client
        lane.reads_us[group] = trail.read_us
        lane.written_us[group] = now_us

    def _begin(
        self, lane: Lane, queue: Queue, partition: int, count: int, time_us: int
    ) -> int | None:
        """The position of a new group, or None when there is no room for it."""
        if self._rows_held + self._sink.rows_waiting + count > ROWS_WAITING_MAX:
            self.rows_dropped += count
            return None
        self._rows_held += count
        if self._timer is None:
            self._timer = self._loop.call_later(TICK_SECONDS, self._tick)
        name = self._names.get(queue.number) or self._name(queue)
        return lane.begin(name, partition, count, time_us)

    def _add_known(self, lane: Lane, sequence: int) -> None:
        known = self._known.pop(sequence, None) or self._known_before.pop(sequence, None)
        if known is None or isinstance(known, str):
            lane.ids.append(known)
            lane.numbers.append(sequence)
        else:
            lane.ids.append(known[0])
            lane.numbers.append(known[1])

    def _name(self, queue: Queue) -> str:
        if len(self._names) >= QUEUE_NAMES_MAX:
            self._names.clear()
        name = self._names[queue.number] = str(queue.key)
        return name

    def _tick(self) -> None:
        before, self._before, self._chunk = self._before, self._chunk, Chunk()
        self._timer = None
        rows = before.rows
        if rows:
            self._rows_held -= rows
            self._sink.put(before)
        if self._rows_held:
            self._timer = self._loop.call_later(TICK_SECONDS, self._tick)
        if self.rows_dropped > self._dropped_told:
            dropped = self.rows_dropped - self._dropped_told
            self._dropped_told = self.rows_dropped
            log.warning("trace: %d rows dropped, the writer cannot follow", dropped)


class RequestTrail:
    """One request's part in the trace; implements `core.observing.Trail`."""

    __slots__ = (
        "_first",
        "_group",
        "_it_us",
        "_lane",
        "_leases",
        "_queue",
        "_trace",
        "client",
        "read_us",
    )

    def __init__(self, trace: Trace, client: str, read_us: int) -> None:
        self.client = client
        self.read_us = read_us
        self._trace = trace
        self._lane: Lane | None = None
        self._queue: Queue | None = None
        self._leases: Sequence[Lease] = ()

    def sent(self, answers: Sequence[Sent | Duplicate]) -> None:
        # A duplicate has the sequence of the first, whose row another request may look for.
        self._claim(Event.SENT, [each.sequence for each in answers if type(each) is Sent])

    def settled(self, receipts: Sequence[Receipt]) -> None:
        self._claim(Event.SETTLED, [receipt.sequence for receipt in receipts])

    def leased(self, queue: Queue, leases: Sequence[Lease]) -> None:
        self._queue = queue
        self._leases = leases
        self._it_us = self._trace.now_us()
        self._first = self._trace.lease(leases)

    def missed(self, queue: Queue) -> None:
        self._queue = queue

    def written(self) -> None:
        trace = self._trace
        if self._lane is not None:
            self._lane.written_us[self._group] = trace.now_us()
        elif self._leases and self._queue is not None:
            trace.delivered(self, self._queue, self._leases, self._first, self._it_us)
        elif self._queue is not None:
            trace.missed(self, self._queue)

    def _claim(self, event: Event, sequences: Sequence[int]) -> None:
        for sequence in sequences:
            claimed = self._trace.claim(event, sequence, self)
            if claimed is not None:
                self._lane, self._group = claimed
                return


def send_number(message: Message) -> int:
    """The sender's own number of a message, if it gave one, else the store's."""
    given = message.attributes.get(SEQUENCE_ATTRIBUTE)
    text = given.value if given is not None else ""
    if not isinstance(text, str) or len(text) > SEQUENCE_DIGITS_MAX:
        return message.sequence
    return int(text) if text.isascii() and text.isdigit() else message.sequence


def _add_bodies(lane: Lane, messages: Sequence[Message]) -> None:
    ids, numbers = lane.ids, lane.numbers
    sizes, sums = lane.bodies_bytes, lane.bodies_crc
    for message in messages:
        encoded = message.body.encode()
        size = len(encoded)
        number = message.sequence
        attributes = message.attributes
        if attributes:
            size += sum(map(attribute_bytes, attributes.items()))
            number = send_number(message)
            job = _job(attributes)
            if any(job):
                lane.jobs[len(ids)] = job
        ids.append(message.message_id)
        numbers.append(number)
        sizes.append(size)
        sums.append(crc32(encoded))


def _job(attributes: Mapping[str, Attribute]) -> JobText:
    job_type, job_id, task = (_text(attributes.get(name)) for name in JOB_ATTRIBUTES)
    return job_type, job_id, task


def _text(attribute: Attribute | None) -> str | None:
    value = attribute.value if attribute is not None else None
    return value if isinstance(value, str) and len(value) <= JOB_TEXT_LENGTH_MAX else None
