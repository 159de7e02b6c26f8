"""Sending: what is accepted, what is answered, what is kept."""

import asyncio

from dovemq.core.commands import Sent
from dovemq.core.message import Attribute
from tests.contract.world import ACCOUNT, Line, World


async def test_sent_message_is_received_with_its_body(world: World) -> None:
    line = await world.queue()
    await line.send("hello")
    assert await line.bodies() == ["hello"]


async def test_send_answers_the_message_id_of_the_draft(world: World) -> None:
    line = await world.queue()
    draft = line.draft("hello")
    (sent,) = await line.send_drafts([draft])
    assert isinstance(sent, Sent)
    assert sent.message_id == draft.message_id
    assert (await line.take_one()).message.message_id == draft.message_id


async def test_batch_is_answered_in_the_order_of_its_drafts(world: World) -> None:
    line = await world.queue()
    drafts = [line.draft(body) for body in "abcde"]
    sent = await line.send_drafts(drafts)
    assert [each.message_id for each in sent] == [draft.message_id for draft in drafts]


async def test_send_answers_the_sequence_that_the_message_carries(world: World) -> None:
    line = await world.queue()
    sent = await line.send("a", "b")
    taken = await line.take(2)
    assert [each.sequence for each in sent] == [lease.message.sequence for lease in taken]


async def test_sequences_rise_with_every_message(world: World) -> None:
    line = await world.queue()
    sequences = [each.sequence for _ in range(3) for each in await line.send("a", "b")]
    assert sequences == sorted(set(sequences))


async def test_sequences_of_a_queue_rise_whatever_other_queues_get(world: World) -> None:
    lines = [await world.queue("one"), await world.queue("two")]
    sent = [[(await line.send("a"))[0].sequence for line in lines] for _ in range(3)]
    for sequences in zip(*sent, strict=True):
        assert list(sequences) == sorted(set(sequences))


async def test_message_keeps_its_attributes(world: World) -> None:
    line = await world.queue()
    attributes = {
        "colour": Attribute("String", "grün"),
        "weight": Attribute("Number.kg", "1.50"),
        "seal": Attribute("Binary", b"\x00\xff\x10"),
    }
    await line.send_drafts([line.draft("a", attributes=attributes)])
    assert (await line.take_one()).message.attributes == attributes


async def test_message_keeps_its_sender_and_xray_header(world: World) -> None:
    line = await world.queue()
    await line.send_drafts([line.draft("a", xray_header="Root=1-5759e988")])
    message = (await line.take_one()).message
    assert (message.sender, message.xray_header) == (ACCOUNT, "Root=1-5759e988")


async def test_message_of_a_standard_queue_keeps_its_group(world: World) -> None:
    line = await world.queue()
    await line.send("a", group="tenant")
    assert (await line.take_one()).message.group == "tenant"


async def test_message_of_a_fifo_queue_keeps_its_deduplication_id(world: World) -> None:
    line = await world.fifo()
    await line.send("a", deduplication_id="first")
    assert (await line.take_one()).message.deduplication_id == "first"


async def test_plain_message_has_no_group_xray_header_or_origin(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    message = (await line.take_one()).message
    assert (message.group, message.xray_header, message.source) == (None, None, None)
    assert message.deduplication_id is None
    assert message.attributes == {}


async def test_message_carries_the_time_of_its_send(world: World) -> None:
    line = await world.queue()
    sent_ms = world.clock.now_ms()
    await line.send("a")
    world.clock.advance(5_000)
    assert (await line.take_one()).message.sent_ms == sent_ms


async def test_body_may_hold_any_script_and_line_breaks(world: World) -> None:
    line = await world.queue()
    body = "tab\tline\r\ngrüße 鳩 ñ \U0001f54a \ue000\ufffd"
    await line.send(body)
    assert await line.bodies() == [body]


async def test_body_of_one_mebibyte_comes_back_whole(world: World) -> None:
    line = await world.queue()
    body = "0123456789abcdef" * 65_536
    await line.send(body)
    assert await line.bodies() == [body]


async def test_send_of_no_drafts_answers_nothing(world: World) -> None:
    line = await world.queue()
    assert await line.send_drafts([]) == []
    assert await line.counts() == (0, 0, 0)


async def test_standard_queue_takes_equal_bodies_as_different_messages(world: World) -> None:
    line = await world.queue()
    await line.send("same", "same")
    assert await line.bodies() == ["same", "same"]


async def test_message_is_visible_as_soon_as_its_send_is_answered(world: World) -> None:
    line = await world.queue()
    for body in ("a", "b", "c"):
        await line.send(body)
        assert await line.bodies() == [body]


async def test_messages_of_one_queue_are_not_in_another(world: World) -> None:
    one, two = await world.queue("one"), await world.queue("two")
    await one.send("a")
    assert await two.bodies() == []
    assert await one.bodies() == ["a"]


async def test_partitions_of_one_queue_are_apart(world: World) -> None:
    first = await world.queue()
    second = Line(world, first.queue, number=1)
    await first.send("a")
    await second.send("b")
    assert await second.bodies() == ["b"]
    assert (await first.take_one()).receipt.partition == 0


async def test_sends_at_the_same_time_are_all_kept(world: World) -> None:
    line = await world.queue()
    await asyncio.gather(*(line.send(f"{number}") for number in range(50)))
    assert {peeked.message.body for peeked in await line.peek()} == {str(n) for n in range(50)}


async def test_sends_at_the_same_time_get_different_sequences(world: World) -> None:
    line = await world.queue()
    answers = await asyncio.gather(*(line.send("a", "b") for _ in range(20)))
    sequences = [sent.sequence for answer in answers for sent in answer]
    assert len(set(sequences)) == 40
