"""Settling: a settled message is gone for good."""

import pytest

from dovemq.core.commands import Receipt, Settlement
from tests.contract.world import World


async def test_settled_message_does_not_come_back(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    assert await line.settle(await line.take_one(lease_ms=1_000)) == [Settlement.SETTLED]
    world.clock.advance(1_000)
    assert await line.bodies() == []


async def test_settled_message_is_not_counted(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    await line.settle(await line.take_one())
    assert await line.counts() == (1, 0, 0)


async def test_settling_one_message_leaves_the_others(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc")
    _, second, _ = await line.take(3, lease_ms=1_000)
    await line.settle(second)
    world.clock.advance(1_000)
    assert await line.bodies() == ["a", "c"]


async def test_settling_twice_succeeds(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    await line.settle(lease)
    assert await line.settle(lease) == [Settlement.GONE]


async def test_same_receipt_twice_in_a_batch_settles_once(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    assert await line.settle(lease, lease) == [Settlement.SETTLED, Settlement.GONE]


async def test_batch_of_receipts_is_answered_in_order(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc")
    first, second, third = await line.take(3)
    await line.settle(second)
    answers = await line.settle(first, second, third)
    assert answers == [Settlement.SETTLED, Settlement.GONE, Settlement.SETTLED]


async def test_settling_nothing_answers_nothing(world: World) -> None:
    line = await world.queue()
    assert await line.settle() == []


async def test_standard_queue_honours_a_receipt_whose_lease_has_ended(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(5_000)
    assert await line.settle(lease) == [Settlement.SETTLED]
    assert await line.counts() == (0, 0, 0)


async def test_standard_queue_honours_an_old_receipt_over_a_newer_lease(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    old = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    newer = await line.take_one()
    assert await line.settle(old) == [Settlement.SETTLED]
    assert await line.settle(newer) == [Settlement.GONE]


async def test_fifo_queue_refuses_a_receipt_whose_lease_has_ended(world: World) -> None:
    line = await world.fifo()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    assert await line.settle(lease) == [Settlement.EXPIRED]
    assert await line.bodies() == ["a"]


async def test_fifo_queue_honours_a_receipt_until_the_last_millisecond(world: World) -> None:
    line = await world.fifo()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(999)
    assert await line.settle(lease) == [Settlement.SETTLED]


async def test_fifo_queue_refuses_an_old_receipt_and_keeps_the_newer_lease(world: World) -> None:
    line = await world.fifo()
    await line.send("a")
    old = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    newer = await line.take_one()
    assert await line.settle(old) == [Settlement.EXPIRED]
    assert await line.counts() == (0, 1, 0)
    assert await line.settle(newer) == [Settlement.SETTLED]


async def test_fifo_queue_answers_gone_for_what_was_settled(world: World) -> None:
    line = await world.fifo()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    await line.settle(lease)
    world.clock.advance(2_000)
    assert await line.settle(lease) == [Settlement.GONE]


async def test_receipt_of_a_message_that_never_was_answers_gone(world: World) -> None:
    line = await world.queue()
    unknown = Receipt(line.queue.number, 0, 999_999_999, 1, world.clock.now_ms())
    assert await line.partition.settle([unknown], world.clock.now_ms()) == [Settlement.GONE]


async def test_settling_after_a_shortened_lease_still_works(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    await line.extend(lease, 0)
    assert await line.settle(lease) == [Settlement.SETTLED]
    assert await line.bodies() == []


@pytest.mark.parametrize("fifo", [False, True])
async def test_operator_deletes_messages_in_any_state_without_their_receipts(
    world: World, fifo: bool
) -> None:
    line = await (world.fifo() if fifo else world.queue())
    await line.send("leased")
    lease = await line.take_one()
    await line.send("visible")
    await line.send("delayed", delay_ms=60_000)
    peeked = await line.peek()
    assert await line.force_out(*peeked) == [Settlement.SETTLED] * 3
    assert await line.counts() == (0, 0, 0)
    assert await line.settle(lease) == [Settlement.GONE]
    assert await line.force_out(*peeked) == [Settlement.GONE] * 3


async def test_forced_deletion_of_the_first_of_a_group_frees_the_next(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b", group="g")
    await line.take_one(lease_ms=1_000)
    first, _ = await line.peek()
    await line.force_out(first)
    assert await line.bodies() == ["b"]
