"""A shared database with faults, and the opening of partitions over it."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from dovemq.core.errors import StoreUnreachable
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock
from dovemq.core.queue import Queue
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.opening import Ownership, Surroundings, open_partition
from dovemq.stores.owned.logged.partition import LoggedPartition
from dovemq.stores.owned.logged.ports import Log, LogRow, StoredRecord
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState

T = TypeVar("T")


class Faults:
    """The way from one front end to the database: it may be slow, closed, or lose answers."""

    def __init__(self, seed: int) -> None:
        self.delay_ms_max = 0
        self.lost = 0.0
        """The probability that a request is lost, and that an answer is."""
        self.calls = 0
        self._losing: str | None = None
        self.seed(seed)
        self._running = asyncio.Event()
        self._logs_running = asyncio.Event()
        self.resume()

    def resume_logs(self) -> None:
        """Let reads and writes of logs through again, and those of records not yet."""
        self._logs_running.set()

    def seed(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def pause(self) -> None:
        """Nothing goes through until `resume`, in either direction."""
        self._running.clear()
        self._logs_running.clear()

    def lose_answer(self, kind: str) -> None:
        """Lose the answer to the next write of a record of this kind."""
        self._losing = kind

    def loses(self, kind: str) -> bool:
        if self._losing != kind:
            return False
        self._losing = None
        return True

    def resume(self) -> None:
        self._running.set()
        self._logs_running.set()

    async def call(self, work: Callable[[], Awaitable[T]], *, log: bool = False) -> T:
        running = self._logs_running if log else self._running
        self.calls += 1
        await self._pass(running)
        answer = await work()
        await self._pass(running)
        return answer

    async def _pass(self, running: asyncio.Event) -> None:
        await running.wait()
        if self.delay_ms_max:
            await asyncio.sleep(self._rng.randint(0, self.delay_ms_max) / 1_000)
        await running.wait()
        if self._rng.random() < self.lost:
            raise StoreUnreachable("the test's database", "the answer was lost")


class FaultyDatabase:
    index_tables = None

    def __init__(self, state: MemoryDatabaseState, faults: Faults) -> None:
        self.name = "the test's database"
        self.inner = MemoryDatabase(state)
        self.faults = faults
        self.records = FaultyRecords(self.inner, faults)
        self.ledger = self.inner.ledger

    async def open_log(self, place: PartitionKey, epoch: int) -> Log:
        log = await self.faults.call(lambda: self.inner.open_log(place, epoch))
        return FaultyLog(log, self.faults)

    async def remove_log(self, place: PartitionKey) -> None:
        await self.faults.call(lambda: self.inner.remove_log(place))

    async def close(self) -> None:
        await self.inner.close()


class FaultyRecords:
    def __init__(self, database: MemoryDatabase, faults: Faults) -> None:
        self._inner = database.records
        self._faults = faults

    async def get(self, kind: str, name: str) -> StoredRecord | None:
        return await self._faults.call(lambda: self._inner.get(kind, name))

    async def all(self, kind: str) -> list[StoredRecord]:
        return await self._faults.call(lambda: self._inner.all(kind))

    async def put(self, kind: str, name: str, value: bytes, version: int) -> bool:
        done = await self._faults.call(lambda: self._inner.put(kind, name, value, version))
        if self._faults.loses(kind):
            raise StoreUnreachable("the test's database", "the answer was lost")
        return done

    async def remove(self, kind: str, name: str, version: int) -> bool:
        return await self._faults.call(lambda: self._inner.remove(kind, name, version))

    async def stamp(self) -> bytes:
        return await self._faults.call(self._inner.stamp)


class FaultyLog:
    def __init__(self, log: Log, faults: Faults) -> None:
        self._inner = log
        self._faults = faults

    async def append(self, position: int, group: bytes, keep_ms: int, *, grow: bool = True) -> None:
        await self._faults.call(
            lambda: self._inner.append(position, group, keep_ms, grow=grow), log=True
        )

    async def read(self, positions: Sequence[int]) -> dict[int, bytes]:
        return await self._faults.call(lambda: self._inner.read(positions), log=True)

    def scan(self, first: int) -> AsyncIterator[list[LogRow]]:
        return self._inner.scan(first)

    async def trim(self, before: int) -> None:
        await self._faults.call(lambda: self._inner.trim(before), log=True)

    async def bookmark(self) -> int:
        return await self._faults.call(self._inner.bookmark, log=True)

    async def set_bookmark(self, position: int) -> None:
        await self._faults.call(lambda: self._inner.set_bookmark(position), log=True)


class Openings:
    """Opens partitions over their logs for one front end, and notes what all have opened."""

    def __init__(
        self, clock: Clock, opened: list[tuple[PartitionKey, int]], observer: Observer | None = None
    ) -> None:
        self.seconds = 0.0
        self._around = Surroundings(random.Random(1), clock, observer or Observer())
        self._opened = opened

    async def __call__(
        self, log: Log, queue: Queue, number: int, ownership: Ownership
    ) -> LoggedPartition:
        self._opened.append(((queue.number, number), ownership.epoch))
        await asyncio.sleep(self.seconds)
        return await open_partition(log, queue, number, ownership, self._around)
