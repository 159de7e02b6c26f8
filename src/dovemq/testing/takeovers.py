"""Owners of partitions that follow one another: killed, paused and replaced, from a seed.

`TakeoverStore` is a store whose partitions are logs in a nasty database. Several processes are
played in one event loop. Each partition has an owner with a lease in virtual time, which it renews
while it is not paused. When the lease has ended, or the owner has handed over, another one with the
next epoch takes the partition. Some requests go to an earlier owner that still believes in itself.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from dovemq.cluster.routing import RoutedPartition, Verb
from dovemq.core.commands import Counts, Receipt
from dovemq.core.coordination import OWNED
from dovemq.core.errors import OwnerChanged, UnavailableError
from dovemq.core.ports import Catalogue, Ledger
from dovemq.core.queue import Queue
from dovemq.stores.memory import MemoryStore
from dovemq.stores.owned.bodies import CacheRoom
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.opening import Ownership, Surroundings, open_partition
from dovemq.stores.owned.logged.partition import LoggedPartition
from dovemq.stores.owned.logged.policy import LogPolicy
from dovemq.testing.clock import START_MS
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from dovemq.testing.nasty_log import CALM_LOG, LogNature, NastyLog, NastyLogs

T = TypeVar("T")

LEASE_MS: Final = 600
RENEWAL_MS: Final = 150
MARGIN_MS: Final = 100
"""An owner gives up this long before its lease ends, and a taker waits this long after it."""
STALE: Final = 0.15
"""The probability that a request goes to an earlier owner."""

SMALL: Final = LogPolicy(
    segment_bytes=500,
    snapshot_bytes_min=600,
    snapshot_epochs_max=5,
    clean_bytes_min=300,
    clean_messages_max=2,
    check_bytes=150,
    page_entries_max=2,
)
"""A policy for which a few messages are a long log."""


class Lives(Struct, frozen=True):
    """The fates of owners: mean times in milliseconds between events, 0 for never.

    All faults, those of the log too, end `troubled_ms` after the start.
    """

    kill_ms: int = 0
    pause_ms: int = 0
    pause_ms_max: int = 2_000
    hand_over_ms: int = 0
    troubled_ms: int = 5_000


class PlayedOwner:
    """One process that owns a partition, or believes so."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.partition: LoggedPartition | None = None
        self.is_gone = False
        self._loop = asyncio.get_running_loop()
        self.lease_until = self._loop.time() + LEASE_MS / 1_000
        self.paused_until = 0.0

    def holds(self) -> bool:
        return not self.is_gone and self._loop.time() < self.lease_until - MARGIN_MS / 1_000

    def renew(self) -> None:
        now = self._loop.time()
        if now >= self.paused_until and (self.holds()):
            self.lease_until = now + LEASE_MS / 1_000

    async def awake(self) -> None:
        while (left := self.paused_until - self._loop.time()) > 0:
            await asyncio.sleep(left)

    def kill(self) -> None:
        self.is_gone = True
        if self.partition is not None:
            self.partition.abandon()


