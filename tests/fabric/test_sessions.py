"""Sends and receives of clients with sessions, on a queue that sizes itself."""

import asyncio
from typing import Any

import pytest

from dovemq.core.errors import StoreUnreachable
from dovemq.core.partitions import Layout
from dovemq.fabric.outside import OUTSIDE_OFTEN
from dovemq.system.clock import SystemClock
from tests.fabric.clients import AutoWorld
from tests.fabric.spread import bodies

STRATEGIES: list[dict[str, Any]] = [
    {"dequeue_strategy": "conventional"},
    {"dequeue_strategy": "pms"},
    {"dequeue_strategy": "rds", "rds_wake": "timer", "rds_sleep_ms": 1},
    {"dequeue_strategy": "rds", "rds_wake": "arrival", "rds_sleep_ms": 1},
]


async def test_clients_are_spread_as_the_paper_spreads_them() -> None:
    world = await AutoWorld(partitions=2).start()
    for number in range(12):
        client = world.client()
        if number % 3:
            await client.take()
        else:
            await client.send("x")
    assert world.sessions() == {0: (2, 4), 1: (2, 4)}


async def test_messages_of_a_producer_go_to_one_partition() -> None:
    world = await AutoWorld().start()
    producers = [world.client() for _ in range(4)]
    for number, producer in enumerate(producers):
        for _ in range(number + 1):
            await producer.send("a", "b")
    assert await world.visible() == [2, 4, 6, 8]


async def test_messages_with_a_group_go_by_their_group() -> None:
    world = await AutoWorld().start()
    one, other = world.client(), world.client()
    for _ in range(3):
        await one.send("a", group="tenant")
        await other.send("b", group="tenant")
    assert sorted(await world.visible()) == [0, 0, 0, 6]


async def test_consumer_looks_into_its_own_partition_alone_while_that_has_messages() -> None:
    world = await AutoWorld().start()
    consumer = world.client()
    for number in range(4):
        await world.send_to(number, *"abcdefghij")
    received = [lease for _ in range(5) for lease in await consumer.take(2)]
    assert world.counting.looks() == [0] * 5
    assert {lease.receipt.partition for lease in received} == {0}


async def test_consumer_is_answered_with_what_its_own_partition_has() -> None:
    world = await AutoWorld().start()
    consumer = world.client()
    await world.send_to(0, "own")
    await world.send_to(1, "other")
    assert bodies(await consumer.take(10)) == ["own"]
    assert bodies(await consumer.take(10)) == ["other"]


@pytest.mark.parametrize("settings", STRATEGIES, ids=str)
async def test_consumer_finds_messages_elsewhere_after_a_miss(settings: dict[str, Any]) -> None:
    world = await AutoWorld(SystemClock(), dequeue_fanout=1, **settings).start()
    consumer = world.client()
    for number in range(1, 4):
        await world.send_to(number, "elsewhere")
    found = []
    for _ in range(40):
        found += await consumer.take(1)
        if len(found) == 3:
            break
    assert len(found) == 3


@pytest.mark.parametrize("settings", STRATEGIES, ids=str)
async def test_waiting_consumer_gets_what_comes_to_its_own_partition(
    settings: dict[str, Any],
) -> None:
    world = await AutoWorld(SystemClock(), **settings).start()
    consumer, watching = world.client(), world.whole.watch(lambda: None)
    await consumer.take(1)
    await world.send_to(0, "own")
    assert bodies(await consumer.take(1, wait_ms=5_000)) == ["own"]
    watching()


async def test_consumer_that_waits_inside_the_queue_looks_home_when_it_wakes() -> None:
    timer: dict[str, Any] = {"dequeue_strategy": "rds", "rds_wake": "timer", "rds_sleep_ms": 20}
    world = await AutoWorld(SystemClock(), partitions=8, **timer).start()
    consumer = world.client()
    waiting = asyncio.create_task(consumer.take(1, wait_ms=10_000))
    while not world.fabric.parked:
        await asyncio.sleep(0)
    await world.send_to(0, "own")
    assert bodies(await waiting) == ["own"]
    assert world.counting.looks() == [0, 1, 0]


