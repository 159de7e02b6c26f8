"""Limits per message group: how many leases at once, and how many in a second."""

from tests.contract.world import World


async def test_group_has_no_more_leases_than_its_limit(world: World) -> None:
    line = await world.queue(group_concurrency=2)
    await line.send(*"abcd", group="tenant")
    assert await line.bodies(1) == ["a"]
    assert await line.bodies(1) == ["b"]
    assert await line.bodies(1) == []


async def test_limit_of_leases_holds_within_one_receive(world: World) -> None:
    line = await world.queue(group_concurrency=2)
    await line.send(*"abcd", group="tenant")
    assert await line.bodies(10) == ["a", "b"]


async def test_messages_held_back_by_a_limit_count_as_visible(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send(*"abc", group="tenant")
    await line.take_one()
    assert await line.counts() == (2, 1, 0)


async def test_settling_makes_room_below_the_limit(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send("a", "b", group="tenant")
    await line.settle(await line.take_one())
    assert await line.bodies() == ["b"]


async def test_end_of_a_lease_makes_room_below_the_limit(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send("a", "b", group="tenant")
    await line.take_one(lease_ms=1_000)
    world.clock.advance(999)
    assert await line.bodies() == []
    world.clock.advance(1)
    assert await line.bodies() == ["b"]


async def test_release_makes_room_below_the_limit(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send("a", "b", group="tenant")
    await line.release(await line.take_one())
    assert await line.bodies() == ["a"]


async def test_other_groups_go_on_when_one_is_at_its_limit(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send(*"abc", group="one")
    await line.send("x", group="two")
    assert await line.bodies(1) == ["a"]
    assert await line.bodies(10) == ["x"]


async def test_messages_without_a_group_have_no_limit(world: World) -> None:
    line = await world.queue(group_concurrency=1, group_rate_per_second=1)
    await line.send(*"abc")
    assert await line.bodies(10) == ["a", "b", "c"]


async def test_there_is_no_more_to_take_from_a_group_at_its_limit(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send("a", "b", group="tenant")
    assert (await line.lease(1)).more is False


async def test_many_messages_of_a_full_group_do_not_hold_back_the_rest(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send(*(str(number) for number in range(1_500)), group="one")
    await line.send("x", group="two")
    assert await line.bodies(1) == ["0"]
    assert await line.bodies(1) == ["x"]


async def test_limit_of_leases_bounds_the_run_of_a_fifo_group(world: World) -> None:
    line = await world.fifo(group_concurrency=2)
    await line.send(*"abc", group="one")
    await line.send("x", group="two")
    assert await line.bodies(10) == ["a", "b", "x"]


async def test_group_is_leased_no_more_often_than_its_rate(world: World) -> None:
    line = await world.queue(group_rate_per_second=2)
    await line.send(*"abcd", group="tenant")
    assert await line.bodies(10) == ["a", "b"]
    assert await line.bodies(10) == []


async def test_rate_is_free_again_after_exactly_a_second(world: World) -> None:
    line = await world.queue(group_rate_per_second=1)
    await line.send("a", "b", group="tenant")
    await line.take_one()
    world.clock.advance(999)
    assert await line.bodies() == []
    world.clock.advance(1)
    assert await line.bodies() == ["b"]


async def test_rate_holds_in_every_second_and_not_per_tick(world: World) -> None:
    line = await world.queue(group_rate_per_second=2)
    await line.send(*"abcd", group="tenant")
    assert await line.bodies(1) == ["a"]
    world.clock.advance(600)
    assert await line.bodies(10) == ["b"]
    world.clock.advance(400)
    assert await line.bodies(10) == ["c"]
    world.clock.advance(599)
    assert await line.bodies(10) == []
    world.clock.advance(1)
    assert await line.bodies(10) == ["d"]


async def test_settled_leases_count_against_the_rate(world: World) -> None:
    line = await world.queue(group_rate_per_second=1)
    await line.send("a", "b", group="tenant")
    await line.settle(await line.take_one())
    assert await line.bodies() == []


async def test_rate_outlives_the_last_message_of_the_group(world: World) -> None:
    line = await world.queue(group_rate_per_second=1)
    await line.send("a", group="tenant")
    await line.settle(await line.take_one())
    world.clock.advance(500)
    await line.send("b", group="tenant")
    assert await line.bodies() == []
    world.clock.advance(500)
    assert await line.bodies() == ["b"]


async def test_other_groups_have_rates_of_their_own(world: World) -> None:
    line = await world.queue(group_rate_per_second=1)
    await line.send("a", "b", group="one")
    await line.send("x", "y", group="two")
    assert await line.bodies(10) == ["a", "x"]


async def test_answer_tells_when_the_rate_lets_out_the_next_message(world: World) -> None:
    line = await world.queue(group_rate_per_second=1)
    await line.send("a", "b", group="tenant")
    await line.take_one(lease_ms=60_000)
    world.clock.advance(300)
    leased = await line.lease()
    assert leased.messages == []
    assert leased.more is False
    assert leased.next_due_ms is not None
    assert world.clock.now_ms() < leased.next_due_ms <= world.clock.now_ms() + 700


async def test_rate_bounds_the_run_of_a_fifo_group(world: World) -> None:
    line = await world.fifo(group_rate_per_second=2)
    await line.send(*"abc", group="one")
    await line.send("x", group="two")
    assert await line.bodies(10) == ["a", "b", "x"]


async def test_fifo_group_that_is_free_waits_for_its_rate(world: World) -> None:
    line = await world.fifo(group_rate_per_second=1)
    await line.send("a", "b")
    await line.settle(await line.take_one())
    leased = await line.lease()
    assert leased.messages == []
    assert leased.next_due_ms is not None
    assert world.clock.now_ms() < leased.next_due_ms <= world.clock.now_ms() + 1_000
    world.clock.advance(1_000)
    assert await line.bodies() == ["b"]


async def test_lifted_limit_holds_no_more(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send(*"abc", group="tenant")
    assert await line.bodies(10) == ["a"]
    await line.change(group_concurrency=None)
    assert await line.bodies(10) == ["b", "c"]


async def test_new_limit_counts_leases_given_before(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc", group="tenant")
    assert await line.bodies(2) == ["a", "b"]
    await line.change(group_concurrency=2)
    assert await line.bodies(10) == []
