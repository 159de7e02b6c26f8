"""Reads that the receives of one front end share: one serves all that began before it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dovemq.core.drawing import IndexTuple
from dovemq.core.errors import StoreUnreachable
from dovemq.stores.shared_index.buckets import BUCKET_MS, SWEEP_MS, Buckets, bucket_of
from dovemq.stores.shared_index.ports import Span
from dovemq.testing.memory_tables import MemoryIndexTables
from tests.shared_index.world import IndexWorld

CALLERS = 16
QUEUE = 7


class WatchedTables(MemoryIndexTables):
    """Counts reads; `during` runs once, after the next read has found what it answers."""

    reads = 0
    lists = 0
    during: Callable[[], Awaitable[None]] | None = None

    async def read(
        self, queue: int, bucket: int, span: Span, *, sure: bool = False
    ) -> list[IndexTuple]:
        self.reads += 1
        found = await super().read(queue, bucket, span, sure=sure)
        during, self.during = self.during, None
        if during is not None:
            await during()
        return found

    async def buckets(self, queue: int, first: int) -> list[int]:
        self.lists += 1
        return await super().buckets(queue, first)


async def test_receives_at_the_same_time_share_reads_and_get_different_messages() -> None:
    world = IndexWorld()
    tables = WatchedTables(world.replicas)
    front_end = world.front_end(tables)
    await world.send(front_end, *map(str, range(2 * CALLERS)))
    tables.reads = 0
    found = await asyncio.gather(*(world.bodies(front_end, 1) for _ in range(CALLERS)))
    assert sorted(found, key=lambda each: int(each[0])) == [[str(at)] for at in range(CALLERS)]
    assert tables.reads <= CALLERS // 2
    assert tables.lists == 1


async def test_receives_one_after_the_other_take_one_read_each() -> None:
    world = IndexWorld()
    tables = WatchedTables(world.replicas)
    front_end = world.front_end(tables)
    await world.send(front_end, *map(str, range(CALLERS)))
    await world.bodies(front_end, 1)
    tables.reads = 0
    for _ in range(CALLERS - 1):
        await world.bodies(front_end, 1)
    assert tables.reads == CALLERS - 1


async def test_receive_sees_what_was_sent_while_a_read_was_under_way() -> None:
    world = IndexWorld()
    tables = WatchedTables(world.replicas)
    front_end = world.front_end(tables)
    found: list[list[str]] = []

    async def send_and_receive() -> None:
        await world.send(front_end, "late")
        found.append(await world.bodies(front_end))

    tables.during = send_and_receive
    assert await world.bodies(front_end) == []
    assert found == [["late"]]


async def test_read_that_hangs_holds_up_no_other_receive() -> None:
    world = IndexWorld()
    tables = WatchedTables(world.replicas)
    front_end = world.front_end(tables)
    hanging, go_on = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        hanging.set()
        await go_on.wait()

    await world.send(front_end, "a", "b", "c")
    tables.during = hang
    held = asyncio.create_task(world.bodies(front_end, 1))
    await hanging.wait()
    assert await world.bodies(front_end, 1) == ["a"]
    go_on.set()
    # It has read "a" too, and knows by now that it is claimed.
    assert await held == ["b"]


async def test_read_that_fails_fails_for_all_who_share_it_and_for_nobody_else() -> None:
    world = IndexWorld()
    tables = WatchedTables(world.replicas)
    front_end = world.front_end(tables)
    await world.send(front_end, "a")

    async def fail() -> None:
        raise StoreUnreachable("tables", "no node answers")

    tables.during = fail
    with pytest.raises(StoreUnreachable):
        await world.bodies(front_end)
    assert await world.bodies(front_end) == ["a"]


async def test_read_does_not_hide_what_was_inserted_behind_it_while_it_was_under_way() -> None:
    """A slow insertion has an early T; only a sweep would find it below the floor."""
    world = IndexWorld()
    world.clock.advance(BUCKET_MS - world.clock.now_ms() % BUCKET_MS)
    tables = WatchedTables(world.replicas)
    buckets = Buckets(tables, QUEUE, world.clock.now_ms)
    early = IndexTuple(world.clock.now_ms() + 10, 1, 0, 0, 0, 0, 1)
    world.clock.advance(SWEEP_MS)
    assert await buckets.first(10, world.clock.now_ms()) == []
    await buckets.refresh(world.clock.now_ms)
    await buckets.require([early.due_ms], world.clock.now_ms)
    assert await buckets.first(10, world.clock.now_ms()) == []

    async def insert() -> None:
        await tables.insert(QUEUE, bucket_of(early.due_ms), [early], BUCKET_MS)
        buckets.inserted([early])

    tables.during = insert
    assert await buckets.first(10, world.clock.now_ms()) == []
    assert await buckets.first(10, world.clock.now_ms()) == [early]


async def test_full_read_leaves_room_for_tuples_that_come_a_little_late() -> None:
    world = IndexWorld()
    world.clock.advance(BUCKET_MS - world.clock.now_ms() % BUCKET_MS + SWEEP_MS)
    tables = WatchedTables(world.replicas)
    buckets = Buckets(tables, QUEUE, world.clock.now_ms)
    now_ms = world.clock.now_ms()
    first, late = (IndexTuple(now_ms - ago, ago, 0, 0, 0, 0, 1) for ago in (10, 100))
    await buckets.require([first.due_ms], world.clock.now_ms)
    await tables.insert(QUEUE, bucket_of(first.due_ms), [first], BUCKET_MS)
    assert await buckets.first(1, now_ms) == [first]
    # Another front end inserts it, so that this one does not know of it.
    await tables.insert(QUEUE, bucket_of(late.due_ms), [late], BUCKET_MS)
    assert await buckets.first(1, now_ms) == [late]
