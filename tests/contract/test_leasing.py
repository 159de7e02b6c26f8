"""Leasing: a receive hides what it hands out, for exactly as long as it says."""

import asyncio

import pytest

from dovemq.core import limits
from dovemq.core.errors import LimitReached
from tests.contract.world import World


async def test_message_is_hidden_while_it_is_leased(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one()
    assert await line.take() == []


async def test_message_is_hidden_until_the_last_millisecond_of_its_lease(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=1_000)
    world.clock.advance(999)
    assert await line.take() == []


async def test_message_is_visible_at_the_millisecond_its_lease_ends(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=1_000)
    world.clock.advance(1_000)
    assert await line.bodies() == ["a"]


async def test_each_lease_has_its_own_end(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    await line.take_one(lease_ms=2_000)
    await line.take_one(lease_ms=1_000)
    world.clock.advance(1_500)
    assert await line.bodies() == ["b"]
    world.clock.advance(500)
    assert await line.bodies() == ["a"]


async def test_receive_takes_at_most_what_was_asked_for(world: World) -> None:
    line = await world.queue()
    await line.send(*"abcde")
    assert await line.bodies(3) == ["a", "b", "c"]


async def test_receive_takes_what_there_is_when_asked_for_more(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    assert await line.bodies(10) == ["a", "b"]


async def test_receive_from_an_empty_queue_answers_nothing(world: World) -> None:
    line = await world.queue()
    leased = await line.lease(10)
    assert (leased.messages, leased.exhausted) == ([], [])


async def test_first_receive_counts_one(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    assert (await line.take_one()).receive_count == 1


async def test_receive_count_rises_with_every_receive(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    counts = []
    for _ in range(4):
        counts.append((await line.take_one(lease_ms=1_000)).receive_count)
        world.clock.advance(1_000)
    assert counts == [1, 2, 3, 4]


async def test_time_of_the_first_receive_is_kept(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    world.clock.advance(50)
    first_ms = world.clock.now_ms()
    assert (await line.take_one(lease_ms=1_000)).first_received_ms == first_ms
    world.clock.advance(1_000)
    assert (await line.take_one()).first_received_ms == first_ms


async def test_receipt_names_the_lease(world: World) -> None:
    line = await world.queue()
    (sent,) = await line.send("a")
    receipt = (await line.take_one()).receipt
    assert (receipt.queue_number, receipt.partition) == (line.queue.number, 0)
    assert (receipt.sequence, receipt.receive_count) == (sent.sequence, 1)
    assert receipt.leased_ms == world.clock.now_ms()


async def test_two_receives_never_hand_out_the_same_message(world: World) -> None:
    line = await world.queue()
    await line.send(*"abcdef")
    assert await line.bodies(4) == ["a", "b", "c", "d"]
    assert await line.bodies(4) == ["e", "f"]


async def test_receives_at_the_same_time_share_out_the_messages(world: World) -> None:
    line = await world.queue()
    await line.send(*(str(number) for number in range(30)))
    answers = await asyncio.gather(*(line.bodies(4) for _ in range(10)))
    received = [body for answer in answers for body in answer]
    assert sorted(received, key=int) == [str(number) for number in range(30)]


async def test_messages_come_in_the_order_they_were_sent(world: World) -> None:
    line = await world.queue()
    for body in "abcdef":
        await line.send(body)
        world.clock.advance(1)
    assert [await line.bodies(1) for _ in "abcdef"] == [[body] for body in "abcdef"]


async def test_message_whose_lease_ended_comes_after_those_visible_before(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=1_000)
    await line.send("b")
    world.clock.advance(1_000)
    assert await line.bodies() == ["b", "a"]


async def test_message_whose_lease_ended_comes_before_those_sent_later(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=1_000)
    world.clock.advance(1_500)
    await line.send("b")
    assert await line.bodies() == ["a", "b"]


async def test_leases_that_end_together_return_in_order_of_sequence(world: World) -> None:
    line = await world.queue()
    await line.send(*"abc")
    await line.take(3, lease_ms=1_000)
    world.clock.advance(1_000)
    assert await line.bodies() == ["a", "b", "c"]


async def test_lease_of_no_time_leaves_the_message_visible_and_counted(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    assert (await line.take_one(lease_ms=0)).receive_count == 1
    assert await line.counts() == (1, 0, 0)
    assert (await line.take_one(lease_ms=0)).receive_count == 2


async def test_lease_of_no_time_hands_out_each_message_once_per_receive(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    assert await line.bodies(10, lease_ms=0) == ["a", "b"]


async def test_lease_of_twelve_hours_ends_after_twelve_hours(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=limits.LEASE_MS.most)
    world.clock.advance(limits.LEASE_MS.most - 1)
    assert await line.bodies() == []
    world.clock.advance(1)
    assert await line.bodies() == ["a"]


async def test_answer_tells_when_there_is_more_to_take(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    assert (await line.lease(1)).more is True


async def test_answer_tells_when_there_is_no_more_to_take(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    assert (await line.lease(2)).more is False
    assert (await line.lease(2)).more is False


async def test_answer_tells_when_the_next_lease_ends(world: World) -> None:
    line = await world.queue()
    await line.send("a", "b")
    await line.take_one(lease_ms=5_000)
    await line.take_one(lease_ms=2_000)
    due_ms = (await line.lease()).next_due_ms
    assert due_ms is not None
    assert world.clock.now_ms() < due_ms <= world.clock.now_ms() + 2_000


async def test_waiting_for_the_due_times_leads_to_the_message(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    await line.take_one(lease_ms=2_345)
    end_ms = world.clock.now_ms() + 2_345
    for _ in range(100):
        leased = await line.lease()
        if leased.messages:
            break
        assert leased.next_due_ms is not None
        world.clock.advance(leased.next_due_ms - world.clock.now_ms())
    assert world.clock.now_ms() == end_ms


async def test_nothing_is_due_when_nothing_is_hidden(world: World) -> None:
    line = await world.queue()
    assert (await line.lease()).next_due_ms is None


async def test_paused_queue_hands_out_nothing(world: World) -> None:
    line = await world.queue(delivery_paused=True)
    await line.send("a")
    leased = await line.lease()
    assert (leased.messages, leased.exhausted, leased.more) == ([], [], False)
    assert await line.counts() == (1, 0, 0)


async def test_paused_fifo_queue_hands_out_nothing(world: World) -> None:
    line = await world.fifo(delivery_paused=True)
    await line.send("a")
    leased = await line.lease()
    assert (leased.messages, leased.exhausted, leased.more) == ([], [], False)


async def test_leases_given_before_a_pause_can_be_settled(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    await line.change(delivery_paused=True)
    await line.settle(lease)
    assert await line.counts() == (0, 0, 0)


async def test_queue_delivers_again_when_the_pause_is_over(world: World) -> None:
    line = await world.queue(delivery_paused=True)
    await line.send("a")
    await line.change(delivery_paused=False)
    assert await line.bodies() == ["a"]


async def test_standard_queue_refuses_a_receive_at_the_limit_of_leases(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LEASED_MAX", 3)
    line = await world.queue()
    await line.send(*"abcd")
    await line.take(3)
    with pytest.raises(LimitReached):
        await line.take()


async def test_fifo_queue_hands_out_nothing_at_the_limit_of_leases(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LEASED_MAX", 3)
    line = await world.fifo()
    await line.send(*"abc", group="one")
    await line.send("d", group="two")
    await line.take(3)
    assert await line.take() == []


async def test_settled_and_ended_leases_make_room_below_the_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LEASED_MAX", 2)
    line = await world.queue()
    await line.send(*"abcd")
    await line.settle(await line.take_one())
    await line.take(2, lease_ms=1_000)
    world.clock.advance(1_000)
    assert await line.bodies(1) == ["d"]


async def test_cancelled_receive_leaves_nothing_leased(world: World) -> None:
    line = await world.queue()
    await line.send(*("x" * 2_000 for _ in range(10)))
    receive = asyncio.create_task(line.take(2))
    await asyncio.sleep(0)
    receive.cancel()
    (answer,) = await asyncio.gather(receive, return_exceptions=True)
    delivered = 0 if isinstance(answer, BaseException) else len(answer)
    assert await line.counts() == (10 - delivered, delivered, 0)
