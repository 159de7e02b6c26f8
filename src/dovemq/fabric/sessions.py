"""The sessions of this front end's clients: which partition each one was elected to.

A client has a session at a queue for each role in which it uses the queue. It begins with the first
request in that role, or when the client announces the role, and ends with the client's connection,
however long the client is silent. Its partition is elected by the rules of `autonomic`, on what is
known of the sessions of all front ends. The table dies with its front end; its clients connect to
another one and are elected there.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from dovemq.core.partitions import ControlMemory
from dovemq.core.ports import Clock
from dovemq.core.queue import Queue
from dovemq.core.sessions import SESSION, ClientSession
from dovemq.fabric.autonomic import (
    CapacitySettings,
    ClientRole,
    PartitionLoad,
    QueueLoad,
    QueueStanding,
    elect,
    elect_again,
    standing_of,
)
from dovemq.fabric.members import Locality, everywhere_local
from dovemq.fabric.session_counts import ClientCount, SessionCounts

SESSIONS_MAX: Final = 100_000
"""Sessions of a front end. Above it the one that was silent longest ends: its client is elected
again when it asks for something."""
MIGRATION_MS: Final = 1_000
"""The shortest time between two migrations of one queue's sessions at a front end, and between two
considerations of one session. Other front ends learn of a migration later than that; if all moved
many sessions meanwhile, the same imbalance would be mended several times over."""
LoadSource = Callable[[Queue], QueueLoad]
"""The sessions and messages of a queue at all front ends, as far as this one knows."""


class SessionPlace:
    """A session's role at a queue, and its partition. `receives` counts how often it has looked."""

    __slots__ = (
        "considered_ms",
        "partition",
        "queue_number",
        "receives",
        "request",
        "role",
        "session",
        "version",
    )

    def __init__(self, session: ClientSession, queue: Queue, role: ClientRole) -> None:
        self.session = session
        self.queue_number = queue.number
        self.role = role
        self.partition = -1
        self.receives = 0
        self.version = queue.version
        self.request = session.requests
        self.considered_ms = 0


class SessionTable:
    """`counts` are kept here. `loads` are those of all front ends; by itself they are the own."""

    def __init__(
        self,
        clock: Clock,
        counts: SessionCounts,
        loads: LoadSource | None = None,
        sessions_max: int = SESSIONS_MAX,
        is_local: Locality = everywhere_local,
    ) -> None:
        self._clock = clock
        self._counts = counts
        self._loads = loads or self._own_load
        self._sessions_max = sessions_max
        self._is_local = is_local
        # The longest silent first.
        self._places: OrderedDict[tuple[int, bool, ClientSession], SessionPlace] = OrderedDict()
        self._of_session: dict[ClientSession, dict[tuple[int, bool], None]] = {}
        self._migrated_ms: dict[int, int] = {}
        """The time of the last migration by queue, as long as the queue has sessions."""

    def __len__(self) -> int:
        return len(self._places)

    def is_new(self, queue: Queue, role: ClientRole) -> bool:
        """Whether the client that asks now has no place yet, and will get one."""
        session = SESSION.get()
        if session is None or session.ended:
            return False
        return (queue.number, role is ClientRole.PRODUCER, session) not in self._places

    def place(self, queue: Queue, role: ClientRole) -> SessionPlace | None:
        """The place of the client that asks now; None for work that no client has asked for.

        The place is elected if the client is new in this role, if its partition drains or is gone,
        or if its session migrates.
        """
        session = SESSION.get()
        if session is None or session.ended:
            return None
        key = (queue.number, role is ClientRole.PRODUCER, session)
        place = self._places.get(key)
        if place is None:
            return self._join(session, queue, role)
        self._places.move_to_end(key)
        if place.version != queue.version:
            place.version = queue.version
            if place.partition not in queue.settings.layout.active:
                self._leave(place)
                return self._join(session, queue, role)
        if queue.settings.session_migration == "on":
            self._consider(place, queue)
        place.request = session.requests
        return place

    def end_queue(self, queue_number: int) -> None:
        """End all sessions of a queue that is gone, or that has none any more."""
        if self._counts.counts(queue_number):
            for place in [e for e in self._places.values() if e.queue_number == queue_number]:
                self._leave(place)

    def _join(self, session: ClientSession, queue: Queue, role: ClientRole) -> SessionPlace:
        if len(self._places) >= self._sessions_max:
            self._leave(next(iter(self._places.values())))
        place = SessionPlace(session, queue, role)
        place.partition = elect(self._standing(queue), role, self._near(queue)).partition
        known = self._of_session.get(session)
        if known is None:
            known = self._of_session[session] = {}
            session.when_ended(self._ended)
        producer = role is ClientRole.PRODUCER
        known[queue.number, producer] = None
        self._places[queue.number, producer, session] = place
        self._counts.add(queue.number, place.partition, role, 1)
        return place

    def _leave(self, place: SessionPlace) -> None:
        number, producer = place.queue_number, place.role is ClientRole.PRODUCER
        del self._places[number, producer, place.session]
        self._of_session.get(place.session, {}).pop((number, producer), None)
        self._counts.add(number, place.partition, place.role, -1)
        if not self._counts.counts(number):
            self._migrated_ms.pop(number, None)

    def _ended(self, session: ClientSession) -> None:
        for number, producer in self._of_session.pop(session):
            self._leave(self._places[number, producer, session])

    def _consider(self, place: SessionPlace, queue: Queue) -> None:
        """Move the session if it should be elsewhere, unless a receive of it may be parked.

        A parked receive looks again within its own request, or beside another call.
        """
        session, now_ms = place.session, self._clock.now_ms()
        if session.requests == place.request or session.calls > 1:
            return
        migrated_ms = self._migrated_ms.get(queue.number, 0)
        if now_ms - max(place.considered_ms, migrated_ms) < MIGRATION_MS:
            return
        place.considered_ms = now_ms
        standing, near = self._standing(queue), self._near(queue)
        election = elect_again(standing, place.role, place.partition, near)
        if election is not None:
            self._counts.add(queue.number, place.partition, place.role, -1)
            place.partition = election.partition
            self._counts.add(queue.number, place.partition, place.role, 1)
            self._migrated_ms[queue.number] = now_ms

    def _near(self, queue: Queue) -> frozenset[int]:
        """The active partitions of this front end."""
        active = queue.settings.layout.active
        return frozenset(each for each in active if self._is_local(queue.number, each))

    def _standing(self, queue: Queue) -> QueueStanding:
        """The active partitions, also those that the source of loads has not heard of yet."""
        load, memory = self._loads(queue), queue.settings.control
        known = {each.number: each for each in load.partitions}
        partitions = tuple(known.get(own.number, own) for own in self._own_load(queue).partitions)
        if queue.settings.layout.active == (memory.marked,):
            memory = ControlMemory()
        return standing_of(QueueLoad(load.now_ms, partitions), memory)

    def _own_load(self, queue: Queue) -> QueueLoad:
        counts, capacity = self._counts.counts(queue.number), CapacitySettings().start
        partitions = []
        for number in queue.settings.layout.active:
            count = counts.get(number, ClientCount())
            partitions.append(PartitionLoad(number, count.producers, count.consumers, capacity))
        return QueueLoad(self._clock.now_ms(), tuple(partitions))
