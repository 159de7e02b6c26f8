"""Dropping: messages sent before a moment are removed in bounded steps."""

from dovemq.core.commands import Extension, Settlement, Transfer
from tests.contract.world import World


async def test_drop_removes_everything_sent_before(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc")
    assert await line.drop() == 3
    assert await line.counts() == (0, 0, 0)
    assert await line.bodies() == []


async def test_drop_leaves_what_was_sent_at_that_moment_or_later(world: World) -> None:
    line = await world.queue()
    await line.send("before")
    world.clock.advance(1)
    await line.send("then")
    then_ms = world.clock.now_ms()
    world.clock.advance(1)
    await line.send("after")
    assert await line.drop(then_ms) == 1
    assert await line.bodies() == ["then", "after"]


async def test_drop_removes_leased_messages_too(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    await line.take_one(lease_ms=1_000)
    assert await line.drop() == 2
    world.clock.advance(1_000)
    assert await line.bodies() == []


async def test_drop_removes_delayed_messages_too(world: World) -> None:
    line = await world.queue()
    await line.send("a", delay_ms=5_000)
    assert await line.drop() == 1
    world.clock.advance(5_000)
    assert await line.bodies() == []


async def test_drop_removes_at_most_count_max_messages(world: World) -> None:
    line = await world.queue()
    await line.send(*"abcde")
    assert await line.drop(count_max=3) == 3
    assert sum(await line.counts()) == 2


async def test_drop_step_by_step_ends_with_a_short_step(world: World) -> None:
    line = await world.queue()
    await line.send(*"abcde")
    assert [await line.drop(count_max=2) for _ in range(4)] == [2, 2, 1, 0]


async def test_drop_of_an_empty_queue_removes_nothing(world: World) -> None:
    line = await world.queue()
    assert await line.drop() == 0


async def test_receipt_of_a_dropped_message_settles_as_gone(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    await line.drop()
    assert await line.settle(lease) == [Settlement.GONE]
    assert await line.extend(lease, 1_000) is Extension.GONE


async def test_receipt_of_a_dropped_message_never_touches_a_later_one(world: World) -> None:
    line = await world.queue()
    await line.send("old")
    lease = await line.take_one()
    await line.drop()
    await line.send("new")
    await line.settle(lease)
    assert await line.bodies() == ["new"]


async def test_drop_unlocks_fifo_groups(world: World) -> None:
    line = await world.fifo()
    await line.send("old", "older")
    await line.take_one()
    await line.drop()
    world.clock.advance(1)
    await line.send("new")
    assert await line.bodies() == ["new"]


async def test_drop_of_one_queue_leaves_the_others(world: World) -> None:
    one, two = await world.queue("one"), await world.queue("two")
    await one.send("a")
    await two.send("b")
    await one.drop()
    assert await two.bodies() == ["b"]


async def test_dropped_message_can_be_adopted_again(world: World) -> None:
    source, target = await world.queue("source"), await world.queue("target")
    await source.send("a")
    letter = (await source.take_one()).message
    transfer = Transfer(letter)
    await target.adopt(transfer)
    await target.drop()
    await target.adopt(transfer)
    assert await target.bodies() == ["a"]
