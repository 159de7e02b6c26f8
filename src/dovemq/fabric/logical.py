"""A queue of several partitions behind the interface of one.

Implements `core.ports.Partition`. Sends are spread, receives search, and everything that names a
lease goes to the partition that its receipt names. What a queue of one partition promises about
order, fairness and the limits of groups holds for each partition; a group stays in one partition as
long as the active partitions are the same.
"""

from collections.abc import Awaitable, Callable, Sequence

from dovemq.cluster.watchers import Wake
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
from dovemq.core.errors import UnavailableError
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue
from dovemq.fabric.autonomic import ClientRole
from dovemq.fabric.in_flight import InFlight
from dovemq.fabric.members import Locality, Members
from dovemq.fabric.outlook import Outlook
from dovemq.fabric.outside import OUTSIDE_OFTEN
from dovemq.fabric.peeking import merged_peek
from dovemq.fabric.receiving import Receiving
from dovemq.fabric.sessions import SessionTable
from dovemq.fabric.together import counts_by_partition, divided, summed
from dovemq.fabric.watching import Watching

MakeRoom = Callable[[Queue, ClientRole], Awaitable[None]]
"""Called before a client joins a queue that sizes itself: the queue may grow for it."""


class LogicalPartition:
    def __init__(
        self,
        store: Store,
        queue: Queue,
        clock: Clock,
        observer: Observer,
        is_local: Locality,
        sessions: SessionTable,
        make_room: MakeRoom,
    ) -> None:
        self._clock = clock
        self._sessions = sessions
        self._make_room = make_room
        self._auto = queue.settings.auto
        self._members = Members(store, queue, is_local)
        self._outlook = Outlook()
        self._in_flight = InFlight(self._members, clock)
        self._receiving = Receiving(self._members, self._outlook, self._in_flight, clock, observer)
        self._watching = Watching(self._members, self._outlook, self._receiving.parking.wake_one)

    @property
    def queue(self) -> Queue:
        return self._members.queue

    @property
    def parked(self) -> int:
        """Receives that wait inside the queue."""
        return self._receiving.parking.count

    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        """A request's drafts without a group stay together; the others go by their group."""
        members, outlook = self._members, self._outlook
        if self._auto:
            await self.join(ClientRole.PRODUCER)
        ungrouped = self._target(now_ms)

        async def sent(number: int, some: Sequence[Draft]) -> list[Sent | Duplicate]:
            try:
                return await members[number].send(some, self._clock.now_ms())
            except UnavailableError:
                outlook.failed(number, self._clock.now_ms())
                raise

        return await divided(drafts, lambda each: members.target_of_draft(each, ungrouped), sent)

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        self._watching.keep(self._receiving.waits_for_arrivals)
        if self._auto:
            await self.join(ClientRole.CONSUMER)
        return await self._receiving.lease(ask, now_ms, self._first() if self._auto else ())

    async def join(self, role: ClientRole) -> None:
        """Elect a partition for the client that asks now, if it is new in this role."""
        if self._sessions.is_new(self.queue, role):
            await self._make_room(self.queue, role)
            if self._auto:
                self._sessions.place(self.queue, role)

    async def settle(
        self, receipts: Sequence[Receipt], now_ms: int, *, moved: bool = False, forced: bool = False
    ) -> list[Settlement]:
        async def settled(number: int, some: Sequence[Receipt]) -> list[Settlement]:
            partition = self._members[number]
            answers = await partition.settle(some, self._clock.now_ms(), moved=moved, forced=forced)
            self._in_flight.gave(-answers.count(Settlement.SETTLED))
            return answers

        return await divided(receipts, _place, settled)

    async def extend(self, changes: Sequence[tuple[Receipt, int]], now_ms: int) -> list[Extension]:
        async def extended(number: int, some: Sequence[tuple[Receipt, int]]) -> list[Extension]:
            return await self._members[number].extend(some, self._clock.now_ms())

        return await divided(changes, lambda change: change[0].partition, extended)

    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        async def released(number: int, some: Sequence[Receipt]) -> list[None]:
            await self._members[number].release(some, self._clock.now_ms())
            self._in_flight.gave(-len(some))
            return [None] * len(some)

        await divided(receipts, _place, released)

    async def adopt(self, transfers: Sequence[Transfer], now_ms: int) -> list[Sent]:
        async def adopted(number: int, some: Sequence[Transfer]) -> list[Sent]:
            return await self._members[number].adopt(some, self._clock.now_ms())

        return await divided(transfers, self._members.target_of_transfer, adopted)

    async def drop(self, sent_before_ms: int, count_max: int, now_ms: int) -> int:
        left = count_max
        for number in self._members.numbers:
            if left:
                partition = self._members[number]
                left -= await partition.drop(sent_before_ms, left, self._clock.now_ms())
        return count_max - left

    async def peek(self, page: Peek, now_ms: int) -> list[Peeked]:
        return await merged_peek(self._members, self._clock, page)

    async def counts(self, now_ms: int) -> Counts:
        counts = await counts_by_partition(self._members, self._clock)
        return summed([*counts.values()])

    def watch(self, wake: Wake) -> Wake:
        return self._watching.add(wake)

    def follow(self, queue: Queue) -> None:
        """Take over a newer version of the queue, with the partitions that it has now."""
        self._members.follow(queue)
        self._auto = queue.settings.auto
        if not self._auto:
            self._sessions.end_queue(queue.number)
        self._outlook.keep(self._members.numbers)
        self._receiving.follow()
        self._watching.adjust()
        self._watching.wake()

    def drain(self) -> None:
        """Answer the receives that wait inside the queue."""
        self._receiving.parking.drain()

    def _target(self, now_ms: int) -> int:
        """The partition for drafts without a group: that of the session, or the next in turn."""
        resting = self._outlook.resting(now_ms)
        if self._auto:
            place = self._sessions.place(self.queue, ClientRole.PRODUCER)
            if place is not None and place.partition not in resting:
                return place.partition
        return self._members.next_target(now_ms, resting)

    def _first(self) -> tuple[int, ...]:
        """The partitions that a receive looks into before its strategy chooses others.

        One in some receives of a session begins elsewhere, so that no partition without consumers
        starves.
        """
        place = self._sessions.place(self.queue, ClientRole.CONSUMER)
        if place is None or len(self._members.numbers) == 1:
            return ()
        place.receives += 1
        own = place.partition
        if place.receives % OUTSIDE_OFTEN:
            return (own,)
        return (self._members.beside(own), own)


def _place(receipt: Receipt) -> int:
    return receipt.partition
