"""How fast each queue works at this front end: arrivals, services, waits and responses.

Counts of a sliding window are exact. Times are those of a sample: if more than `SAMPLES_SLOT_MAX`
messages come in a slot of the window, every second of the next slot is followed, or every tenth,
and so on. A message is followed from its first receive until it is settled:

    wait      from the send, after the delay of the queue, until the first receive
    service   from the last receive until the message is settled
    response  from the send, after the delay of the queue, until the message is settled

What another front end receives or settles is not seen, and neither is a delay of a single message.
"""

import time
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from dovemq.core.commands import Lease, Receipt
from dovemq.core.queue import Queue

SLOT_MS: Final = 10_000
SLOTS: Final = 30
"""Slots of the window: five minutes."""
SAMPLES_SLOT_MAX: Final = 200
FOLLOWED_MAX: Final = 2_000
"""Messages of a queue that are followed at the same time; the oldest are given up."""
QUEUES_MAX: Final = 2_000
"""Queues in the table. Further ones are not measured until others have been idle for a window."""

_NS_PER_MS: Final = 1_000_000


class TempoWindow(Struct, frozen=True):
    """The work of a queue in the last `seconds`; times are in milliseconds.

    `repeated` messages were received before; `hits` are receives that found a message.
    """

    seconds: float
    sent: int = 0
    received: int = 0
    repeated: int = 0
    hits: int = 0
    settled: int = 0
    gaps: Sequence[float] = ()
    """Times between arrivals."""
    waits: Sequence[float] = ()
    services: Sequence[float] = ()
    responses: Sequence[float] = ()


class _Slot:
    __slots__ = (
        "gaps", "hits", "number", "received", "repeated", "responses", "sent", "services",
        "settled", "stride", "waits",
    )  # fmt: skip

    def __init__(self, number: int, stride: int) -> None:
        self.number = number
        self.stride = stride
        """One of so many messages is followed."""
        self.sent = self.received = self.repeated = self.hits = self.settled = 0
        self.gaps = array("f")
        self.waits = array("f")
        self.services = array("f")
        self.responses = array("f")


class _Followed(Struct, gc=False):
    wait_ms: float
    first_ns: int
    last_ns: int


