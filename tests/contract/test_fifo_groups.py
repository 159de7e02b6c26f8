"""FIFO groups: strict order within a group, none of it behind a message that is hidden."""

import asyncio

from tests.contract.world import World


async def test_messages_of_a_group_come_in_the_order_they_were_sent(world: World) -> None:
    line = await world.fifo()
    for body in "abcd":
        await line.send(body)
    received = []
    for _ in "abcd":
        lease = await line.take_one()
        received.append(lease.message.body)
        await line.settle(lease)
    assert received == ["a", "b", "c", "d"]


async def test_group_with_a_lease_is_locked(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b")
    await line.take_one()
    assert await line.bodies() == []


async def test_other_groups_are_served_while_one_is_locked(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b", group="one")
    await line.send("c", group="two")
    assert await line.bodies(1) == ["a"]
    assert await line.bodies() == ["c"]


async def test_receive_takes_as_many_of_one_group_as_possible(world: World) -> None:
    line = await world.fifo()
    await line.send("a", group="one")
    await line.send("x", group="two")
    await line.send("b", "c", group="one")
    assert await line.bodies(3) == ["a", "b", "c"]


async def test_receive_goes_on_with_the_next_group(world: World) -> None:
    line = await world.fifo()
    await line.send("a", group="one")
    await line.send("x", group="two")
    await line.send("b", group="one")
    await line.send("y", group="two")
    assert await line.bodies(3) == ["a", "b", "x"]


async def test_groups_are_served_by_the_age_of_their_first_message(world: World) -> None:
    line = await world.fifo()
    for group in ("z", "m", "a"):
        await line.send(f"1{group}", group=group)
        await line.send(f"2{group}", group=group)
    assert [await line.bodies(2) for _ in range(3)] == [["1z", "2z"], ["1m", "2m"], ["1a", "2a"]]


async def test_settling_the_only_lease_unlocks_the_group(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b")
    await line.settle(await line.take_one())
    assert await line.bodies() == ["b"]


async def test_group_stays_locked_while_one_of_its_leases_is_left(world: World) -> None:
    line = await world.fifo()
    await line.send(*"abc")
    first, second = await line.take(2)
    await line.settle(first)
    assert await line.bodies() == []
    await line.settle(second)
    assert await line.bodies() == ["c"]


async def test_group_whose_lease_ended_comes_after_groups_that_waited(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b", group="one")
    await line.take_one(lease_ms=1_000)
    await line.send("x", group="two")
    world.clock.advance(1_000)
    assert await line.bodies() == ["x", "a", "b"]


async def test_group_whose_head_was_settled_keeps_its_old_place(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b", group="one")
    world.clock.advance(1)
    await line.send("x", group="two")
    await line.settle(await line.take_one())
    assert await line.bodies() == ["b", "x"]


async def test_group_can_be_had_up_to_its_first_hidden_message(world: World) -> None:
    line = await world.fifo()
    await line.send(*"abcd")
    first, second, _ = await line.take(3)
    await line.extend(first, 0)
    await line.extend(second, 0)
    assert await line.bodies() == ["a", "b"]


async def test_messages_whose_leases_ended_come_again_in_their_order(world: World) -> None:
    line = await world.fifo()
    await line.send(*"abc")
    first, _ = await line.take(2, lease_ms=1_000)
    await line.extend(first, 2_000)
    world.clock.advance(1_500)
    assert await line.bodies() == []
    world.clock.advance(500)
    assert await line.bodies() == ["a", "b", "c"]


async def test_second_of_a_run_settled_first_leaves_the_order_as_it_was(world: World) -> None:
    line = await world.fifo()
    await line.send(*"abc")
    _, second = await line.take(2, lease_ms=1_000)
    await line.settle(second)
    world.clock.advance(1_000)
    assert await line.bodies() == ["a", "c"]


async def test_released_group_comes_after_groups_that_waited(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b", group="one")
    await line.send("x", group="two")
    lease = await line.take_one()
    world.clock.advance(1)
    await line.extend(lease, 0)
    assert await line.bodies() == ["x", "a", "b"]


async def test_group_taken_back_undelivered_keeps_its_old_place(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b", group="one")
    world.clock.advance(1)
    await line.send("x", group="two")
    lease = await line.take_one()
    world.clock.advance(1)
    await line.release(lease)
    assert await line.bodies() == ["a", "b", "x"]


async def test_leases_of_no_time_let_the_groups_take_turns(world: World) -> None:
    line = await world.fifo()
    for group in ("one", "two", "three"):
        await line.send(f"1{group}", f"2{group}", group=group)
    world.clock.advance(1)
    assert await line.bodies(3, lease_ms=0) == ["1one", "2one", "1two"]
    turn = ["1three", "2three", "1one", "2one", "1two", "2two"]
    assert await line.bodies(lease_ms=0) == turn


async def test_message_sent_to_a_locked_group_waits(world: World) -> None:
    line = await world.fifo()
    await line.send("a")
    lease = await line.take_one()
    await line.send("b")
    assert await line.bodies() == []
    await line.settle(lease)
    assert await line.bodies() == ["b"]


async def test_group_that_was_emptied_can_be_used_again(world: World) -> None:
    line = await world.fifo()
    for body in "abc":
        await line.send(body)
        lease = await line.take_one()
        assert lease.message.body == body
        await line.settle(lease)
    assert await line.counts() == (0, 0, 0)


async def test_emptied_group_comes_after_groups_with_older_messages(world: World) -> None:
    line = await world.fifo()
    await line.send("a", group="one")
    lease = await line.take_one()
    await line.send("x", group="two")
    await line.settle(lease)
    await line.send("b", group="one")
    assert await line.bodies() == ["x", "b"]


async def test_messages_behind_a_lease_count_as_visible(world: World) -> None:
    line = await world.fifo()
    await line.send(*"abc")
    await line.take_one()
    assert await line.counts() == (2, 1, 0)


async def test_there_is_no_more_to_take_from_locked_groups(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b")
    assert (await line.lease(1)).more is False


async def test_there_is_more_to_take_when_another_group_is_open(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b", group="one")
    await line.send("x", group="two")
    assert (await line.lease(1)).more is True


async def test_locked_group_is_due_when_its_lease_ends(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b")
    await line.take_one(lease_ms=3_000)
    due_ms = (await line.lease()).next_due_ms
    assert due_ms is not None
    assert world.clock.now_ms() < due_ms <= world.clock.now_ms() + 3_000


async def test_lease_of_no_time_does_not_lock_the_group(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b")
    assert await line.bodies(1, lease_ms=0) == ["a"]
    assert await line.bodies(10) == ["a", "b"]


async def test_receives_at_the_same_time_never_share_a_group(world: World) -> None:
    line = await world.fifo()
    for group in ("one", "two", "three"):
        await line.send(f"1{group}", f"2{group}", f"3{group}", group=group)
    answers = await asyncio.gather(*(line.take(2) for _ in range(6)))
    groups = [{lease.message.group for lease in answer} for answer in answers if answer]
    assert len(groups) == len(set.union(*groups)) == 3


async def test_thousand_groups_of_one_message_come_in_order(world: World) -> None:
    line = await world.fifo()
    drafts = [line.draft(str(number), group=f"group-{number}") for number in range(1_000)]
    await line.send_drafts(drafts)
    received: list[str] = []
    while bodies := await line.bodies(10):
        received += bodies
    assert received == [str(number) for number in range(1_000)]
