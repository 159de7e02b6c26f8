"""Deduplication: a FIFO queue takes an id once within the interval."""

import asyncio

from dovemq.core import limits
from dovemq.core.commands import Duplicate, Sent
from tests.contract.world import World

INTERVAL_MS = limits.DEDUPLICATION_MS


async def test_second_send_of_an_id_is_answered_with_the_first_ids(world: World) -> None:
    line = await world.fifo()
    (first,) = await line.send("a", deduplication_id="once")
    (second,) = await line.send("b", deduplication_id="once")
    assert second == Duplicate(first.message_id, first.sequence)


async def test_duplicate_is_not_stored(world: World) -> None:
    line = await world.fifo()
    await line.send("a", deduplication_id="once")
    await line.send("b", deduplication_id="once")
    assert await line.bodies() == ["a"]
    assert await line.counts() == (0, 1, 0)


async def test_different_ids_are_different_messages(world: World) -> None:
    line = await world.fifo()
    await line.send("same", deduplication_id="one")
    await line.send("same", deduplication_id="two")
    assert await line.bodies() == ["same", "same"]


async def test_id_is_remembered_while_the_message_is_leased(world: World) -> None:
    line = await world.fifo()
    await line.send("a", deduplication_id="once")
    await line.take_one()
    (again,) = await line.send("a", deduplication_id="once")
    assert isinstance(again, Duplicate)


async def test_id_is_remembered_after_the_message_was_settled(world: World) -> None:
    line = await world.fifo()
    (first,) = await line.send("a", deduplication_id="once")
    await line.settle(await line.take_one())
    (again,) = await line.send("a", deduplication_id="once")
    assert again == Duplicate(first.message_id, first.sequence)
    assert await line.counts() == (0, 0, 0)


async def test_id_is_forgotten_when_the_messages_were_dropped(world: World) -> None:
    line = await world.fifo()
    await line.send("a", deduplication_id="once")
    world.clock.advance(1)
    await line.drop()
    (again,) = await line.send("a", deduplication_id="once")
    assert isinstance(again, Sent)


async def test_id_sent_after_what_was_dropped_is_remembered(world: World) -> None:
    line = await world.fifo()
    then_ms = world.clock.now_ms()
    await line.send("a", deduplication_id="once")
    await line.drop(then_ms)
    (again,) = await line.send("a", deduplication_id="once")
    assert isinstance(again, Duplicate)


async def test_id_is_remembered_until_the_last_millisecond_of_the_interval(world: World) -> None:
    line = await world.fifo()
    await line.send("a", deduplication_id="once")
    world.clock.advance(INTERVAL_MS - 1)
    (again,) = await line.send("a", deduplication_id="once")
    assert isinstance(again, Duplicate)


async def test_id_is_free_again_when_the_interval_is_over(world: World) -> None:
    line = await world.fifo()
    (first,) = await line.send("a", deduplication_id="once")
    world.clock.advance(INTERVAL_MS)
    (again,) = await line.send("b", deduplication_id="once")
    assert isinstance(again, Sent)
    assert again.sequence > first.sequence
    assert await line.bodies() == ["a", "b"]


async def test_duplicate_does_not_prolong_the_interval(world: World) -> None:
    line = await world.fifo()
    await line.send("a", deduplication_id="once")
    world.clock.advance(INTERVAL_MS - 1)
    await line.send("a", deduplication_id="once")
    world.clock.advance(1)
    (again,) = await line.send("a", deduplication_id="once")
    assert isinstance(again, Sent)


async def test_send_after_the_interval_starts_a_new_one(world: World) -> None:
    line = await world.fifo()
    await line.send("a", deduplication_id="once")
    world.clock.advance(INTERVAL_MS)
    (second,) = await line.send("b", deduplication_id="once")
    world.clock.advance(INTERVAL_MS - 1)
    (third,) = await line.send("c", deduplication_id="once")
    assert third == Duplicate(second.message_id, second.sequence)


async def test_duplicates_within_one_batch_are_found(world: World) -> None:
    line = await world.fifo()
    first, second, third = await line.send_drafts(
        [line.draft(body, deduplication_id=body[0]) for body in ("x1", "x2", "y1")]
    )
    assert second == Duplicate(first.message_id, first.sequence)
    assert isinstance(third, Sent)
    assert await line.bodies() == ["x1", "y1"]


async def test_duplicates_sent_at_the_same_time_agree_on_one_message(world: World) -> None:
    line = await world.fifo()
    answers = await asyncio.gather(*(line.send("a", deduplication_id="once") for _ in range(10)))
    assert len({(sent.message_id, sent.sequence) for (sent,) in answers}) == 1
    assert sum(isinstance(sent, Sent) for (sent,) in answers) == 1
    assert await line.bodies() == ["a"]


async def test_id_holds_for_all_groups_of_the_queue(world: World) -> None:
    line = await world.fifo(deduplication_scope="queue")
    await line.send("a", group="one", deduplication_id="once")
    (again,) = await line.send("a", group="two", deduplication_id="once")
    assert isinstance(again, Duplicate)


async def test_id_holds_within_its_group_when_the_scope_is_the_group(world: World) -> None:
    line = await world.fifo(deduplication_scope="messageGroup")
    await line.send("a", group="one", deduplication_id="once")
    (other,) = await line.send("b", group="two", deduplication_id="once")
    (again,) = await line.send("c", group="one", deduplication_id="once")
    assert isinstance(other, Sent)
    assert isinstance(again, Duplicate)


async def test_groups_and_ids_are_not_confused_when_joined(world: World) -> None:
    line = await world.fifo(deduplication_scope="messageGroup")
    await line.send("a", group="ab", deduplication_id="c")
    (other,) = await line.send("b", group="a", deduplication_id="bc")
    assert isinstance(other, Sent)


async def test_id_holds_within_one_queue_only(world: World) -> None:
    one, two = await world.fifo("one.fifo"), await world.fifo("two.fifo")
    await one.send("a", deduplication_id="once")
    (other,) = await two.send("a", deduplication_id="once")
    assert isinstance(other, Sent)


async def test_queue_created_again_has_forgotten_the_ids(world: World) -> None:
    line = await world.fifo()
    await line.send("a", deduplication_id="once")
    await world.store.catalogue.remove(line.queue.key)
    line = await world.fifo()
    (again,) = await line.send("a", deduplication_id="once")
    assert isinstance(again, Sent)
