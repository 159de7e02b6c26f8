"""Watches over the link: hints are pushed, joined, and never missed for good."""

import asyncio
import random

import pytest

from dovemq.cluster.ports import PeerUnreachable
from dovemq.core.commands import Ask, Draft, Peek
from dovemq.core.errors import QueueMissing
from dovemq.service.polls import Polls
from tests.link.pairs import Pair, until


class Bell:
    """Counts how often it is rung."""

    def __init__(self, pair: Pair) -> None:
        self.count = 0
        self.undo = pair.remote.watch(self)

    def __call__(self) -> None:
        self.count += 1


async def test_hint_is_pushed_without_a_verb(pair: Pair) -> None:
    bell = Bell(pair)
    await pair.remote.counts(pair.now_ms)
    passed = pair.wire.passed["caller"]
    await pair.send("a")
    await until(lambda: bell.count == 1)
    assert pair.wire.passed["caller"] == passed


async def test_hints_of_one_turn_are_joined(pair: Pair) -> None:
    bell = Bell(pair)
    await pair.remote.counts(pair.now_ms)
    for number in range(500):
        await pair.send(f"{number}")
    await until(lambda: bell.count > 0)
    await pair.remote.counts(pair.now_ms)
    assert bell.count < 50


async def test_hints_do_not_pile_up_while_the_other_side_does_not_read(pair: Pair) -> None:
    bell = Bell(pair)
    await pair.send(*("x" * 1_000_000 + f"{number}" for number in range(3)))
    await pair.remote.counts(pair.now_ms)
    [incoming] = pair.linked.listener.linked
    pair.wire.stop_answers()
    peeks = [asyncio.ensure_future(pair.remote.peek(Peek(3), pair.now_ms)) for _ in range(10)]
    await until(lambda: incoming.channel.unsent_bytes > 1_000_000)
    await asyncio.sleep(0.01)
    waiting_bytes = incoming.channel.unsent_bytes
    for number in range(1_000):
        await pair.send(f"{number}")
        await asyncio.sleep(0)
    assert incoming.channel.unsent_bytes - waiting_bytes < 1_000
    bell.count = 0
    pair.wire.let_go()
    await asyncio.gather(*peeks)
    await until(lambda: bell.count > 0)


async def test_undone_watch_is_ended_at_the_owner(pair: Pair) -> None:
    bell = Bell(pair)
    await pair.remote.counts(pair.now_ms)
    bell.undo()
    bell.undo()
    await pair.remote.counts(pair.now_ms)
    passed = pair.wire.passed["owner"]
    await pair.send("a")
    await asyncio.sleep(0.01)
    assert bell.count == 0
    assert pair.wire.passed["owner"] == passed


async def test_watchers_of_one_partition_share_a_watch(pair: Pair) -> None:
    first, second = Bell(pair), Bell(pair)
    await pair.remote.counts(pair.now_ms)
    first.undo()
    await pair.send("a")
    await until(lambda: second.count == 1)
    assert first.count == 0


@pytest.mark.usefixtures("hurried")
async def test_watch_is_made_again_after_a_lost_connection_and_wakes_once(pair: Pair) -> None:
    bell = Bell(pair)
    await pair.remote.counts(pair.now_ms)
    pair.wire.cut()
    await until(lambda: pair.linked.links.statuses()[0].openings == 2)
    assert bell.count == 2  # When it was lost, and when it was back.
    await pair.remote.counts(pair.now_ms)
    await pair.send("a")
    await until(lambda: bell.count == 3)


@pytest.mark.usefixtures("hurried")
async def test_message_sent_while_the_connection_was_lost_wakes_the_watcher(pair: Pair) -> None:
    bell = Bell(pair)
    await pair.remote.counts(pair.now_ms)
    pair.wire.cut()
    await until(lambda: bell.count == 1)
    await pair.send("a")
    await until(lambda: bell.count == 2)
    assert len(await pair.take()) == 1


@pytest.mark.usefixtures("hurried")
async def test_watch_dials_until_the_owner_is_there(pair: Pair) -> None:
    port = pair.wire.port
    pair.wire.port = 1
    bell = Bell(pair)
    await until(lambda: pair.wire.connections >= 3)
    pair.wire.port = port
    await until(lambda: bell.count > 0)
    assert (await pair.remote.counts(pair.now_ms)).visible == 0


async def test_watch_of_an_address_is_woken_when_the_front_end_is_declared_dead(
    pair: Pair,
) -> None:
    bell = Bell(pair)
    await pair.remote.counts(pair.now_ms)
    pair.wire.hold()
    counting = asyncio.ensure_future(pair.remote.counts(pair.now_ms))
    await asyncio.sleep(0)
    pair.linked.links.forget(pair.address)
    with pytest.raises(PeerUnreachable):
        await counting
    assert bell.count == 1
    pair.wire.let_go()
    assert (await pair.remote.counts(pair.now_ms)).visible == 0


async def test_parked_poll_is_woken_over_the_link(pair: Pair) -> None:
    polls = Polls(pair.clock)
    number = pair.queue.number
    with polls.of_queue(number, pair.remote) as waiting:
        assert await pair.take() == []
        parked = asyncio.ensure_future(
            polls.park(number, waiting, waiting.changes, pair.now_ms + 20_000)
        )
        await asyncio.sleep(0)
        await pair.own.send([Draft("id", "a", "0")], pair.now_ms)
        assert await parked
        assert [lease.message.body for lease in await pair.take()] == ["a"]


async def test_owner_with_a_clock_minutes_ahead_neither_loses_nor_spins(pair: Pair) -> None:
    """The caller's time is ten minutes behind: it is used only for what the caller waits for."""
    behind_ms = pair.now_ms - 600_000
    await pair.remote.send([Draft("id", "a", "0", delay_ms=5_000)], behind_ms)
    leased = await pair.remote.lease(Ask(1, 30_000), behind_ms)
    assert leased.messages == []
    assert leased.next_due_ms == behind_ms + 5_000
    pair.clock.advance(5_000)
    leased = await pair.remote.lease(Ask(1, 30_000), behind_ms + 5_000)
    assert [lease.receipt.leased_ms for lease in leased.messages] == [pair.now_ms]
    pair.clock.advance(29_999)
    assert (await pair.remote.lease(Ask(1, 30_000), behind_ms)).messages == []
    pair.clock.advance(1)
    assert len((await pair.remote.lease(Ask(1, 30_000), behind_ms)).messages) == 1


async def test_purge_by_a_front_end_with_another_clock_removes_what_was_sent_before(
    pair: Pair,
) -> None:
    rng = random.Random(2)
    for skew_ms in (-600_000, 0, 600_000, rng.randrange(10**6)):
        await pair.send("before")
        caller_ms = pair.now_ms + skew_ms
        assert await pair.remote.drop(caller_ms + 1, 10, caller_ms) == 1
        pair.clock.advance(1)


async def test_errors_of_the_owner_reach_the_caller(pair: Pair) -> None:
    await pair.remote.counts(pair.now_ms)
    await pair.owner.catalogue.remove(pair.queue.key)
    with pytest.raises(QueueMissing) as caught:
        await pair.remote.counts(pair.now_ms)
    assert caught.value.queue == str(pair.queue.key)
