"""The store in memory and the embedded one side by side, asked the same things.

Everything asked is asked of both and the answers must be equal, apart from sequences, which a
restart may skip. A ledger of its own tells which messages must still be there.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import msgspec

from dovemq.core.commands import Duplicate, Lease, Leased, Peeked, Sent, Transfer
from dovemq.core.observing import Observer
from dovemq.core.ports import Store
from dovemq.stores.memory import MemoryPartition, MemoryStore
from dovemq.stores.memory_receive import MemoryGroups
from dovemq.stores.sqlite import SqliteStore, open_store
from dovemq.testing.clock import ManualClock
from tests.contract.world import Line, StoreOpener, World

T = TypeVar("T")

CACHE_BYTES_MAX = 2_048
JOBS, DEAD = 0, 1


async def open_oracle(clock: ManualClock, rng: random.Random, _: Observer) -> Store:
    return MemoryStore(rng, b"receipt key of the oracle")


class Held(msgspec.Struct, eq=False):
    """A lease as the oracle and the embedded store handed it out."""

    place: int
    oracle: Lease
    embedded: Lease
    releasable: bool = True


class Pair:
    """Two worlds of two queues each, with one clock's time and equal seeds."""

    def __init__(self, *, fifo: bool, oracle: StoreOpener = open_oracle) -> None:
        self._runner = asyncio.Runner()
        self._folder = TemporaryDirectory()
        self._fifo = fifo
        self._oracle = World(oracle)
        self._embedded = World(self._open_embedded)
        self._lines = self._runner.run(self._open())

    def now_ms(self) -> int:
        return self._oracle.clock.now_ms()

    def retention_ms(self, place: int) -> int:
        return self._lines[place][0].queue.settings.retention_ms

    def advance(self, ms: int) -> None:
        self._oracle.clock.advance(ms)
        self._embedded.clock.advance(ms)

    def ask(self, place: int, verb: Callable[[Line], Awaitable[T]]) -> tuple[T, T]:
        return self._runner.run(self._ask(place, verb))

    def lease(
        self, place: int, count_max: int, lease_ms: int, receives_max: int | None
    ) -> tuple[list[Held], list[Held]]:
        """The leases of both stores, which must be equal, message by message."""
        oracle, embedded = self.ask(
            place, lambda line: line.lease(count_max, lease_ms, receives_max)
        )
        assert _outline(embedded) == _outline(oracle), f"{embedded}\n{oracle}"
        if not oracle.more:
            self._check_due(oracle.next_due_ms, embedded.next_due_ms)
        return (
            _held(place, oracle.messages, embedded.messages),
            _held(place, oracle.exhausted, embedded.exhausted),
        )

    def with_receipts(self, held: Held, verb: Callable[[Line, Lease], Awaitable[T]]) -> tuple[T, T]:
        """Each store is asked with the receipt that it gave itself."""

        async def ask() -> tuple[T, T]:
            oracle, embedded = self._lines[held.place]
            return await verb(oracle, held.oracle), await verb(embedded, held.embedded)

        return self._runner.run(ask())

    def peek(self, place: int) -> tuple[list[Peeked], list[Peeked]]:
        oracle, embedded = self.ask(place, lambda line: line.peek())
        return [_timeless(peeked) for peeked in oracle], [_timeless(peeked) for peeked in embedded]

    def restart(self, *, killed: bool) -> None:
        """Restart the embedded store, and make the oracle forget what a restart forgets."""
        self._runner.run(self._restart(killed=killed))
        for oracle, _ in self._lines:
            partition = oracle.partition
            assert isinstance(partition, MemoryPartition)
            partition.groups = _recovered_groups(self._runner.run(oracle.peek()))

    def close(self) -> None:
        self._runner.run(self._embedded.__aexit__())
        self._runner.close()
        self._folder.cleanup()

    def _check_due(self, oracle_ms: int | None, embedded_ms: int | None) -> None:
        """The embedded store may report an earlier time than the oracle, and never a later one."""
        assert (oracle_ms is None) == (embedded_ms is None)
        if oracle_ms is not None and embedded_ms is not None:
            due = (self.now_ms(), embedded_ms, oracle_ms)
            assert self.now_ms() < embedded_ms <= oracle_ms, due

    async def _ask(self, place: int, verb: Callable[[Line], Awaitable[T]]) -> tuple[T, T]:
        oracle, embedded = self._lines[place]
        return await verb(oracle), await verb(embedded)

    async def _open(self) -> list[tuple[Line, Line]]:
        await self._oracle.__aenter__()
        await self._embedded.__aenter__()
        names = ("jobs", "dead")
        if self._fifo:
            return [
                (await self._oracle.fifo(f"{name}.fifo"), await self._embedded.fifo(f"{name}.fifo"))
                for name in names
            ]
        return [
            (await self._oracle.queue(name), await self._embedded.queue(name)) for name in names
        ]

    async def _restart(self, *, killed: bool) -> None:
        store = self._embedded.store
        assert isinstance(store, SqliteStore)
        if killed:
            await store.flush()
            store.abandon()
        else:
            await store.close()
        await self._embedded.__aenter__()

    async def _open_embedded(self, clock: ManualClock, rng: random.Random, _: Observer) -> Store:
        directory = Path(self._folder.name, "data")
        return await open_store(directory, rng=rng, cache_bytes_max=CACHE_BYTES_MAX, clock=clock)


