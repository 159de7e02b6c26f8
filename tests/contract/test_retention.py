"""Retention: a message that has outlived its queue's period is gone, leased or not."""

from dovemq.core import limits
from dovemq.core.commands import Duplicate, Extension, Settlement
from tests.contract.world import World

MINUTE_MS = limits.MINUTE_MS


async def test_message_is_there_until_the_last_millisecond_of_its_retention(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a")
    world.clock.advance(MINUTE_MS - 1)
    assert await line.bodies() == ["a"]


async def test_message_is_gone_when_its_retention_is_over(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a")
    world.clock.advance(MINUTE_MS)
    assert await line.bodies() == []


async def test_only_messages_that_are_old_enough_go(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("old")
    world.clock.advance(30_000)
    await line.send("young")
    world.clock.advance(30_000)
    assert await line.bodies() == ["young"]


async def test_receives_do_not_prolong_the_retention(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a")
    world.clock.advance(30_000)
    await line.take_one(lease_ms=1_000)
    world.clock.advance(30_000)
    assert await line.bodies() == []


async def test_leased_message_goes_too(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a")
    await line.take_one(lease_ms=10 * MINUTE_MS)
    world.clock.advance(MINUTE_MS)
    assert await line.counts() == (0, 0, 0)


async def test_delayed_message_goes_too(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a", delay_ms=10 * MINUTE_MS)
    world.clock.advance(MINUTE_MS)
    assert await line.counts() == (0, 0, 0)


async def test_lease_of_a_message_that_went_settles_as_gone(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a")
    lease = await line.take_one(lease_ms=10 * MINUTE_MS)
    world.clock.advance(MINUTE_MS)
    assert await line.settle(lease) == [Settlement.GONE]


async def test_lease_of_a_message_that_went_cannot_be_extended(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a")
    lease = await line.take_one(lease_ms=10 * MINUTE_MS)
    world.clock.advance(MINUTE_MS)
    assert await line.extend(lease, 1_000) is Extension.GONE


async def test_release_does_not_bring_back_a_message_that_went(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a")
    lease = await line.take_one(lease_ms=10 * MINUTE_MS)
    world.clock.advance(MINUTE_MS)
    await line.release(lease)
    assert await line.counts() == (0, 0, 0)


async def test_message_that_went_is_not_counted(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a", "b")
    world.clock.advance(MINUTE_MS)
    assert await line.counts() == (0, 0, 0)
    assert await line.oldest_ms() is None


async def test_message_that_went_cannot_be_peeked_at(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a")
    world.clock.advance(MINUTE_MS)
    assert await line.peek() == []


async def test_shorter_retention_holds_for_messages_already_sent(world: World) -> None:
    line = await world.queue(retention_ms=10 * MINUTE_MS)
    await line.send("a")
    world.clock.advance(2 * MINUTE_MS)
    await line.change(retention_ms=MINUTE_MS)
    assert await line.bodies() == []


async def test_longer_retention_holds_for_messages_already_sent(world: World) -> None:
    line = await world.queue(retention_ms=MINUTE_MS)
    await line.send("a")
    world.clock.advance(30_000)
    await line.change(retention_ms=10 * MINUTE_MS)
    world.clock.advance(9 * MINUTE_MS)
    assert await line.bodies() == ["a"]


async def test_fifo_group_is_unlocked_when_its_leased_message_goes(world: World) -> None:
    line = await world.fifo(retention_ms=MINUTE_MS)
    await line.send("old")
    await line.take_one(lease_ms=10 * MINUTE_MS)
    world.clock.advance(30_000)
    await line.send("young")
    assert await line.bodies() == []
    world.clock.advance(30_000)
    assert await line.bodies() == ["young"]


async def test_deduplication_outlives_the_message(world: World) -> None:
    line = await world.fifo(retention_ms=MINUTE_MS)
    await line.send("a", deduplication_id="once")
    world.clock.advance(2 * MINUTE_MS)
    (again,) = await line.send("a", deduplication_id="once")
    assert isinstance(again, Duplicate)
