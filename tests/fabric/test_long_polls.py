"""Long polls on a spread queue: woken by an arrival anywhere, and no look without one."""

import asyncio
import random
from typing import Any

import pytest

from dovemq.core.commands import Draft
from dovemq.core.queue import Queue
from dovemq.fabric.store import FabricStore
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import ManualClock
from tests.fabric.spread import CountingStore
from tests.service.world import ACCOUNT, LONG_MS, World, bodies

PARTITIONS = 16


class PolledWorld(World):
    def __init__(self) -> None:
        clock = ManualClock()
        self.counting = CountingStore(MemoryStore(random.Random(1), b"k" * 32))
        self.fabric = FabricStore(self.counting, clock)
        super().__init__(store=self.fabric, clock=clock)

    def poll(self, queue: Queue, wait_ms: int = LONG_MS) -> "asyncio.Task[list[Any]]":
        return asyncio.create_task(self.messages.receive(queue, 10, wait_ms=wait_ms))

    async def send_to(self, queue: Queue, number: int, body: str, delay_ms: int = 0) -> None:
        draft = Draft(self.new_id(), body, ACCOUNT, delay_ms)
        await self.counting.partition(queue, number).send([draft], self.clock.now_ms())


async def settled_loop() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.mark.parametrize("strategy", ["conventional", "pms", "rds"])
@pytest.mark.parametrize("number", [0, 7, PARTITIONS - 1])
async def test_poll_is_woken_by_an_arrival_in_any_partition(strategy: str, number: int) -> None:
    world = PolledWorld()
    queue = await world.queue("q", partitions=PARTITIONS, dequeue_strategy=strategy)
    poll = world.poll(queue)
    await settled_loop()
    await world.send_to(queue, number, "a")
    assert bodies(await poll) == ["a"]


@pytest.mark.parametrize("strategy", ["conventional", "pms", "rds"])
async def test_idle_polls_look_once_into_each_partition_and_never_again(strategy: str) -> None:
    world = PolledWorld()
    queue = await world.queue("q", partitions=PARTITIONS, dequeue_strategy=strategy)
    first = world.poll(queue)
    await settled_loop()
    assert sorted(world.counting.looks()) == list(range(PARTITIONS))
    polls = [world.poll(queue) for _ in range(100)]
    await settled_loop()
    assert len(world.counting.looks()) == PARTITIONS
    await world.service.drain()
    world.fabric.drain()
    assert await asyncio.gather(first, *polls) == [[]] * 101


async def test_messages_of_all_partitions_are_found_before_a_poll_parks() -> None:
    world = PolledWorld()
    queue = await world.queue("q", partitions=PARTITIONS, dequeue_fanout=1)
    for number in range(PARTITIONS):
        await world.send_to(queue, number, str(number))
    received: list[str] = []
    while len(received) < PARTITIONS:
        received += bodies(await world.poll(queue))
    assert sorted(received, key=int) == [str(number) for number in range(PARTITIONS)]


async def test_poll_ends_when_a_delay_in_a_far_partition_ends() -> None:
    world = PolledWorld()
    queue = await world.queue("q", partitions=PARTITIONS)
    await world.send_to(queue, 13, "a", delay_ms=1)
    poll = world.poll(queue)
    await settled_loop()
    world.clock.advance(1)
    assert bodies(await poll) == ["a"]


async def test_poll_goes_on_when_its_queue_is_spread_over_more_partitions() -> None:
    world = PolledWorld()
    queue = await world.queue("q")
    poll = world.poll(queue)
    await settled_loop()
    queue = await world.queues.change(queue.key, {"partitions": 4})
    await settled_loop()
    await world.send_to(queue, 3, "a")
    assert bodies(await poll) == ["a"]


async def test_poll_sees_partitions_that_come_and_go() -> None:
    world = PolledWorld()
    queue = await world.queue("q", partitions=2)
    poll = world.poll(queue)
    await settled_loop()
    await world.queues.change(queue.key, {"partitions": 1})
    queue = await world.queues.change(queue.key, {"partitions": 5})
    await settled_loop()
    await world.send_to(queue, 4, "a")
    assert bodies(await poll) == ["a"]


async def test_exhausted_messages_of_all_partitions_move_to_the_dead_letters() -> None:
    world = PolledWorld()
    work, dead = await world.with_dead_letters(1)
    work = await world.queues.change(work.key, {"partitions": 4, "dequeue_fanout": 4})
    for number in range(4):
        await world.send_to(work, number, str(number))
    assert len(await world.messages.receive(work, 10)) == 4
    world.clock.advance(1_000)
    assert await world.messages.receive(work, 10) == []
    assert sorted(bodies(await world.messages.receive(dead, 10))) == ["0", "1", "2", "3"]
