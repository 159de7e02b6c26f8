"""The watch of a spread queue's partitions lingers, for consumers that come back soon."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dovemq.core.commands import Ask
from dovemq.core.ports import Partition
from dovemq.fabric.watching import LINGERING_SECONDS
from dovemq.testing.clock import VirtualLoop, run_virtually
from tests.fabric.spread import LEASE_MS, SpreadWorld

Scenario = Callable[["WatchedWorld"], Coroutine[Any, Any, None]]


class WatchedWorld(SpreadWorld):
    """Counts the watches of physical partitions that begin, and those that end."""

    def __init__(self) -> None:
        super().__init__(partitions=3)
        self.begun = 0
        self.ended = 0
        self._inner_partition = self.counting.partition
        self.counting.partition = self._watched  # type: ignore[method-assign]

    def _watched(self, queue: Any, number: int) -> Partition:
        partition: Any = self._inner_partition(queue, number)
        watch = self.memory.partition(queue, number).watch

        def counted(wake: Callable[[], None]) -> Callable[[], None]:
            self.begun += 1
            unwatch = watch(wake)

            def end() -> None:
                self.ended += 1
                unwatch()

            return end

        partition.watch = counted
        return partition  # type: ignore[no-any-return]

    async def poll(self) -> None:
        """A long poll that looks once and is gone."""
        unwatch = self.whole.watch(lambda: None)
        await self.whole.lease(Ask(1, LEASE_MS, None, 1_000), self.clock.now_ms())
        unwatch()


def run(scenario: Scenario) -> None:
    async def started() -> None:
        world = WatchedWorld()
        await world.start()
        await scenario(world)

    run_virtually(started(), VirtualLoop())


async def polls_that_follow_each_other(world: WatchedWorld) -> None:
    for _ in range(20):
        await world.poll()
        await asyncio.sleep(LINGERING_SECONDS / 2)
    assert (world.begun, world.ended) == (3, 0)
    assert len(world.counting.looks()) == 3


async def silence_after_a_poll(world: WatchedWorld) -> None:
    await world.poll()
    await asyncio.sleep(LINGERING_SECONDS + 0.1)
    assert (world.begun, world.ended) == (3, 3)
    await world.poll()
    assert world.begun == 6
    assert len(world.counting.looks()) == 6


async def arrival_while_the_watch_lingers(world: WatchedWorld) -> None:
    await world.poll()
    await world.send_to(2, "a")
    looks = len(world.counting.looks())
    answer = await world.whole.lease(Ask(1, LEASE_MS, None, 1_000), world.clock.now_ms())
    assert [lease.message.body for lease in answer.messages] == ["a"]
    assert world.counting.looks()[looks:] == [2]


async def partition_that_is_added_while_the_watch_lingers(world: WatchedWorld) -> None:
    await world.poll()
    await world.change(partitions=4)
    assert (world.begun, world.ended) == (4, 0)
    await asyncio.sleep(LINGERING_SECONDS + 0.1)
    assert world.ended == 4


@pytest.mark.parametrize(
    "scenario",
    [
        polls_that_follow_each_other,
        silence_after_a_poll,
        arrival_while_the_watch_lingers,
        partition_that_is_added_while_the_watch_lingers,
    ],
)
def test_watch_lingers(scenario: Scenario) -> None:
    run(scenario)