class Succession:
    """The owners of one partition, one after the other."""

    def __init__(self, store: "TakeoverStore", queue: Queue, number: int) -> None:
        self._store = store
        self._number = number
        self.queue = queue
        self.clock = store
        self.owners: list[PlayedOwner] = []
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._reign())

    async def current(self) -> PlayedOwner:
        """The owner to ask: usually the newest, sometimes one that was replaced."""
        rng = self._store.rng
        living = [each for each in self.owners if each.partition and not each.is_gone]
        if not living:
            raise OwnerChanged(self.queue.number, self._number)
        if len(living) > 1 and rng.random() < STALE:
            return rng.choice(living[:-1])
        return living[-1]

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        for owner in self.owners:
            owner.kill()

    async def _reign(self) -> None:
        while True:
            owner = PlayedOwner(len(self.owners) + 1)
            self.owners.append(owner)
            try:
                owner.partition = await self._open(owner)
            except UnavailableError:
                owner.is_gone = True
                self._store.count("opening failed")
                continue
            await self._live(owner)

    async def _open(self, owner: PlayedOwner) -> LoggedPartition:
        store = self._store
        place = (self.queue.number, self._number)
        inner = await MemoryDatabase(store.state).open_log(place, owner.epoch)
        ownership = Ownership(owner.epoch, owner.holds, lambda: store.count("lost"))
        around = Surroundings(store.rng, store, cache_room=CacheRoom(2_000), policy=SMALL)
        log = NastyLog(store.logs, inner, owner.awake)
        renewing = self._loop.create_task(self._renew(owner))
        try:
            return await open_partition(log, self.queue, self._number, ownership, around)
        finally:
            renewing.cancel()

    async def _renew(self, owner: PlayedOwner) -> None:
        while True:
            await asyncio.sleep(RENEWAL_MS / 1_000)
            owner.renew()

    async def _live(self, owner: PlayedOwner) -> None:
        """Return when the partition may be taken: the lease has ended, or was handed over."""
        store = self._store
        while self._loop.time() < owner.lease_until + MARGIN_MS / 1_000:
            await asyncio.sleep(RENEWAL_MS / 1_000)
            owner.renew()
            assert owner.partition is not None
            if store.strikes("kill", store.lives.kill_ms):
                owner.kill()
                owner.lease_until = self._loop.time() + store.rng.random() * LEASE_MS / 1_000
                await asyncio.sleep(LEASE_MS / 1_000)
                return
            if store.strikes("pause", store.lives.pause_ms):
                ms = store.rng.randint(0, store.lives.pause_ms_max)
                owner.paused_until = self._loop.time() + ms / 1_000
            elif store.strikes("hand over", store.lives.hand_over_ms):
                await owner.partition.stop()
                return


class TakeoverStore:
    """Implements `core.ports.Store`, and is the clock of its partitions."""

    receipt_key = b"receipt key of a schedule"
    coordinations = OWNED

    def __init__(
        self, lives: Lives, nature: LogNature, rng: random.Random, *, fences: bool
    ) -> None:
        self.lives = lives
        self.rng = rng
        self.state = MemoryDatabaseState(fences=fences)
        self.logs = NastyLogs(nature, rng)
        self._memory = MemoryStore(rng, self.receipt_key)
        self._successions: dict[PartitionKey, Succession] = {}

    @property
    def catalogue(self) -> Catalogue:
        return self._memory.catalogue

    @property
    def ledger(self) -> Ledger:
        return self._memory.ledger

    def partition(self, queue: Queue, number: int) -> "TakenPartition":
        place = (queue.number, number)
        succession = self._successions.get(place)
        if succession is None:
            succession = self._successions[place] = Succession(self, queue, number)
        return TakenPartition(succession)

    async def close(self) -> None:
        for succession in self._successions.values():
            await succession.end()
        await self.logs.end()

    def now_ms(self) -> int:
        return START_MS + round(asyncio.get_running_loop().time() * 1_000)

    def count(self, deed: str) -> None:
        self.logs.deeds[deed] += 1

    def strikes(self, deed: str, mean_ms: int) -> bool:
        """Whether an event happens in this period of `RENEWAL_MS`; never after the troubles."""
        if self.now_ms() >= START_MS + self.lives.troubled_ms:
            self.logs.nature = CALM_LOG
            return False
        return bool(mean_ms) and self.logs.happens(deed, RENEWAL_MS / mean_ms)


class TakenPartition(RoutedPartition):
    """A partition as clients see it: each call goes to one owner, and may wait while it pauses."""

    def __init__(self, succession: Succession) -> None:
        self._succession = succession

    async def release(self, receipts: Sequence[Receipt], now_ms: int) -> None:
        with contextlib.suppress(UnavailableError):
            await super().release(receipts, now_ms)

    async def counts(self, now_ms: int) -> Counts:
        while True:
            try:
                return await super().counts(now_ms)
            except UnavailableError:
                await asyncio.sleep(RENEWAL_MS / 1_000)

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Wakes all the time: the owner may be another one at each moment."""
        handle: list[asyncio.TimerHandle] = []

        def again() -> None:
            wake()
            handle[:] = [asyncio.get_running_loop().call_later(0.05, again)]

        again()
        return lambda: handle[0].cancel()

    async def route(self, verb: Verb[T], now_ms: int, *, repeatable: bool = True) -> T:
        owner = await self._succession.current()
        await owner.awake()
        if owner.partition is None or owner.is_gone:
            raise OwnerChanged(self._succession.queue.number, 0)
        answer = await verb(owner.partition, self._succession.clock.now_ms())
        await owner.awake()
        return answer
