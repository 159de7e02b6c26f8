"""Partitions over a log in memory, for tests."""

import asyncio
import random
from collections.abc import Callable
from typing import Final

import msgspec

from dovemq.core.commands import Draft, Peek
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.stores.owned.bodies import CacheRoom
from dovemq.stores.owned.logged.opening import Ownership, Surroundings, open_partition
from dovemq.stores.owned.logged.partition import LoggedPartition
from dovemq.stores.owned.logged.policy import LogPolicy
from dovemq.stores.owned.logged.ports import Log
from dovemq.testing.clock import ManualClock
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from dovemq.testing.takeovers import SMALL

STANDARD = Queue(1, QueueKey("0" * 12, "jobs"), QueueSettings(), 0, 0)
FIFO = Queue(1, QueueKey("0" * 12, "jobs.fifo"), QueueSettings(fifo=True), 0, 0)
TURNS_MAX: Final = 400
"""Turns of the loop in which upkeep ends in these tests."""


class World:
    """One database in memory, and owners of the partition 0 of one queue that follow each other."""

    def __init__(
        self, queue: Queue = STANDARD, *, fences: bool = True, small: bool = False
    ) -> None:
        self.queue = queue
        self.state = MemoryDatabaseState(fences=fences)
        self.clock = ManualClock()
        self.policy = SMALL if small else LogPolicy()
        self.epoch = 0
        self.lost: list[int] = []

    def now_ms(self) -> int:
        return self.clock.now_ms()

    def rows(self) -> dict[int, bytes]:
        return self.state.logs[self.queue.number, 0].rows

    def bookmark(self) -> int:
        return self.state.logs[self.queue.number, 0].bookmark

    async def open(
        self,
        holds: Callable[[], bool] = lambda: True,
        wrapped: Callable[[Log], Log] = lambda log: log,
    ) -> LoggedPartition:
        """Open the partition for the next epoch. `wrapped` may put a faulty log before it."""
        self.epoch += 1
        epoch = self.epoch
        log = await MemoryDatabase(self.state).open_log((self.queue.number, 0), epoch)
        ownership = Ownership(epoch, holds, lambda: self.lost.append(epoch))
        around = Surroundings(
            random.Random(epoch), self.clock, cache_room=CacheRoom(5_000), policy=self.policy
        )
        return await open_partition(wrapped(log), self.queue, 0, ownership, around)

    async def settled(self) -> None:
        """Let upkeep come to an end."""
        for _ in range(TURNS_MAX):
            await asyncio.sleep(0)


def draft(number: int, **changes: object) -> Draft:
    identity = f"{number:08x}-0000-4000-8000-000000000000"
    return msgspec.structs.replace(Draft(identity, f"body {number}", "me"), **changes)


async def bodies(partition: LoggedPartition, world: World) -> list[str]:
    return [each.message.body for each in await partition.peek(Peek(1_000), world.now_ms())]