class Ledger:
    """The messages that must be in each queue: the time of the send by message id."""

    def __init__(self) -> None:
        self._sent_ms: tuple[dict[str, int], dict[str, int]] = ({}, {})

    def sent(self, place: int, answers: Iterable[Sent | Duplicate], now_ms: int) -> None:
        for answer in answers:
            if isinstance(answer, Sent):
                self._sent_ms[place].setdefault(answer.message_id, now_ms)

    def settled(self, place: int, message_id: str) -> None:
        del self._sent_ms[place][message_id]

    def dropped(self, place: int, sent_before_ms: int) -> None:
        kept = self._sent_ms[place].items()
        left = {message_id: sent_ms for message_id, sent_ms in kept if sent_ms >= sent_before_ms}
        self._sent_ms[place].clear()
        self._sent_ms[place].update(left)

    def message_ids(self, place: int) -> set[str]:
        return set(self._sent_ms[place])


def transfer(lease: Lease) -> Transfer:
    """Moves an exhausted message to a dead-letter queue, as the service does."""
    message = msgspec.structs.replace(lease.message, source="000000000000/jobs")
    receives = lease.receive_count - 1
    return Transfer(message, receives, lease.first_received_ms if receives else 0)


def _held(place: int, oracle: list[Lease], embedded: list[Lease]) -> list[Held]:
    return [Held(place, *leases) for leases in zip(oracle, embedded, strict=True)]


def _outline(leased: Leased) -> tuple[object, ...]:
    """The parts that must be equal: order, messages, counts, and whether there is more."""
    return (
        [_without_sequence(lease) for lease in leased.messages],
        [_without_sequence(lease) for lease in leased.exhausted],
        leased.more,
    )


def _without_sequence(lease: Lease) -> tuple[object, ...]:
    receipt = lease.receipt
    return (
        msgspec.structs.replace(lease.message, sequence=0),
        (lease.receive_count, lease.first_received_ms),
        (receipt.queue_number, receipt.partition, receipt.receive_count, receipt.leased_ms),
    )


def _timeless(peeked: Peeked) -> Peeked:
    message = msgspec.structs.replace(peeked.message, sequence=0)
    return msgspec.structs.replace(peeked, message=message)


def _recovered_groups(peeked: list[Peeked]) -> MemoryGroups:
    """Noise and pace are not kept on disk: a restart knows the groups by their messages."""
    groups = MemoryGroups()
    for each in peeked:
        if each.message.group is not None:
            groups.joined(each.message.group, each.message.sent_ms)
    return groups
