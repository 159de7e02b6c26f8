"""Front ends of one queue over replicas in memory that do as they are told."""

import random

import msgspec

from dovemq.core.commands import Ask, Draft, Lease
from dovemq.core.coordination import Coordination
from dovemq.core.observing import Observer
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.stores.shared_index.partition import IndexContext, SharedIndexPartition
from dovemq.stores.shared_index.sequences import Sequences
from dovemq.testing.clock import ManualClock
from dovemq.testing.memory_tables import MemoryIndexTables, ReplicaSet

LEASE_MS = 30_000


class IndexWorld:
    def __init__(self, coordination: Coordination = "none", **settings: object) -> None:
        self.clock = ManualClock()
        self.rng = random.Random(5)
        self.replicas = ReplicaSet(self.rng, self.clock.now_ms)
        self.tables = MemoryIndexTables(self.replicas)
        changes = {"coordination": coordination, **settings}
        now_ms = self.clock.now_ms()
        key = QueueKey("000000000000", "jobs")
        of_queue = msgspec.structs.replace(QueueSettings(), **changes)
        self.queue = Queue(7, key, of_queue, now_ms, now_ms)
        self._writers = 0
        self._ids = 0

    def front_end(self, tables: MemoryIndexTables | None = None) -> SharedIndexPartition:
        async def claim_writer() -> int:
            self._writers += 1
            return self._writers

        return SharedIndexPartition(
            self.queue,
            IndexContext(
                tables or self.tables,
                Sequences(claim_writer, self.clock.now_ms),
                self.clock,
                self.clock.now_ms,
                random.Random(self._writers),
                Observer(),
                lambda: 500,
            ),
        )

    async def send(self, front_end: SharedIndexPartition, *bodies: str) -> None:
        drafts = []
        for body in bodies:
            self._ids += 1
            drafts.append(Draft(f"id-{self._ids}", body, "s"))
        await front_end.send(drafts, self.clock.now_ms())

    async def take(
        self, front_end: SharedIndexPartition, count: int = 1, lease_ms: int = LEASE_MS
    ) -> list[Lease]:
        leased = await front_end.lease(Ask(count, lease_ms), self.clock.now_ms())
        return leased.messages

    async def bodies(self, front_end: SharedIndexPartition, count: int = 10) -> list[str]:
        return [lease.message.body for lease in await self.take(front_end, count)]
