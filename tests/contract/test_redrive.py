"""Redrive: exhausted messages are set aside, and `adopt` takes them in elsewhere."""

import msgspec

from dovemq.core import limits
from dovemq.core.commands import Sent, Transfer
from dovemq.core.message import Attribute, Message
from tests.contract.world import Line, World


async def _received(line: Line, times: int) -> None:
    """Receive every visible message so many times without deleting it."""
    for _ in range(times):
        await line.take(10, lease_ms=1_000)
        line.world.clock.advance(1_000)


def _letter(message_id: str = "letter", **changes: object) -> Message:
    message = Message(message_id, 0, "dead", 1_690_000_000_000, "sender")
    return msgspec.structs.replace(message, **changes)


def _recent(line: Line, message_id: str = "letter", **changes: object) -> Transfer:
    sent_ms = line.now_ms - 1_000
    return Transfer(_letter(message_id, sent_ms=sent_ms, **changes))


async def test_message_received_too_often_is_set_aside(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await _received(line, 2)
    leased = await line.lease(receives_max=2)
    assert leased.messages == []
    assert [lease.message.body for lease in leased.exhausted] == ["a"]


async def test_message_received_less_often_is_handed_out(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await _received(line, 1)
    leased = await line.lease(receives_max=2)
    assert [lease.receive_count for lease in leased.messages] == [2]
    assert leased.exhausted == []


async def test_nothing_is_exhausted_without_a_limit(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await _received(line, 20)
    leased = await line.lease(receives_max=None)
    assert [lease.receive_count for lease in leased.messages] == [21]


async def test_exhausted_messages_do_not_count_against_the_receive(world: World) -> None:
    line = await world.queue()
    await line.send("bad", "worse")
    await _received(line, 1)
    await line.send("good", "better")
    leased = await line.lease(2, receives_max=1)
    assert [lease.message.body for lease in leased.messages] == ["good", "better"]
    assert [lease.message.body for lease in leased.exhausted] == ["bad", "worse"]


async def test_exhausted_message_is_leased_long_enough_to_be_moved(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await _received(line, 1)
    (lease,) = (await line.lease(lease_ms=5_000, receives_max=1)).exhausted
    assert lease.receive_count == 2
    world.clock.advance(limits.REDRIVE_LEASE_MS - 1)
    assert await line.counts() == (0, 1, 0)
    world.clock.advance(1)
    assert await line.counts() == (1, 0, 0)


async def test_exhausted_message_can_be_settled(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await _received(line, 1)
    (lease,) = (await line.lease(receives_max=1)).exhausted
    await line.settle(lease)
    assert await line.counts() == (0, 0, 0)


async def test_exhausted_message_can_be_released(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await _received(line, 1)
    (lease,) = (await line.lease(receives_max=1)).exhausted
    await line.release(lease)
    assert [again.receive_count for again in (await line.lease(receives_max=1)).exhausted] == [2]


async def test_exhausted_head_holds_back_its_fifo_group_until_it_is_settled(world: World) -> None:
    line = await world.fifo()
    await line.send("bad", group="one")
    await _received(line, 1)
    await line.send("next", group="one")
    await line.send("x", group="two")
    leased = await line.lease(10, receives_max=1)
    assert [lease.message.body for lease in leased.exhausted] == ["bad"]
    assert [lease.message.body for lease in leased.messages] == ["x"]
    await line.settle(*leased.exhausted)
    assert await line.bodies() == ["next"]


async def test_adopted_message_keeps_what_its_sender_gave(world: World) -> None:
    line = await world.queue()
    attributes = {"n": Attribute("Number", "1"), "b": Attribute("Binary", b"\x01")}
    letter = _recent(line, attributes=attributes, group="g", xray_header="Root=1", source="a/jobs")
    await line.adopt(letter)
    message = (await line.take_one()).message
    assert message == msgspec.structs.replace(letter.message, sequence=message.sequence)


async def test_adopted_message_gets_a_sequence_of_its_own(world: World) -> None:
    line = await world.queue()
    (before,) = await line.send("a")
    (adopted,) = await line.adopt(_recent(line))
    (after,) = await line.send("b")
    assert isinstance(adopted, Sent)
    assert before.sequence < adopted.sequence < after.sequence


async def test_adopted_message_is_visible_at_once(world: World) -> None:
    line = await world.queue(delay_ms=60_000)
    await line.adopt(_recent(line))
    assert await line.counts() == (1, 0, 0)
    assert await line.bodies() == ["dead"]


async def test_adopted_message_comes_after_those_visible_before(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    world.clock.advance(10)
    await line.adopt(_recent(line))
    assert await line.bodies() == ["a", "dead"]


async def test_standard_queue_keeps_the_time_of_the_send(world: World) -> None:
    line = await world.queue()
    letter = _recent(line)
    await line.adopt(letter)
    assert (await line.take_one()).message.sent_ms == letter.message.sent_ms


async def test_fifo_queue_sets_a_new_time_of_the_send(world: World) -> None:
    line = await world.fifo()
    await line.adopt(_recent(line, group="g", deduplication_id="d"))
    assert (await line.take_one()).message.sent_ms == world.clock.now_ms()


async def test_retention_of_an_adopted_message_counts_from_its_first_send(world: World) -> None:
    line = await world.queue(retention_ms=limits.MINUTE_MS)
    await line.adopt(_recent(line))
    world.clock.advance(limits.MINUTE_MS - 1_001)
    assert await line.counts() == (1, 0, 0)
    world.clock.advance(1)
    assert await line.counts() == (0, 0, 0)


async def test_letter_that_is_too_old_for_the_queue_is_gone_at_once(world: World) -> None:
    line = await world.queue(retention_ms=limits.MINUTE_MS)
    assert await line.counts() == (0, 0, 0)
    await line.adopt(Transfer(_letter(sent_ms=line.now_ms - limits.MINUTE_MS)))
    assert await line.counts() == (0, 0, 0)
    assert await line.peek() == []


async def test_adopted_message_keeps_its_receives(world: World) -> None:
    line = await world.queue()
    letter = msgspec.structs.replace(_recent(line), receive_count=3, first_received_ms=77)
    await line.adopt(letter)
    lease = await line.take_one()
    assert (lease.receive_count, lease.first_received_ms) == (4, 77)


async def test_adopted_message_may_start_afresh(world: World) -> None:
    line = await world.queue()
    await line.adopt(_recent(line))
    lease = await line.take_one()
    assert (lease.receive_count, lease.first_received_ms) == (1, world.clock.now_ms())


async def test_adopted_message_names_the_queue_it_came_from(world: World) -> None:
    line = await world.queue()
    await line.adopt(_recent(line, source="000000000000/origin"))
    assert (await line.take_one()).message.source == "000000000000/origin"


async def test_adopting_again_changes_nothing(world: World) -> None:
    line = await world.queue()
    letter = _recent(line)
    (first,) = await line.adopt(letter)
    (second,) = await line.adopt(letter)
    assert second == first
    assert await line.counts() == (1, 0, 0)


async def test_adopting_a_leased_message_again_changes_nothing(world: World) -> None:
    line = await world.queue()
    letter = _recent(line)
    (first,) = await line.adopt(letter)
    await line.take_one()
    assert await line.adopt(letter) == [first]
    assert await line.counts() == (0, 1, 0)


async def test_same_letter_twice_in_one_adoption_is_taken_once(world: World) -> None:
    line = await world.queue()
    letter = _recent(line)
    first, second = await line.adopt(letter, letter)
    assert first == second
    assert await line.counts() == (1, 0, 0)


async def test_settled_message_can_be_adopted_again(world: World) -> None:
    line = await world.queue()
    letter = _recent(line)
    (first,) = await line.adopt(letter)
    await line.settle(await line.take_one())
    (second,) = await line.adopt(letter)
    assert second.sequence > first.sequence
    assert await line.counts() == (1, 0, 0)


async def test_each_queue_adopts_for_itself(world: World) -> None:
    one, two = await world.queue("one"), await world.queue("two")
    letter = _recent(one)
    await one.adopt(letter)
    await two.adopt(letter)
    assert await one.counts() == await two.counts() == (1, 0, 0)


async def test_adoption_is_answered_in_order(world: World) -> None:
    line = await world.queue()
    letters = [_recent(line, message_id) for message_id in ("c", "a", "b")]
    assert [sent.message_id for sent in await line.adopt(*letters)] == ["c", "a", "b"]


async def test_adopted_messages_join_their_fifo_group_at_its_end(world: World) -> None:
    line = await world.fifo()
    await line.send("a")
    await line.adopt(_recent(line, group="g", deduplication_id="d"))
    await line.send("b")
    assert await line.bodies() == ["a", "dead", "b"]


async def test_adoption_does_not_ask_for_a_new_deduplication_id(world: World) -> None:
    line = await world.fifo()
    await line.send("a", deduplication_id="once")
    await line.adopt(_recent(line, group="g", deduplication_id="once"))
    assert await line.bodies() == ["a", "dead"]


async def test_message_on_its_way_is_never_in_neither_queue(world: World) -> None:
    source, target = await world.queue("source"), await world.queue("target")
    await source.send("a")
    lease = await source.take_one()
    await target.adopt(Transfer(lease.message, lease.receive_count))
    assert await source.counts() == (0, 1, 0)
    assert await target.counts() == (1, 0, 0)
    await source.settle(lease)
    assert await source.counts() == (0, 0, 0)
    assert (await target.take_one()).message.message_id == lease.message.message_id
