"""Snapshots, cleaning and trimming of a log that is in use."""

import pytest

from dovemq.core.commands import Ask
from dovemq.core.errors import StoreFull
from dovemq.stores.owned.logged.encoding import GroupCodec, LogGroup
from dovemq.stores.owned.logged.partition import LoggedPartition
from dovemq.testing.takeovers import SMALL
from tests.logged.opened import World, bodies, draft

LONG_MS = 3_600_000
LARGE_BYTES = 20_000


async def exchange(partition: LoggedPartition, world: World, first: int, count: int) -> None:
    """Send messages, and receive and settle as many."""
    for number in range(first, first + count):
        await partition.send([draft(number)], world.now_ms())
        leased = await partition.lease(Ask(1, LONG_MS), world.now_ms())
        await partition.settle([each.receipt for each in leased.messages], world.now_ms())


def size(world: World) -> int:
    return sum(len(data) for data in world.rows().values())


async def test_log_of_a_busy_queue_stays_short() -> None:
    world = World(small=True)
    partition = await world.open()
    sizes = []
    for begin in range(0, 400, 50):
        await exchange(partition, world, begin, 50)
        await world.settled()
        sizes.append(size(world))
    assert world.bookmark()
    assert max(sizes) < 6_000
    assert max(sizes[4:]) <= 2 * max(sizes[:4])


async def test_stuck_message_is_moved_and_does_not_keep_the_log() -> None:
    world = World(small=True)
    partition = await world.open()
    await partition.send([draft(0)], world.now_ms())
    await partition.lease(Ask(1, LONG_MS), world.now_ms())
    await exchange(partition, world, 1, 300)
    await world.settled()
    moved = [row for group in groups(world) for row in group.moved]
    assert {row.record.count(b"body 0") for row in moved} == {1}
    assert size(world) < 6_000
    partition.abandon()
    second = await world.open()
    assert await bodies(second, world) == ["body 0"]
    assert (await second.counts(world.now_ms())).leased == 1


async def test_cleaning_writes_at_most_as_much_as_it_frees() -> None:
    world = World(small=True)
    partition = await world.open()
    for number in range(0, 300, 3):
        await partition.send([draft(number)], world.now_ms())
        await partition.lease(Ask(1, LONG_MS), world.now_ms())
        await exchange(partition, world, number + 1, 2)
    await world.settled()
    live = 100 * 200
    assert size(world) < 3 * live
    assert len(await bodies(partition, world)) == 100
    partition.abandon()
    assert len(await bodies(await world.open(), world)) == 100


async def test_many_takeovers_of_an_idle_queue_lead_to_a_snapshot() -> None:
    world = World()
    partition = await world.open()
    await partition.send([draft(1)], world.now_ms())
    for _ in range(world.policy.snapshot_epochs_max + 1):
        partition.abandon()
        partition = await world.open()
        await world.settled()
    assert world.bookmark()
    assert await bodies(partition, world) == ["body 1"]


async def test_old_snapshot_is_taken_again() -> None:
    world = World(small=True)
    partition = await world.open()
    await exchange(partition, world, 0, 50)
    await world.settled()
    before = world.bookmark()
    world.clock.advance(SMALL.snapshot_age_ms_max)
    partition.expire(world.now_ms())
    await world.settled()
    assert world.bookmark() > before


async def test_idle_log_of_an_empty_queue_gives_its_space_back() -> None:
    world = World()
    partition = await world.open()
    await exchange_large(partition, world, 10)
    assert size(world) > 10 * LARGE_BYTES
    for _ in range(2):
        partition.expire(world.now_ms())
        await world.settled()
    assert size(world) < LARGE_BYTES
    partition.abandon()
    assert await bodies(await world.open(), world) == []


async def test_idle_log_keeps_a_backlog_without_writing_it_again() -> None:
    world = World()
    partition = await world.open()
    for number in range(10):
        await partition.send([draft(number, body="x" * LARGE_BYTES)], world.now_ms())
    before = size(world)
    for _ in range(4):
        partition.expire(world.now_ms())
        await world.settled()
    assert size(world) - before < LARGE_BYTES
    assert len(await bodies(partition, world)) == 10


async def test_full_database_has_space_again_after_messages_were_deleted() -> None:
    world = World()
    partition = await world.open()
    for number in range(10):
        await partition.send([draft(number, body="x" * LARGE_BYTES)], world.now_ms())
    world.state.full = True
    with pytest.raises(StoreFull):
        await partition.send([draft(10)], world.now_ms())
    leased = await partition.lease(Ask(10, LONG_MS), world.now_ms())
    await partition.settle([each.receipt for each in leased.messages], world.now_ms())
    await world.settled()
    assert size(world) < LARGE_BYTES


async def exchange_large(partition: LoggedPartition, world: World, count: int) -> None:
    """Send large messages, and receive and settle them."""
    for number in range(count):
        await partition.send([draft(number, body="x" * LARGE_BYTES)], world.now_ms())
    leased = await partition.lease(Ask(count, LONG_MS), world.now_ms())
    await partition.settle([each.receipt for each in leased.messages], world.now_ms())


def groups(world: World) -> list[LogGroup]:
    codec = GroupCodec()
    return [codec.decode(data) for data in world.rows().values()]
