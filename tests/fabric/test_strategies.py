"""Receives by strategy: which partitions they look into, and how long they are parked."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dovemq.core.errors import StoreUnreachable
from dovemq.testing.clock import VirtualLoop, run_virtually
from tests.fabric.spread import SpreadWorld, bodies

Scene = Callable[[SpreadWorld], Coroutine[Any, Any, None]]


def played(scene: Scene, **changes: Any) -> None:
    """Play a scene in virtual time."""
    loop = VirtualLoop()

    async def whole() -> None:
        await scene(await SpreadWorld(loop, **changes).start())

    run_virtually(whole(), loop)


async def settled_loop() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_conventional_receive_looks_at_the_fanout_in_turn() -> None:
    world = await SpreadWorld(partitions=5, dequeue_fanout=2).start()
    for _ in range(3):
        assert await world.take() == []
    assert world.counting.looks() == [0, 1, 2, 3, 4, 0]


async def test_receive_stops_when_it_has_enough() -> None:
    world = await SpreadWorld().start()
    await world.send_to(1, "a", "b")
    await world.send_to(2, "c")
    assert bodies(await world.take(2)) == ["a", "b"]
    assert world.counting.looks() == [0, 1]


async def test_each_look_is_counted_as_hit_or_miss() -> None:
    world = await SpreadWorld(dequeue_fanout=4).start()
    await world.send_to(2, "a", "b")
    assert (await world.lease()).found == (0, 0, 2, 0)


async def test_pms_goes_to_the_fullest_partition_first() -> None:
    world = await SpreadWorld(dequeue_strategy="pms").start()
    await world.send_to(2, "a")
    await world.send_to(3, "b", "c")
    assert bodies(await world.take(3)) == ["b", "c", "a"]
    assert world.counting.looks() == [3, 2]


async def test_pms_counts_once_in_a_period_while_there_are_receives() -> None:
    world = await SpreadWorld(dequeue_strategy="pms", pms_period_ms=1_000).start()
    for _ in range(5):
        await world.take()
    assert world.observer.looks == 4
    world.manual.advance(1_000)
    assert world.observer.looks == 4
    await world.take()
    assert world.observer.looks == 8


def test_rds_sleeps_after_a_miss_and_then_tries_the_next_partition() -> None:
    async def scene(world: SpreadWorld) -> None:
        start_ms = world.clock.now_ms()
        await world.send_to(1, "a")
        leased = await world.lease(1)
        assert bodies(leased.messages) == ["a"]
        assert leased.found == (0, 1)
        assert world.clock.now_ms() == start_ms + 500

    played(scene, dequeue_strategy="rds", rds_wake="timer", rds_sleep_ms=500)


def test_rds_answers_a_short_poll_after_one_sleep() -> None:
    async def scene(world: SpreadWorld) -> None:
        start_ms = world.clock.now_ms()
        leased = await world.lease(1)
        assert (leased.messages, leased.found) == ([], (0, 0))
        assert world.clock.now_ms() == start_ms + 500

    played(scene, dequeue_strategy="rds", rds_wake="timer", rds_sleep_ms=500)


def test_rds_retries_until_the_wait_of_a_long_poll_is_over() -> None:
    async def scene(world: SpreadWorld) -> None:
        start_ms = world.clock.now_ms()
        leased = await world.lease(1, wait_ms=2_000)
        assert leased.found == (0,) * 5
        assert world.clock.now_ms() == start_ms + 2_000

    played(scene, dequeue_strategy="rds", rds_wake="timer", rds_sleep_ms=500)


def test_rds_retries_at_the_partitions_of_other_front_ends_too() -> None:
    async def scene(world: SpreadWorld) -> None:
        await world.send_to(3, "far")
        start_ms = world.clock.now_ms()
        assert bodies((await world.lease(1, wait_ms=20_000)).messages) == ["far"]
        assert world.clock.now_ms() <= start_ms + 3 * 500

    for near in ({0}, {0, 1}, {0, 1, 2}):
        played(
            scene,
            is_local=lambda _, number, near=near: number in near,
            dequeue_strategy="rds",
            rds_wake="timer",
            rds_sleep_ms=500,
        )


def test_timer_does_not_end_with_an_arrival() -> None:
    async def scene(world: SpreadWorld) -> None:
        start_ms = world.clock.now_ms()
        receive = asyncio.create_task(world.lease(1))
        await asyncio.sleep(0.1)
        await world.send_to(1, "a")
        assert bodies((await receive).messages) == ["a"]
        assert world.clock.now_ms() == start_ms + 500

    played(scene, dequeue_strategy="rds", rds_wake="timer", rds_sleep_ms=500)


@pytest.mark.parametrize("number", range(4))
def test_arrival_in_any_partition_ends_the_sleep(number: int) -> None:
    async def scene(world: SpreadWorld) -> None:
        start_ms = world.clock.now_ms()
        receive = asyncio.create_task(world.lease(1, wait_ms=10_000))
        await asyncio.sleep(0.1)
        await world.send_to(number, "a")
        assert bodies((await receive).messages) == ["a"]
        assert world.clock.now_ms() == start_ms + 100

    played(scene, dequeue_strategy="rds")


def test_arrival_wakes_one_of_many_parked_receives() -> None:
    async def scene(world: SpreadWorld) -> None:
        receives = [asyncio.create_task(world.lease(1, wait_ms=10_000)) for _ in range(20)]
        await asyncio.sleep(0.1)
        before = len(world.counting.looks())
        await world.send_to(2, "a")
        await asyncio.sleep(0.1)
        assert len(world.counting.looks()) == before + 1
        assert sum(receive.done() for receive in receives) == 1
        assert world.fabric.parked == 19
        world.fabric.drain()
        answers = await asyncio.gather(*receives)
        assert sum(len(answer.messages) for answer in answers) == 1

    played(scene, dequeue_strategy="rds")


def test_batch_of_arrivals_wakes_one_receive_after_the_other() -> None:
    async def scene(world: SpreadWorld) -> None:
        receives = [asyncio.create_task(world.lease(1, wait_ms=10_000)) for _ in range(5)]
        await asyncio.sleep(0.1)
        await world.send_to(2, "a", "b", "c")
        await asyncio.sleep(0.1)
        assert sum(receive.done() for receive in receives) == 3
        world.fabric.drain()
        await asyncio.gather(*receives)

    played(scene, dequeue_strategy="rds")


def test_receive_parked_for_arrivals_is_woken_by_the_end_of_a_delay() -> None:
    async def scene(world: SpreadWorld) -> None:
        start_ms = world.clock.now_ms()
        await world.send_to(3, "a", delay_ms=700)
        leased = await world.lease(1, wait_ms=10_000)
        assert bodies(leased.messages) == ["a"]
        assert world.clock.now_ms() == start_ms + 700

    played(scene, dequeue_strategy="rds")


def test_parked_receives_end_when_the_service_drains() -> None:
    async def scene(world: SpreadWorld) -> None:
        start_ms = world.clock.now_ms()
        receive = asyncio.create_task(world.lease(1, wait_ms=10_000))
        await asyncio.sleep(0.1)
        world.fabric.drain()
        assert (await receive).messages == []
        assert world.clock.now_ms() == start_ms + 100

    for wake in ("timer", "arrival"):
        played(scene, dequeue_strategy="rds", rds_wake=wake, rds_sleep_ms=5_000)


async def test_cancelled_receive_gives_back_what_other_partitions_gave() -> None:
    world = await SpreadWorld(dequeue_fanout=4).start()
    await world.send_to(0, "a", "b")
    world.counting.slow[1] = asyncio.Event()
    receive = asyncio.create_task(world.lease())
    await settled_loop()
    assert await world.visible() == [0, 0, 0, 0]
    receive.cancel()
    await asyncio.wait([receive])
    world.counting.slow.clear()
    assert await world.visible() == [2, 0, 0, 0]
    (first, _) = await world.take(2)
    assert first.receive_count == 1


async def test_failed_partition_does_not_hide_the_others() -> None:
    world = await SpreadWorld(dequeue_fanout=4).start()
    await world.send_to(3, "a")
    world.counting.broken.add(0)
    assert bodies(await world.take()) == ["a"]
    with pytest.raises(StoreUnreachable):
        await world.take()
    world.counting.broken.clear()
    assert await world.take() == []
