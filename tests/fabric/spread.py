"""Queues of several partitions over the store in memory, with short ways to look into them."""

import asyncio
import itertools
import random
from collections.abc import Sequence
from typing import Any

import msgspec

from dovemq.core.commands import Ask, Counts, Draft, Lease, Leased
from dovemq.core.errors import StoreUnreachable
from dovemq.core.message import Message
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Partition, Store
from dovemq.core.queue import Queue, QueueKey, QueueSettings, changed_settings, settings_with
from dovemq.fabric.members import Locality, everywhere_local
from dovemq.fabric.session_counts import SessionCounts
from dovemq.fabric.sizing import SizingPorts
from dovemq.fabric.store import FabricStore
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import ManualClock

ACCOUNT = "000000000000"
LEASE_MS = 30_000


class CountingStore:
    """A store that keeps which partition was asked for which verb.

    Receives from a partition in `slow` wait for the event; those from one in `broken` fail.
    """

    def __init__(self, store: Store) -> None:
        self.receipt_key = store.receipt_key
        self.coordinations = store.coordinations
        self.catalogue = store.catalogue
        self.ledger = store.ledger
        self.close = store.close
        self.asked: list[tuple[str, int]] = []
        self.slow: dict[int, asyncio.Event] = {}
        self.broken: set[int] = set()
        self._store = store
        self._partitions: dict[tuple[int, int], CountingPartition] = {}

    def partition(self, queue: Queue, number: int) -> Partition:
        inner = self._store.partition(queue, number)
        known = self._partitions.get((queue.number, number))
        if known is None:
            known = CountingPartition(inner, number, self)
            self._partitions[queue.number, number] = known
        return known

    def looks(self) -> list[int]:
        """The partitions that receives have looked into, in order."""
        return [number for verb, number in self.asked if verb == "lease"]


class CountingPartition:
    def __init__(self, inner: Partition, number: int, store: CountingStore) -> None:
        self._inner = inner
        self._number = number
        self._store = store
        self.watch = inner.watch

    async def lease(self, ask: Ask, now_ms: int) -> Leased:
        self._store.asked.append(("lease", self._number))
        if self._number in self._store.broken:
            raise StoreUnreachable("of the test", "it is broken")
        if self._number in self._store.slow:
            await self._store.slow[self._number].wait()
        return await self._inner.lease(ask, now_ms)

    def __getattr__(self, verb: str) -> Any:
        self._store.asked.append((verb, self._number))
        return getattr(self._inner, verb)


class SpreadWorld:
    """One spread queue `jobs` in a fabric over a counting store in memory."""

    def __init__(
        self,
        clock: Clock | None = None,
        is_local: Locality = everywhere_local,
        sizing: SizingPorts | None = None,
        clients: SessionCounts | None = None,
        **changes: Any,
    ) -> None:
        self.manual = ManualClock()
        self.clock: Clock = clock or self.manual
        self.memory = MemoryStore(random.Random(5), b"receipt key of a spread queue")
        self.counting = CountingStore(self.memory)
        self.observer = Tally()
        self.fabric = FabricStore(
            self.counting, self.clock, self.observer, is_local, sizing, clients
        )
        self.queue: Queue
        self._ids = itertools.count(1)
        self._changes = {"partitions": 4, **changes}

    async def start(self) -> "SpreadWorld":
        name = "jobs.fifo" if self._changes.get("fifo") else "jobs"
        settings = settings_with(QueueSettings(fifo=bool(self._changes.get("fifo"))), self._changes)
        now_ms = self.clock.now_ms()
        queue = Queue(0, QueueKey(ACCOUNT, name), settings, now_ms, now_ms)
        self.queue = await self.fabric.catalogue.create(queue)
        return self

    @property
    def whole(self) -> Partition:
        return self.fabric.partition(self.queue, 0)

    def part(self, number: int) -> Partition:
        """A physical partition; looks into it are not counted."""
        return self.memory.partition(self.queue, number)

    async def change(self, **changes: Any) -> None:
        settings = changed_settings(self.queue.settings, changes)
        assert await self.fabric.catalogue.replace(
            msgspec.structs.replace(self.queue, settings=settings)
        )
        await self.refresh()

    async def refresh(self) -> None:
        found = await self.fabric.catalogue.find(self.queue.key)
        assert found is not None
        self.queue = found
        assert self.whole is not None

    def draft(self, body: str = "x", group: str | None = None, delay_ms: int = 0) -> Draft:
        number = next(self._ids)
        deduplication_id = str(number) if self.queue.settings.fifo else None
        return Draft(f"id-{number}", body, ACCOUNT, delay_ms, {}, group, deduplication_id)

    async def send(self, *bodies: str, group: str | None = None, delay_ms: int = 0) -> None:
        drafts = [self.draft(body, group, delay_ms) for body in bodies]
        await self.whole.send(drafts, self.clock.now_ms())

    async def send_to(self, number: int, *bodies: str, delay_ms: int = 0) -> None:
        drafts = [self.draft(body, delay_ms=delay_ms) for body in bodies]
        await self.part(number).send(drafts, self.clock.now_ms())

    async def lease(
        self, count_max: int = 10, wait_ms: int = 0, lease_ms: int = LEASE_MS
    ) -> Leased:
        ask = Ask(count_max, lease_ms, None, wait_ms)
        return await self.whole.lease(ask, self.clock.now_ms())

    async def take(self, count_max: int = 10) -> list[Lease]:
        return (await self.lease(count_max)).messages

    async def counts(self, number: int) -> Counts:
        return await self.part(number).counts(self.clock.now_ms())

    async def visible(self) -> list[int]:
        """Visible messages by partition, for the numbers that were ever in use."""
        highest = self.queue.settings.layout.highest
        return [(await self.counts(number)).visible for number in range(highest + 1)]


class Tally(Observer):
    """Counts what a fabric reports."""

    def __init__(self) -> None:
        self.exchanged_messages: list[Message] = []
        self.looks = 0

    def exchanged(self, queue: Queue, leases: Sequence[Lease], target: int) -> None:
        self.exchanged_messages += [lease.message for lease in leases]

    def monitored(self, queue: Queue, partitions: int) -> None:
        self.looks += partitions


def bodies(leases: Sequence[Lease]) -> list[str]:
    return [lease.message.body for lease in leases]
