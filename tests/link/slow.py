"""A store in memory whose verbs wait at a gate before and after they are done."""

import asyncio
import random
from collections.abc import Sequence

from dovemq.core.commands import Ask, Draft, Duplicate, Leased, Sent
from dovemq.core.queue import Queue
from dovemq.stores.memory import MemoryPartition, MemoryStore


class SlowPartition(MemoryPartition):
    store: "SlowStore"

    async def send(self, drafts: Sequence[Draft], now_ms: int) -> list[Sent | Duplicate]:
        await self.store.passed()
        return await super().send(drafts, now_ms)

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        """A cancelled lease leaves nothing leased, as the port promises."""
        leased = await super().lease(ask, now_ms)
        try:
            await self.store.passed()
        except asyncio.CancelledError:
            receipts = [lease.receipt for lease in leased.messages]
            await self.release(receipts, now_ms)
            raise
        return leased


class SlowStore(MemoryStore):
    def __init__(self, rng: random.Random, receipt_key: bytes) -> None:
        super().__init__(rng, receipt_key)
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = 0

    async def passed(self) -> None:
        self.waiting += 1
        try:
            await self.gate.wait()
        finally:
            self.waiting -= 1

    def _new_partition(self, queue: Queue, number: int) -> SlowPartition:
        partition = SlowPartition(
            queue, number, self._sequences, self._rng, self._check_queue, self._observer
        )
        partition.store = self
        return partition
