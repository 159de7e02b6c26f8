"""The holder of the newest receipt can move the end of its lease (ChangeMessageVisibility).

`counts()` are the numbers of visible, leased and delayed messages.
"""

from dovemq.core.commands import Extension, Receipt
from tests.contract.world import World


async def test_extended_message_stays_hidden_until_the_new_end(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    assert await line.extend(lease, 5_000) is Extension.EXTENDED
    world.clock.advance(4_999)
    assert await line.bodies() == []


async def test_extended_message_is_visible_at_the_new_end(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.extend(await line.take_one(lease_ms=1_000), 5_000)
    world.clock.advance(5_000)
    assert await line.bodies() == ["a"]


async def test_extension_counts_from_now_and_not_from_the_old_end(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one(lease_ms=10_000)
    world.clock.advance(9_000)
    await line.extend(lease, 10_000)
    world.clock.advance(10_000)
    assert await line.bodies() == ["a"]


async def test_lease_can_be_extended_again_and_again(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    for _ in range(5):
        world.clock.advance(900)
        assert await line.extend(lease, 1_000) is Extension.EXTENDED
    assert await line.counts() == (0, 1, 0)


async def test_lease_can_be_shortened(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.extend(await line.take_one(lease_ms=60_000), 1_000)
    world.clock.advance(1_000)
    assert await line.bodies() == ["a"]


async def test_extension_by_zero_makes_the_message_visible_at_once(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    assert await line.extend(lease, 0) is Extension.EXTENDED
    assert await line.counts() == (1, 0, 0)
    assert await line.bodies() == ["a"]


async def test_released_message_can_be_hidden_again_by_its_receipt(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    await line.extend(lease, 0)
    assert await line.extend(lease, 1_000) is Extension.EXTENDED
    assert await line.bodies() == []
    world.clock.advance(1_000)
    assert await line.bodies() == ["a"]


async def test_released_message_comes_after_those_visible_before(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    await line.send("b")
    world.clock.advance(1)
    await line.extend(lease, 0)
    assert await line.bodies() == ["b", "a"]


async def test_lease_can_be_extended_in_its_last_millisecond(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(999)
    assert await line.extend(lease, 1_000) is Extension.EXTENDED


async def test_ended_lease_can_be_extended_while_the_message_is_visible(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    assert await line.extend(lease, 5_000) is Extension.EXTENDED
    assert await line.counts() == (1, 1, 0)
    assert await line.bodies() == ["b"]
    world.clock.advance(4_999)
    assert await line.counts() == (0, 2, 0)
    world.clock.advance(1)
    again = await line.take_one()
    assert (again.message.body, again.receive_count) == ("a", 2)


async def test_ended_lease_that_was_extended_can_be_extended_and_settled(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    await line.extend(lease, 1_000)
    assert await line.extend(lease, 9_000) is Extension.EXTENDED
    world.clock.advance(8_999)
    assert await line.bodies() == []
    await line.settle(lease)
    assert await line.counts() == (0, 0, 0)


async def test_ended_lease_can_be_extended_by_zero(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    assert await line.extend(lease, 0) is Extension.EXTENDED
    assert await line.counts() == (2, 0, 0)
    assert sorted(await line.bodies()) == ["a", "b"]


async def test_ended_lease_is_extended_only_within_the_limit_of_its_group(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send_drafts([line.draft(body, group="g") for body in "ab"])
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    other = await line.take_one(lease_ms=1_000)
    assert other.message.body == "b"
    assert await line.extend(lease, 5_000) is Extension.NOT_LEASED
    assert await line.extend(lease, 0) is Extension.EXTENDED
    await line.settle(other)
    assert await line.extend(lease, 5_000) is Extension.EXTENDED
    assert await line.counts() == (0, 1, 0)


async def test_old_receipt_does_not_hide_a_visible_message(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    old = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    assert await line.extend(old, 5_000) is Extension.NOT_LEASED
    assert await line.extend(old, 0) is Extension.EXTENDED
    assert await line.bodies() == ["a"]


async def test_old_receipt_leaves_a_newer_lease_alone(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    old = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    await line.take_one(lease_ms=1_000)
    assert await line.extend(old, 60_000) is Extension.STALE
    assert await line.extend(old, 0) is Extension.EXTENDED
    assert await line.counts() == (0, 1, 0)
    world.clock.advance(1_000)
    assert await line.counts() == (1, 0, 0)


async def test_settled_message_cannot_be_extended(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    await line.settle(lease)
    assert await line.extend(lease, 5_000) is Extension.GONE


async def test_message_that_never_existed_cannot_be_extended(world: World) -> None:
    line = await world.queue()
    now_ms = world.clock.now_ms()
    unknown = Receipt(line.queue.number, 0, 999_999_999, 1, now_ms)
    assert await line.partition.extend([(unknown, 1_000)], now_ms) == [Extension.GONE]


async def test_extending_does_not_count_as_a_receive(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.extend(await line.take_one(), 0)
    assert (await line.take_one()).receive_count == 2


async def test_batch_of_extensions_is_answered_in_order(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    first, second = await line.take(2)
    await line.settle(first)
    changes = [(first.receipt, 1_000), (second.receipt, 1_000)]
    answers = await line.partition.extend(changes, world.clock.now_ms())
    assert answers == [Extension.GONE, Extension.EXTENDED]


async def test_due_time_follows_the_extension(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.extend(await line.take_one(lease_ms=60_000), 2_000)
    due_ms = (await line.lease()).next_due_ms
    assert due_ms is not None
    assert world.clock.now_ms() < due_ms <= world.clock.now_ms() + 2_000


async def test_extension_keeps_a_fifo_group_locked(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b")
    await line.extend(await line.take_one(lease_ms=1_000), 5_000)
    world.clock.advance(4_999)
    assert await line.bodies() == []
    world.clock.advance(1)
    assert await line.bodies() == ["a", "b"]


async def test_fifo_queue_refuses_to_extend_an_ended_lease(world: World) -> None:
    line = await world.fifo()
    await line.send("a")
    lease = await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    assert await line.extend(lease, 5_000) is Extension.NOT_LEASED
    assert await line.extend(lease, 0) is Extension.NOT_LEASED
    assert await line.bodies() == ["a"]
