"""The life of a store: one partition object per place, settings that follow, and the end."""

import pytest

from dovemq.core.commands import Ask
from dovemq.core.errors import UnavailableError
from tests.contract.world import World


async def test_partition_is_the_same_object_each_time(world: World) -> None:
    line = await world.queue()
    assert world.store.partition(line.queue, 0) is world.store.partition(line.queue, 0)


async def test_partition_follows_a_newer_version_of_its_queue(world: World) -> None:
    line = await world.queue()
    partition = line.partition
    await line.change(delivery_paused=True)
    assert world.store.partition(line.queue, 0) is partition
    await line.send("a")
    assert await line.bodies() == []


async def test_partition_does_not_go_back_to_an_older_version(world: World) -> None:
    line = await world.queue(delivery_paused=True)
    await line.send("a")
    old = line.queue
    await line.change(delivery_paused=False)
    partition = line.partition
    assert world.store.partition(old, 0) is partition
    assert len((await partition.lease(Ask(1, 1_000), line.now_ms)).messages) == 1


async def test_new_default_delay_does_not_touch_messages_already_sent(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.change(delay_ms=60_000)
    assert await line.bodies() == ["a"]


async def test_new_default_lease_does_not_touch_leases_already_given(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=5_000)
    await line.change(lease_ms=1_000)
    world.clock.advance(4_999)
    assert await line.bodies() == []


async def test_changed_settings_keep_messages_leases_and_delays(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc")
    await line.take_one()
    await line.send("late", delay_ms=60_000)
    await line.change(order_hint=5, group_concurrency=3)
    assert await line.counts() == (2, 1, 1)


async def test_changed_scope_of_deduplication_holds_for_the_next_send(world: World) -> None:
    line = await world.fifo()
    await line.send("a", group="one", deduplication_id="once")
    await line.change(deduplication_scope="messageGroup")
    await line.send("b", group="two", deduplication_id="once")
    assert await line.bodies() == ["a", "b"]


async def test_receipt_key_stays_the_same(world: World) -> None:
    key = world.store.receipt_key
    assert len(key) >= 16
    assert world.store.receipt_key == key


async def test_closed_store_refuses_sends_and_receives(world: World) -> None:
    line = await world.queue()
    partition = line.partition
    await world.store.close()
    with pytest.raises(UnavailableError):
        await partition.send([line.draft("a")], world.clock.now_ms())
    with pytest.raises(UnavailableError):
        await line.take()


async def test_closed_store_refuses_to_look_up_queues(world: World) -> None:
    line = await world.queue()
    await world.store.close()
    with pytest.raises(UnavailableError):
        await world.store.catalogue.find(line.queue.key)


async def test_store_can_be_closed_twice(world: World) -> None:
    line = await world.queue()
    await world.store.close()
    await world.store.close()
    with pytest.raises(UnavailableError):
        await world.store.catalogue.create(line.queue)