class _QueueTempo:
    __slots__ = ("first_ms", "followed", "last_sent_ns", "slots")

    def __init__(self, now_ms: int) -> None:
        self.first_ms = now_ms
        self.slots: deque[_Slot] = deque([_Slot(now_ms // SLOT_MS, 1)], maxlen=SLOTS)
        self.last_sent_ns: int | None = None
        self.followed: dict[tuple[int, int], _Followed] = {}
        """Messages by partition and sequence, the first received first."""

    def slot(self, now_ms: int) -> _Slot:
        last = self.slots[-1]
        number = now_ms // SLOT_MS
        if last.number == number:
            return last
        stride = max(last.sent, last.received) // SAMPLES_SLOT_MAX + 1
        self.slots.append(_Slot(number, stride if last.number == number - 1 else 1))
        return self.slots[-1]


class Tempo:
    """`timer_ns` is a monotonic clock, which is finer than the times of messages."""

    def __init__(
        self,
        timer_ns: Callable[[], int] = time.perf_counter_ns,
        queues_max: int = QUEUES_MAX,
    ) -> None:
        self._timer_ns = timer_ns
        self._queues_max = queues_max
        self._queues: dict[int, _QueueTempo] = {}
        self._swept_ms = 0

    def __len__(self) -> int:
        return len(self._queues)

    def sent(self, queue: Queue, count: int, now_ms: int) -> None:
        """Messages were sent in one request."""
        tempo = self._queues.get(queue.number) or self._add(queue.number, now_ms)
        if tempo is None or not count:
            return
        slot = tempo.slot(now_ms)
        now_ns = self._timer_ns()
        last_ns, tempo.last_sent_ns = tempo.last_sent_ns, now_ns
        if last_ns is not None:
            gap_ms = (now_ns - last_ns) / _NS_PER_MS
            for place in range(slot.sent, slot.sent + count):
                if not place % slot.stride and len(slot.gaps) < SAMPLES_SLOT_MAX:
                    slot.gaps.append(gap_ms)
                gap_ms = 0.0
        slot.sent += count

    def leased(self, queue: Queue, leases: Sequence[Lease], now_ms: int) -> None:
        """A receive is answered with these messages."""
        tempo = self._queues.get(queue.number) or self._add(queue.number, now_ms)
        if tempo is None:
            return
        slot = tempo.slot(now_ms)
        slot.hits += 1
        for lease in leases:
            slot.received += 1
            if lease.receive_count > 1:
                slot.repeated += 1
                self._leased_again(tempo, lease.receipt)
            elif not slot.received % slot.stride and len(slot.waits) < SAMPLES_SLOT_MAX:
                self._follow(tempo, slot, queue, lease, now_ms)

    def settled(self, queue: Queue, receipts: Sequence[Receipt], now_ms: int) -> None:
        """Messages are deleted by their consumers."""
        tempo = self._queues.get(queue.number)
        if tempo is None:
            return
        slot = tempo.slot(now_ms)
        slot.settled += len(receipts)
        for receipt in receipts:
            followed = tempo.followed.pop((receipt.partition, receipt.sequence), None)
            if followed is not None and len(slot.services) < SAMPLES_SLOT_MAX:
                now_ns = self._timer_ns()
                slot.services.append((now_ns - followed.last_ns) / _NS_PER_MS)
                passed_ms = (now_ns - followed.first_ns) / _NS_PER_MS
                slot.responses.append(followed.wait_ms + passed_ms)

    def window(self, queue: Queue, now_ms: int) -> TempoWindow:
        """Counts and samples of the last minutes, up to now."""
        tempo = self._queues.get(queue.number)
        if tempo is None:
            return TempoWindow(0.0)
        first = now_ms // SLOT_MS - SLOTS + 1
        slots = [slot for slot in tempo.slots if slot.number >= first]
        since_ms = max(tempo.first_ms, first * SLOT_MS)

        def joined(name: str) -> Sequence[float]:
            found = array("f")
            for slot in slots:
                found += getattr(slot, name)
            return found

        def total(name: str) -> int:
            return sum(getattr(slot, name) for slot in slots)

        return TempoWindow(
            seconds=(now_ms - since_ms) / 1_000,
            sent=total("sent"),
            received=total("received"),
            repeated=total("repeated"),
            hits=total("hits"),
            settled=total("settled"),
            gaps=joined("gaps"),
            waits=joined("waits"),
            services=joined("services"),
            responses=joined("responses"),
        )

    def _follow(
        self, tempo: _QueueTempo, slot: _Slot, queue: Queue, lease: Lease, now_ms: int
    ) -> None:
        message, receipt = lease.message, lease.receipt
        if message.source is not None:
            # A dead letter keeps the time at which it was sent to another queue.
            return
        wait_ms = float(max(now_ms - message.sent_ms - queue.settings.delay_ms, 0))
        slot.waits.append(wait_ms)
        if len(tempo.followed) >= FOLLOWED_MAX:
            del tempo.followed[next(iter(tempo.followed))]
        now_ns = self._timer_ns()
        tempo.followed[receipt.partition, receipt.sequence] = _Followed(wait_ms, now_ns, now_ns)

    def _leased_again(self, tempo: _QueueTempo, receipt: Receipt) -> None:
        followed = tempo.followed.get((receipt.partition, receipt.sequence))
        if followed is not None:
            followed.last_ns = self._timer_ns()

    def _add(self, number: int, now_ms: int) -> _QueueTempo | None:
        if len(self._queues) >= self._queues_max and now_ms - self._swept_ms >= SLOT_MS:
            self._swept_ms = now_ms
            oldest = now_ms // SLOT_MS - SLOTS
            idle = [key for key, each in self._queues.items() if each.slots[-1].number <= oldest]
            for key in idle:
                del self._queues[key]
        if len(self._queues) >= self._queues_max:
            return None
        tempo = self._queues[number] = _QueueTempo(now_ms)
        return tempo
