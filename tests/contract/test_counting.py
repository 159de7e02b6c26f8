"""Counting: the three counters are exact at any moment, and so is the age of the oldest."""

import asyncio

from dovemq.core.commands import Transfer
from tests.contract.world import World


async def test_empty_queue_counts_nothing(world: World) -> None:
    line = await world.queue()
    assert await line.counts() == (0, 0, 0)
    assert await line.oldest_ms() is None


async def test_sent_messages_are_counted_as_visible(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc")
    assert await line.counts() == (3, 0, 0)


async def test_lease_moves_a_message_from_visible_to_leased(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc")
    await line.take(2)
    assert await line.counts() == (1, 2, 0)


async def test_end_of_a_lease_is_counted_at_its_millisecond(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=1_000)
    world.clock.advance(999)
    assert await line.counts() == (0, 1, 0)
    world.clock.advance(1)
    assert await line.counts() == (1, 0, 0)


async def test_delayed_message_is_counted_as_delayed_until_it_is_due(world: World) -> None:
    line = await world.queue()
    await line.send("a", delay_ms=1_000)
    world.clock.advance(999)
    assert await line.counts() == (0, 0, 1)
    world.clock.advance(1)
    assert await line.counts() == (1, 0, 0)


async def test_message_is_not_counted_as_delayed_once_it_was_received(world: World) -> None:
    line = await world.queue()
    await line.send("a", delay_ms=1_000)
    world.clock.advance(1_000)
    await line.take_one()
    assert await line.counts() == (0, 1, 0)


async def test_leases_that_end_between_ticks_are_counted_one_by_one(world: World) -> None:
    line = await world.queue()
    await line.send(*"abcd")
    for lease_ms in (101, 150, 199, 200):
        await line.take_one(lease_ms=lease_ms)
    seen = []
    for step in (101, 49, 49, 1):
        world.clock.advance(step)
        seen.append((await line.counts())[:2])
    assert seen == [(1, 3), (2, 2), (3, 1), (4, 0)]


async def test_adopted_messages_are_counted_as_visible(world: World) -> None:
    source, line = await world.queue("source"), await world.queue()
    await source.send("a")
    lease = await source.take_one()
    await line.adopt(Transfer(lease.message, lease.receive_count, lease.first_received_ms))
    assert await line.counts() == (1, 0, 0)


async def test_counts_add_up_after_everything_at_once(world: World) -> None:
    line = await world.queue()
    await asyncio.gather(*(line.send(*"abcde") for _ in range(10)))
    answers = await asyncio.gather(*(line.take(5) for _ in range(6)))
    await asyncio.gather(*(line.settle(*answer) for answer in answers[:3]))
    await asyncio.gather(*(line.release(*answer) for answer in answers[3:5]))
    assert await line.counts() == (30, 5, 0)


async def test_oldest_is_the_time_of_the_first_visible_message(world: World) -> None:
    line = await world.queue()
    first_ms = world.clock.now_ms()
    await line.send("a")
    world.clock.advance(1_000)
    await line.send("b")
    assert await line.oldest_ms() == first_ms


async def test_oldest_passes_over_hidden_messages(world: World) -> None:
    line = await world.queue()
    await line.send("leased")
    await line.take_one()
    await line.send("delayed", delay_ms=60_000)
    world.clock.advance(1_000)
    await line.send("visible")
    assert await line.oldest_ms() == world.clock.now_ms()


async def test_oldest_is_nothing_when_everything_is_hidden(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one()
    assert await line.oldest_ms() is None


async def test_oldest_comes_back_when_its_lease_ends(world: World) -> None:
    line = await world.queue()
    first_ms = world.clock.now_ms()
    await line.send("a")
    await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    await line.send("b")
    assert await line.oldest_ms() == first_ms


async def test_counts_of_one_queue_leave_out_the_others(world: World) -> None:
    one, two = await world.queue("one"), await world.queue("two")
    await one.send("a", "b")
    assert await two.counts() == (0, 0, 0)


async def test_counts_hold_for_a_backlog_of_thousands(world: World) -> None:
    line = await world.queue()
    await line.send(*(str(number) for number in range(3_000)))
    for _ in range(100):
        await line.settle(*(await line.take(10))[:5])
    assert await line.counts() == (2_000, 500, 0)
