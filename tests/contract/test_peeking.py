"""Peeking: looking at messages without touching them."""

from dovemq.core.commands import Visibility
from tests.contract.world import World


async def test_peek_does_not_lease(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.peek()
    assert await line.counts() == (1, 0, 0)
    assert await line.bodies() == ["a"]


async def test_peek_does_not_count_as_a_receive(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.peek()
    assert (await line.take_one()).receive_count == 1


async def test_peek_shows_whole_messages(world: World) -> None:
    line = await world.queue()
    await line.send("a", group="tenant")
    (peeked,) = await line.peek()
    assert peeked.message == (await line.take_one()).message


async def test_peek_shows_messages_in_order_of_sequence(world: World) -> None:
    line = await world.queue()
    await line.send("late", delay_ms=9_000)
    await line.send("b", "c")
    await line.extend(await line.take_one(), 0)
    assert [peeked.message.body for peeked in await line.peek()] == ["late", "b", "c"]


async def test_peek_of_an_empty_queue_shows_nothing(world: World) -> None:
    line = await world.queue()
    assert await line.peek() == []


async def test_peek_shows_no_more_than_asked_for(world: World) -> None:
    line = await world.queue()
    await line.send(*"abcde")
    assert [peeked.message.body for peeked in await line.peek(2)] == ["a", "b"]


async def test_peek_goes_on_after_the_last_sequence_seen(world: World) -> None:
    line = await world.queue()
    await line.send(*"abcde")
    seen: list[str] = []
    last = 0
    while page := await line.peek(2, last):
        seen += [peeked.message.body for peeked in page]
        last = page[-1].message.sequence
    assert seen == list("abcde")


async def test_peek_goes_on_after_a_message_that_was_settled_meanwhile(world: World) -> None:
    line = await world.queue()
    (first, _) = await line.send("a", "b")
    await line.settle(await line.take_one())
    assert [peeked.message.body for peeked in await line.peek(10, first.sequence)] == ["b"]


async def test_peek_tells_visible_leased_and_delayed_apart(world: World) -> None:
    line = await world.queue()
    await line.send("leased")
    await line.take_one()
    await line.send("visible")
    await line.send("delayed", delay_ms=9_000)
    assert [(peeked.message.body, peeked.visibility) for peeked in await line.peek()] == [
        ("leased", Visibility.LEASED),
        ("visible", Visibility.VISIBLE),
        ("delayed", Visibility.DELAYED),
    ]


async def test_peek_tells_when_a_leased_message_will_be_visible(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=7_000)
    (peeked,) = await line.peek()
    assert peeked.visible_ms == world.clock.now_ms() + 7_000


async def test_peek_tells_how_often_and_since_when_a_message_was_received(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    first_ms = world.clock.now_ms()
    for _ in range(3):
        await line.take_one(lease_ms=1_000)
        world.clock.advance(1_000)
    (peeked,) = await line.peek()
    assert (peeked.receive_count, peeked.first_received_ms) == (3, first_ms)
    assert peeked.visibility is Visibility.VISIBLE


async def test_peek_shows_a_message_never_received_as_such(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.release(await line.take_one())
    (peeked,) = await line.peek()
    assert (peeked.receive_count, peeked.first_received_ms) == (0, 0)


async def test_peek_does_not_show_settled_messages(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc")
    await line.settle(*await line.take(2))
    assert [peeked.message.body for peeked in await line.peek()] == ["c"]


async def test_peek_shows_fifo_messages_behind_a_lease_as_visible(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b")
    await line.take_one()
    states = [peeked.visibility for peeked in await line.peek()]
    assert states == [Visibility.LEASED, Visibility.VISIBLE]


async def test_peek_shows_messages_of_a_paused_queue(world: World) -> None:
    line = await world.queue(delivery_paused=True)
    await line.send("a")
    assert [peeked.message.body for peeked in await line.peek()] == ["a"]
