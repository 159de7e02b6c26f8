"""A partition that is opened again, by the same process or by another."""

import asyncio

import pytest

from dovemq.core.commands import Ask, Duplicate, Peek, Settlement, Transfer
from dovemq.core.errors import OwnerChanged, StoreUnusable
from dovemq.stores.owned.logged.encoding import LogGroup
from dovemq.stores.owned.logged.positions import first_position
from tests.logged.groups import at, encoded, number, row
from tests.logged.opened import FIFO, World, bodies, draft

PLACE = (1, 0)


async def test_answered_sends_are_there_after_a_crash() -> None:
    world = World()
    first = await world.open()
    await first.send([draft(1), draft(2)], world.now_ms())
    first.abandon()
    assert await bodies(await world.open(), world) == ["body 1", "body 2"]


async def test_answered_settles_are_final_after_a_crash() -> None:
    world = World()
    first = await world.open()
    await first.send([draft(1), draft(2)], world.now_ms())
    leased = await first.lease(Ask(1, 1_000), world.now_ms())
    assert await first.settle([leased.messages[0].receipt], world.now_ms()) == [Settlement.SETTLED]
    first.abandon()
    assert await bodies(await world.open(), world) == ["body 2"]


async def test_stop_makes_leases_durable() -> None:
    world = World()
    first = await world.open()
    await first.send([draft(1)], world.now_ms())
    leased = await first.lease(Ask(1, 60_000), world.now_ms())
    await first.stop()
    second = await world.open()
    assert (await second.counts(world.now_ms())).leased == 1
    receipt = leased.messages[0].receipt
    assert await second.settle([receipt], world.now_ms()) == [Settlement.SETTLED]


async def test_sequences_of_a_new_owner_are_higher() -> None:
    world = World()
    first = await world.open()
    (old,) = await first.send([draft(1)], world.now_ms())
    second = await world.open()
    (new,) = await second.send([draft(2)], world.now_ms())
    assert (old.sequence, new.sequence) == (number(1, 0), number(2, 0))


async def test_deduplication_and_adoption_survive_a_takeover() -> None:
    world = World(FIFO)
    first = await world.open()
    again = draft(1, group="g", deduplication_id="d")
    (sent,) = await first.send([again], world.now_ms())
    (peeked,) = await first.peek(Peek(1), world.now_ms())
    other = World(FIFO)
    target = await other.open()
    (adopted,) = await target.adopt([Transfer(peeked.message)], world.now_ms())
    first.abandon()
    target.abandon()
    (answer,) = await (await world.open()).send([again], world.now_ms())
    assert answer == Duplicate(sent.message_id, sent.sequence)
    assert await (await other.open()).adopt([Transfer(peeked.message)], world.now_ms()) == [adopted]


async def test_group_of_the_last_owner_that_lands_late_is_void() -> None:
    world = World(fences=False)
    first = await world.open()
    await first.send([draft(1)], world.now_ms())
    await world.open()
    late = LogGroup(0, sends=[row(number(1, 9))], deletes=[number(1, 0)])
    world.rows()[at(1, 8)] = encoded(late)
    assert await bodies(await world.open(), world) == ["body 1"]


async def test_void_seal_that_lands_late_changes_nothing() -> None:
    world = World(fences=False)
    first = await world.open()
    for each in (1, 2, 3):
        await first.send([draft(each)], world.now_ms())
    world.epoch = 2
    await world.open()
    world.rows()[first_position(2)] = encoded(LogGroup(0, seal=at(1, 1)))
    assert await bodies(await world.open(), world) == ["body 1", "body 2", "body 3"]


async def test_what_is_in_doubt_stays_once_a_new_owner_has_seen_it() -> None:
    world = World(fences=False)
    first = await world.open()
    await first.send([draft(1)], world.now_ms())
    (sent,) = await first.send([draft(2)], world.now_ms())
    await world.open()
    # The replica that held the last group of the first owner is gone.
    (position,) = [each for each in world.rows() if each == at(1, 2)]
    del world.rows()[position]
    third = await world.open()
    assert await bodies(third, world) == ["body 1", "body 2"]
    assert (await third.peek(Peek(2), world.now_ms()))[1].message.message_id == sent.message_id


async def test_newer_owner_is_noticed_in_the_scan() -> None:
    world = World(fences=False)
    world.epoch = 5
    await world.open()
    world.epoch = 3
    with pytest.raises(OwnerChanged):
        await world.open()


async def test_damaged_log_is_refused_and_says_where() -> None:
    world = World()
    first = await world.open()
    await first.send([draft(1)], world.now_ms())
    await first.send([draft(2)], world.now_ms())
    world.rows()[at(1, 1)] = b"rubbish"
    with pytest.raises(StoreUnusable, match=str(at(1, 1))):
        await world.open()


async def test_missing_page_of_a_snapshot_is_refused_unless_all_is_outlived() -> None:
    world = World(small=True)
    first = await world.open()
    for each in range(30):
        await first.send([draft(each)], world.now_ms())
    await world.settled()
    bookmark = world.bookmark()
    assert bookmark
    del world.rows()[bookmark]
    with pytest.raises(StoreUnusable, match="missing"):
        await world.open()
    world.clock.advance(15 * 24 * 3_600_000)
    assert (await (await world.open()).counts(world.now_ms())).visible == 0


async def test_partition_serves_before_all_is_loaded() -> None:
    world = World(small=True)
    first = await world.open()
    for each in range(40):
        await first.send([draft(each)], world.now_ms())
    await world.settled()
    assert world.bookmark()
    first.abandon()
    second = await world.open()
    counting = asyncio.ensure_future(second.counts(world.now_ms()))
    leased = await second.lease(Ask(1, 1_000), world.now_ms())
    assert [each.message.body for each in leased.messages] == ["body 0"]
    (sent,) = await second.send([draft(99)], world.now_ms())
    assert not counting.done()
    assert await second.settle([leased.messages[0].receipt], world.now_ms())
    await counting
    assert (await second.peek(Peek(100), world.now_ms()))[-1].message.sequence == sent.sequence
    assert len(await bodies(second, world)) == 40


async def test_settle_of_a_message_that_is_not_loaded_yet_waits_for_it() -> None:
    world = World(small=True)
    first = await world.open()
    for each in range(40):
        await first.send([draft(each)], world.now_ms())
    leased = [await first.lease(Ask(10, 60_000), world.now_ms()) for _ in range(4)]
    last = leased[-1].messages[-1].receipt
    await world.settled()
    await first.stop()
    second = await world.open()
    assert await second.settle([last], world.now_ms()) == [Settlement.SETTLED]
    assert (await second.counts(world.now_ms())).leased == 39
