"""A store with its clock, and queues in it with short methods for the tests.

A sentence of the contract gets a `World`, makes a `Line` or two in it and says what must hold.
"""

import itertools
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, cast

import msgspec

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
from dovemq.core.message import Attribute, Message
from dovemq.core.observing import Observer
from dovemq.core.ports import Partition, Store
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.testing.clock import ManualClock

ACCOUNT: Final = "000000000000"
LEASE_MS: Final = 30_000
SEED: Final = 7
ALL: Final = 10_000


class Durable(Store, Protocol):
    """A store on a disk, which can be left as a killed process would leave it."""

    def abandon(self) -> None: ...


StoreOpener = Callable[[ManualClock, random.Random, Observer], Awaitable[Store]]


class Witness(Observer):
    """An observer that keeps what a store reports, as (what, queue, sequences)."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, list[int]]] = []

    def sent(self, queue: Queue, partition: int, messages: Sequence[Message]) -> None:
        self._keep("sent", queue, [message.sequence for message in messages])

    def settled(self, queue: Queue, partition: int, receipts: Sequence[Receipt]) -> None:
        self._keep("settled", queue, [receipt.sequence for receipt in receipts])

    def expired(self, queue: Queue, partition: int, sequences: Sequence[int]) -> None:
        self._keep("expired", queue, list(sequences))

    def _keep(self, what: str, queue: Queue, sequences: list[int]) -> None:
        self.told.append((what, queue.key.name, sequences))


class Line:
    """One queue under test: the verbs of its partition with the clock filled in."""

    def __init__(self, world: "World", queue: Queue, number: int = 0) -> None:
        self.world = world
        self.queue = queue
        self.number = number

    @property
    def partition(self) -> Partition:
        return self.world.store.partition(self.queue, self.number)

    @property
    def now_ms(self) -> int:
        return self.world.clock.now_ms()

    def draft(
        self,
        body: str,
        *,
        group: str | None = None,
        deduplication_id: str | None = None,
        delay_ms: int = 0,
        attributes: dict[str, Attribute] | None = None,
        xray_header: str | None = None,
    ) -> Draft:
        message_id = self.world.new_id()
        if self.queue.settings.fifo:
            group = group or "g"
            deduplication_id = deduplication_id or message_id
        return Draft(
            message_id,
            body,
            ACCOUNT,
            delay_ms,
            attributes or {},
            group,
            deduplication_id,
            xray_header,
        )

    async def send(
        self,
        *bodies: str,
        group: str | None = None,
        deduplication_id: str | None = None,
        delay_ms: int = 0,
    ) -> list[Sent | Duplicate]:
        drafts = [
            self.draft(body, group=group, deduplication_id=deduplication_id, delay_ms=delay_ms)
            for body in bodies
        ]
        return await self.send_drafts(drafts)

    async def send_drafts(self, drafts: Sequence[Draft]) -> list[Sent | Duplicate]:
        return await self.partition.send(drafts, self.now_ms)

    async def lease(
        self, count_max: int = 1, lease_ms: int = LEASE_MS, receives_max: int | None = None
    ) -> Leased:
        return await self.partition.lease(Ask(count_max, lease_ms, receives_max), self.now_ms)

    async def take(self, count_max: int = 1, lease_ms: int = LEASE_MS) -> list[Lease]:
        return (await self.lease(count_max, lease_ms)).messages

    async def take_one(self, lease_ms: int = LEASE_MS) -> Lease:
        (lease,) = await self.take(1, lease_ms)
        return lease

    async def bodies(self, count_max: int = 10, lease_ms: int = LEASE_MS) -> list[str]:
        return [lease.message.body for lease in await self.take(count_max, lease_ms)]

    async def settle(self, *leases: Lease) -> list[Settlement]:
        return await self.partition.settle([lease.receipt for lease in leases], self.now_ms)

    async def force_out(self, *peeked: Peeked) -> list[Settlement]:
        """Delete messages that were only looked at, as an operator does."""
        now_ms = self.now_ms
        receipts = [
            Receipt(self.queue.number, each.partition, each.message.sequence, 0, now_ms)
            for each in peeked
        ]
        return await self.partition.settle(receipts, now_ms, forced=True)

    async def extend(self, lease: Lease, lease_ms: int) -> Extension:
        (extension,) = await self.partition.extend([(lease.receipt, lease_ms)], self.now_ms)
        return extension

    async def release(self, *leases: Lease) -> None:
        await self.partition.release([lease.receipt for lease in leases], self.now_ms)

    async def adopt(self, *transfers: Transfer) -> list[Sent]:
        return await self.partition.adopt(transfers, self.now_ms)

    async def drop(self, sent_before_ms: int | None = None, count_max: int = ALL) -> int:
        before_ms = self.now_ms + 1 if sent_before_ms is None else sent_before_ms
        return await self.partition.drop(before_ms, count_max, self.now_ms)

    async def peek(self, count_max: int = ALL, after_sequence: int = 0) -> list[Peeked]:
        return await self.partition.peek(Peek(count_max, after_sequence), self.now_ms)

    async def all_counts(self) -> Counts:
        return await self.partition.counts(self.now_ms)

    async def counts(self) -> tuple[int, int, int]:
        """Visible, leased, delayed."""
        counts = await self.all_counts()
        return counts.visible, counts.leased, counts.delayed

    async def oldest_ms(self) -> int | None:
        return (await self.all_counts()).oldest_ms

    async def stored_bytes(self) -> int:
        return (await self.all_counts()).bytes

    async def change(self, **changes: object) -> None:
        """Give the queue new settings."""
        settings = msgspec.structs.replace(self.queue.settings, **changes)
        changed = msgspec.structs.replace(self.queue, settings=settings)
        assert await self.world.store.catalogue.replace(changed)
        found = await self.world.store.catalogue.find(self.queue.key)
        assert found is not None
        self.queue = found


class World:
    store: Store

    def __init__(self, opener: StoreOpener, settings: Mapping[str, object] | None = None) -> None:
        """`settings` are those of all queues, unless a sentence gives others."""
        self._settings = settings or {}
        self.clock = ManualClock()
        self.rng = random.Random(SEED)
        self.witness = Witness()
        self._opener = opener
        self._ids = itertools.count(1)

    async def __aenter__(self) -> "World":
        self.store = await self._opener(self.clock, self.rng, self.witness)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    async def reopen(self) -> None:
        """Close the store and open it again."""
        await self.store.close()
        await self.__aenter__()

    async def crash(self) -> None:
        """Kill the store and open it again; for durable stores only."""
        cast(Durable, self.store).abandon()
        await self.__aenter__()

    def new_id(self) -> str:
        return f"id-{next(self._ids):06}"

    async def queue(self, name: str = "jobs", **settings: object) -> Line:
        return await self._create(name, settings)

    async def fifo(self, name: str = "jobs.fifo", **settings: object) -> Line:
        return await self._create(name, {"fifo": True, **settings})

    async def _create(self, name: str, changes: Mapping[str, object]) -> Line:
        now_ms = self.clock.now_ms()
        settings = msgspec.structs.replace(QueueSettings(), **{**self._settings, **changes})
        if settings.fifo:
            # These cannot size themselves.
            settings = msgspec.structs.replace(settings, auto=False)
        queue = Queue(0, QueueKey(ACCOUNT, name), settings, now_ms, now_ms)
        return Line(self, await self.store.catalogue.create(queue))