async def test_partition_without_consumers_does_not_starve() -> None:
    world = await AutoWorld().start()
    consumer = world.client()
    await world.send_to(0, *map(str, range(100)))
    for number in range(1, 4):
        await world.send_to(number, "elsewhere")
    received = [body for _ in range(4 * OUTSIDE_OFTEN) for body in bodies(await consumer.take(1))]
    assert received.count("elsewhere") == 3
    assert len(received) == 4 * OUTSIDE_OFTEN


async def test_draining_and_marked_partitions_get_no_session_and_no_message() -> None:
    world = await AutoWorld(partitions=3).start()
    await world.resize(2)
    await world.mark(1)
    for _ in range(4):
        client = world.client()
        await client.send("a")
        await client.take(1)
    assert world.sessions() == {0: (4, 4)}
    assert await world.visible() == [0, 0, 0]


async def test_session_moves_when_its_partition_begins_to_drain() -> None:
    world = await AutoWorld(partitions=2).start()
    producers = [world.client(), world.client()]
    for producer in producers:
        await producer.send("before")
    assert world.sessions() == {0: (1, 0), 1: (1, 0)}
    await world.resize(1)
    assert world.queue.settings.layout == Layout((0,), (1,), 1)
    for producer in producers:
        await producer.send("after")
    assert world.sessions() == {0: (2, 0)}
    assert await world.visible() == [3, 1]


async def test_producer_of_a_partition_that_fails_sends_elsewhere_for_a_moment() -> None:
    world = await AutoWorld(partitions=2).start()
    producer = world.client()
    await producer.send("a")
    world.counting.broken.add(0)
    with pytest.raises(StoreUnreachable):
        await world.lease(1)
    await producer.send("b")
    assert (await world.counts(1)).visible == 1
    world.manual.advance(1_000)
    await producer.send("c")
    assert (await world.counts(0)).visible == 2


async def test_queue_with_one_partition_has_sessions_as_well() -> None:
    world = await AutoWorld(partitions=1).start()
    client = world.client()
    await client.send("a")
    assert bodies(await client.take()) == ["a"]
    assert world.sessions() == {0: (1, 1)}
    client.leave()
    assert world.sessions() == {}


async def test_queue_of_a_set_size_has_no_sessions() -> None:
    world = await AutoWorld().start()
    await world.set(auto=False)
    client = world.client()
    for _ in range(4):
        await client.send("a")
    await client.take()
    assert world.sessions() == {}
    assert len(world.fabric.sessions) == 0


async def test_sessions_end_when_the_queue_gets_a_set_size() -> None:
    world = await AutoWorld().start()
    await world.client().send("a")
    assert world.sessions() == {0: (1, 0)}
    await world.set(auto=False)
    assert world.sessions() == {}


async def test_sessions_end_with_their_queue() -> None:
    world = await AutoWorld().start()
    await world.client().send("a")
    await world.fabric.catalogue.remove(world.queue.key)
    await world.fabric.keep_up(leads=True, scan=True)
    assert world.sessions() == {}


async def test_work_without_a_session_is_spread_as_ever() -> None:
    world = await AutoWorld().start()
    for body in "abcdefgh":
        await world.send(body)
    assert await world.visible() == [2, 2, 2, 2]
    assert world.sessions() == {}


async def test_new_partition_gets_the_next_clients() -> None:
    world = await AutoWorld(partitions=2).start()
    for _ in range(4):
        await world.client().send("a")
    await world.resize(3)
    for _ in range(2):
        await world.client().send("b")
    assert world.sessions() == {0: (2, 0), 1: (2, 0), 2: (2, 0)}
