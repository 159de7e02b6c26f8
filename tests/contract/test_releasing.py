"""Releasing: an undelivered lease leaves no trace."""

from dovemq.core.commands import Settlement
from tests.contract.world import World


async def test_released_message_is_visible_at_once(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.release(await line.take_one())
    assert await line.counts() == (1, 0, 0)
    assert await line.bodies() == ["a"]


async def test_released_receive_does_not_count(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.release(await line.take_one())
    assert (await line.take_one()).receive_count == 1


async def test_earlier_receives_still_count_after_a_release(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    await line.release(await line.take_one())
    assert (await line.take_one()).receive_count == 2


async def test_released_message_forgets_the_time_of_its_first_receive(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.release(await line.take_one())
    world.clock.advance(500)
    assert (await line.take_one()).first_received_ms == world.clock.now_ms()


async def test_released_message_is_back_in_its_old_place(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc")
    first = await line.take_one()
    world.clock.advance(100)
    await line.send("d")
    await line.release(first)
    assert await line.bodies() == ["a", "b", "c", "d"]


async def test_released_message_that_had_returned_before_keeps_that_place(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=1_000)
    await line.send("b")
    world.clock.advance(1_000)
    taken = await line.take(2)
    world.clock.advance(10)
    await line.release(*taken)
    assert await line.bodies() == ["b", "a"]


async def test_several_leases_are_released_together(world: World) -> None:
    line = await world.queue()
    await line.send(*"abcd")
    await line.release(*await line.take(4))
    assert await line.bodies() == ["a", "b", "c", "d"]


async def test_receipt_of_an_older_lease_is_passed_over(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    old = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    await line.take_one()
    await line.release(old)
    assert await line.counts() == (0, 1, 0)


async def test_release_of_a_settled_message_is_passed_over(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    await line.settle(lease)
    await line.release(lease)
    assert await line.counts() == (0, 0, 0)


async def test_releasing_twice_changes_nothing_more(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    await line.release(lease)
    await line.release(lease)
    assert (await line.take_one()).receive_count == 1


async def test_undelivered_lease_that_ended_meanwhile_is_taken_back_too(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(2_000)
    await line.release(lease)
    assert (await line.take_one()).receive_count == 1


async def test_release_unlocks_a_fifo_group_and_keeps_its_order(world: World) -> None:
    line = await world.fifo()
    await line.send(*"abc")
    await line.release(*await line.take(2))
    assert await line.bodies() == ["a", "b", "c"]


async def test_release_of_some_leases_keeps_a_fifo_group_locked(world: World) -> None:
    line = await world.fifo()
    await line.send(*"abc")
    first, second = await line.take(2)
    await line.release(second)
    assert await line.bodies() == []
    assert await line.settle(first) == [Settlement.SETTLED]
    assert await line.bodies() == ["b", "c"]


async def test_message_settled_after_a_release_and_a_new_lease_is_gone(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.release(await line.take_one())
    assert await line.settle(await line.take_one()) == [Settlement.SETTLED]
    assert await line.counts() == (0, 0, 0)
