"""Delays: a message sent for later is hidden until then, to the millisecond."""

from dovemq.core import limits
from dovemq.core.commands import Visibility
from tests.contract.world import World


async def test_delayed_message_is_hidden_until_it_is_due(world: World) -> None:
    line = await world.queue()
    await line.send("a", delay_ms=5_000)
    world.clock.advance(4_999)
    assert await line.bodies() == []


async def test_delayed_message_is_visible_when_it_is_due(world: World) -> None:
    line = await world.queue()
    await line.send("a", delay_ms=5_000)
    world.clock.advance(5_000)
    assert await line.bodies() == ["a"]


async def test_delayed_message_has_not_been_received_when_it_is_due(world: World) -> None:
    line = await world.queue()
    await line.send("a", delay_ms=5_000)
    world.clock.advance(5_000)
    assert (await line.take_one()).receive_count == 1


async def test_delayed_messages_come_in_the_order_they_are_due(world: World) -> None:
    line = await world.queue()
    await line.send("late", delay_ms=3_000)
    await line.send("early", delay_ms=1_000)
    await line.send("middle", delay_ms=2_000)
    world.clock.advance(10_000)
    assert await line.bodies() == ["early", "middle", "late"]


async def test_delayed_message_comes_before_those_sent_after_it_was_due(world: World) -> None:
    line = await world.queue()
    await line.send("delayed", delay_ms=1_000)
    world.clock.advance(1_001)
    await line.send("later")
    assert await line.bodies() == ["delayed", "later"]


async def test_messages_of_one_batch_may_have_different_delays(world: World) -> None:
    line = await world.queue()
    await line.send_drafts([line.draft("a", delay_ms=1_000), line.draft("b")])
    assert await line.bodies() == ["b"]
    assert await line.counts() == (0, 1, 1)


async def test_delay_of_many_days_is_kept(world: World) -> None:
    line = await world.queue(long_delay=True, retention_ms=14 * limits.DAY_MS)
    await line.send("a", delay_ms=10 * limits.DAY_MS)
    world.clock.advance(10 * limits.DAY_MS - 1)
    assert await line.bodies() == []
    world.clock.advance(1)
    assert await line.bodies() == ["a"]


async def test_delayed_message_keeps_the_time_of_its_send(world: World) -> None:
    line = await world.queue()
    sent_ms = world.clock.now_ms()
    await line.send("a", delay_ms=5_000)
    world.clock.advance(5_000)
    assert (await line.take_one()).message.sent_ms == sent_ms


async def test_answer_tells_when_a_delayed_message_is_due(world: World) -> None:
    line = await world.queue()
    await line.send("a", delay_ms=5_000)
    due_ms = (await line.lease()).next_due_ms
    assert due_ms is not None
    assert world.clock.now_ms() < due_ms <= world.clock.now_ms() + 5_000


async def test_delayed_message_of_a_fifo_queue_holds_back_its_group(world: World) -> None:
    line = await world.fifo()
    await line.send("a", group="one", delay_ms=5_000)
    await line.send("b", group="one")
    await line.send("c", group="two")
    assert await line.bodies() == ["c"]
    world.clock.advance(5_000)
    assert await line.bodies() == ["a", "b"]


async def test_run_of_a_fifo_group_ends_before_a_delayed_message(world: World) -> None:
    line = await world.fifo()
    await line.send("a", group="one")
    await line.send("b", group="one", delay_ms=5_000)
    await line.send("c", group="one")
    await line.send("d", group="two")
    assert await line.bodies() == ["a", "d"]


async def test_delayed_message_can_be_peeked_at(world: World) -> None:
    line = await world.queue()
    await line.send("a", delay_ms=5_000)
    (peeked,) = await line.peek()
    assert peeked.visibility is Visibility.DELAYED
    assert peeked.visible_ms == world.clock.now_ms() + 5_000
