"""Reopening: what was answered is there after a stop or a crash. Durable stores only."""

from dovemq.core.commands import Duplicate, Extension, Move, Settlement, Transfer
from dovemq.core.message import Attribute
from dovemq.core.queue import QueueKey
from tests.contract.world import ACCOUNT, World


async def test_queues_and_their_settings_survive(durable_world: World) -> None:
    world = durable_world
    line = await world.queue(order_hint=9, lease_ms=5_000)
    await line.change(delay_ms=1_000)
    await world.reopen()
    assert await world.store.catalogue.find(line.queue.key) == line.queue


async def test_removed_queue_stays_removed(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send("a")
    await world.store.catalogue.remove(line.queue.key)
    await world.reopen()
    assert await world.store.catalogue.find(line.queue.key) is None
    again = await world.queue()
    assert again.queue.number != line.queue.number
    assert await again.counts() == (0, 0, 0)


async def test_messages_survive_whole_and_in_order(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    attributes = {"n": Attribute("Number", "1"), "b": Attribute("Binary", b"\x00\x01")}
    await line.send_drafts(
        [line.draft("ä", attributes=attributes, xray_header="Root=1", group="g")]
    )
    await line.send("b", "c")
    before = await line.peek()
    await world.reopen()
    assert await line.peek() == before
    assert await line.bodies() == ["ä", "b", "c"]


async def test_settled_messages_stay_settled(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send(*"abc")
    await line.settle(await line.take_one(lease_ms=1_000))
    await world.reopen()
    world.clock.advance(60_000)
    assert await line.bodies() == ["b", "c"]


async def test_leases_survive_a_stop(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send("a", "b")
    await line.take_one(lease_ms=5_000)
    await world.reopen()
    assert await line.counts() == (1, 1, 0)
    assert await line.bodies() == ["b"]
    world.clock.advance(5_000)
    assert [lease.receive_count for lease in await line.take(1)] == [2]


async def test_receipts_hold_over_a_restart(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send("a", "b")
    first, second = await line.take(2)
    key = world.store.receipt_key
    await world.reopen()
    assert world.store.receipt_key == key
    assert await line.extend(first, 1_000) is Extension.EXTENDED
    assert await line.settle(second) == [Settlement.SETTLED]


async def test_delays_survive(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send("a", delay_ms=5_000)
    await world.reopen()
    assert await line.counts() == (0, 0, 1)
    world.clock.advance(5_000)
    assert await line.bodies() == ["a"]


async def test_fifo_order_and_locks_survive(durable_world: World) -> None:
    world = durable_world
    line = await world.fifo()
    await line.send("a", "b", group="one")
    await line.send("x", group="two")
    lease = await line.take_one(lease_ms=5_000)
    await world.reopen()
    assert await line.bodies() == ["x"]
    assert await line.settle(lease) == [Settlement.SETTLED]
    assert await line.bodies() == ["b"]


async def test_deduplication_survives(durable_world: World) -> None:
    world = durable_world
    line = await world.fifo()
    (first,) = await line.send("a", deduplication_id="once")
    await line.settle(await line.take_one())
    await world.reopen()
    (again,) = await line.send("a", deduplication_id="once")
    assert again == Duplicate(first.message_id, first.sequence)


async def test_sequences_go_on_rising(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    sequences = []
    for _ in range(3):
        sequences += [sent.sequence for sent in await line.send("a", "b")]
        await line.settle(*await line.take(2))
        await world.reopen()
    assert sequences == sorted(set(sequences))


async def test_receipt_from_before_never_touches_a_message_from_after(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send("old")
    lease = await line.take_one()
    await line.settle(lease)
    await world.reopen()
    await line.send("new")
    assert await line.settle(lease) == [Settlement.GONE]
    assert await line.bodies() == ["new"]


async def test_dropped_messages_stay_dropped(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send(*"abc")
    await line.drop(count_max=2)
    await world.reopen()
    assert await line.counts() == (1, 0, 0)


async def test_adopted_messages_survive_with_their_history(durable_world: World) -> None:
    world = durable_world
    source, line = await world.queue("source"), await world.queue()
    await source.send("a")
    lease = await source.take_one()
    letter = Transfer(lease.message, 3, 77)
    (sent,) = await line.adopt(letter)
    await world.reopen()
    assert await line.adopt(letter) == [sent]
    again = await line.take_one()
    assert (again.receive_count, again.first_received_ms) == (4, 77)


async def test_messages_past_their_retention_do_not_come_back(durable_world: World) -> None:
    world = durable_world
    line = await world.queue(retention_ms=60_000)
    await line.send("a")
    world.clock.advance(60_000)
    assert await line.counts() == (0, 0, 0)
    await world.reopen()
    assert await line.peek() == []


async def test_released_leases_stay_released(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send("a")
    await line.release(await line.take_one())
    await world.reopen()
    assert (await line.take_one()).receive_count == 1


async def test_numbers_of_queues_are_not_used_again(durable_world: World) -> None:
    world = durable_world
    numbers = []
    for _ in range(3):
        line = await world.queue()
        numbers.append(line.queue.number)
        await world.store.catalogue.remove(line.queue.key)
        await world.reopen()
    assert len(set(numbers)) == 3


async def test_moves_survive(durable_world: World) -> None:
    world = durable_world
    await world.queue("dead")
    move = Move("move", f"{ACCOUNT}/dead", None, 5, 1_000, 10, 3)
    await world.store.catalogue.save_move(move)
    await world.reopen()
    assert await world.store.catalogue.moves(QueueKey(ACCOUNT, "dead")) == [move]


async def test_crash_loses_no_message_that_was_answered(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    for number in range(5):
        await line.send(f"{number}a", f"{number}b")
        await world.crash()
    assert await line.counts() == (10, 0, 0)


async def test_crash_brings_back_no_message_that_was_settled(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send(*"abcdef")
    for _ in range(3):
        await line.settle(await line.take_one())
        await world.crash()
    assert await line.bodies() == ["d", "e", "f"]


async def test_crash_may_forget_a_lease_but_never_its_message(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send("a", "b")
    await line.take(2, lease_ms=5_000)
    await world.crash()
    visible, leased, delayed = await line.counts()
    assert (visible + leased, delayed) == (2, 0)
    world.clock.advance(5_000)
    assert await line.bodies() == ["a", "b"]


async def test_receipt_of_a_lease_that_a_crash_forgot_settles(durable_world: World) -> None:
    world = durable_world
    line = await world.queue()
    await line.send("a", "b")
    lease = await line.take_one()
    await world.crash()
    assert await line.settle(lease) == [Settlement.SETTLED]
    await world.reopen()
    assert sum(await line.counts()) == 1


async def test_crash_keeps_the_order_of_fifo_groups(durable_world: World) -> None:
    world = durable_world
    line = await world.fifo()
    await line.send(*"abc", group="one")
    await line.settle(await line.take_one(lease_ms=1_000))
    await line.send("x", group="two")
    await world.crash()
    world.clock.advance(1_000)
    assert await line.bodies() == ["b", "c", "x"]


async def test_crash_between_adopt_and_settle_leaves_the_message_in_both(
    durable_world: World,
) -> None:
    world = durable_world
    source, target = await world.queue("source"), await world.queue("target")
    await source.send("a")
    lease = await source.take_one(lease_ms=1_000)
    letter = Transfer(lease.message, 1, lease.first_received_ms)
    await target.adopt(letter)
    await world.crash()
    world.clock.advance(1_000)
    again = await source.take_one()
    await target.adopt(letter)
    await source.settle(again)
    assert await source.counts() == (0, 0, 0)
    assert await target.counts() == (1, 0, 0)
