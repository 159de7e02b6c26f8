"""Reads that the receives of one front end share: one serves all that began before it."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from dovemq.core.drawing import IndexTuple
from dovemq.core.errors import StoreUnreachable
from dovemq.stores.shared_index.buckets import BUCKET_MS, SWEEP_MS, Buckets, bucket_of
from dovemq.stores.shared_index.memory import OwnDoings
from dovemq.stores.shared_index.ports import Span
from dovemq.stores.shared_index.window import SharedWindow
from dovemq.testing.memory_tables import MemoryIndexTables, ReplicaSet
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


class StuckTables(MemoryIndexTables):
    """A call waits until `fail` is set, and fails then."""

    stuck_in = ""

    def __init__(self, replicas: ReplicaSet) -> None:
        super().__init__(replicas)
        self.stuck, self.fail = asyncio.Event(), asyncio.Event()

    async def read(
        self, queue: int, bucket: int, span: Span, *, sure: bool = False
    ) -> list[IndexTuple]:
        await self._stick("read")
        return await super().read(queue, bucket, span, sure=sure)

    async def buckets(self, queue: int, first: int) -> list[int]:
        await self._stick("buckets")
        return await super().buckets(queue, first)

    async def _stick(self, call: str) -> None:
        if self.stuck_in == call:
            self.stuck.set()
            await self.fail.wait()
            raise StoreUnreachable("tables", "no node answers")


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


async def test_counts_notice_what_changes_while_they_are_taken() -> None:
    world = IndexWorld()
    tables = WatchedTables(world.replicas)
    front_end = world.front_end(tables)
    await world.send(front_end, "a")

    async def send() -> None:
        await world.send(front_end, "b")

    tables.during = send
    await front_end.counts(world.clock.now_ms())
    assert (await front_end.counts(world.clock.now_ms())).visible == 2


async def test_counts_that_nothing_has_changed_share_a_look() -> None:
    world = IndexWorld()
    tables = WatchedTables(world.replicas)
    front_end = world.front_end(tables)
    await world.send(front_end, "a")
    tables.reads = 0
    now_ms = world.clock.now_ms()
    counts = await asyncio.gather(*(front_end.counts(now_ms) for _ in range(CALLERS)))
    assert {each.visible for each in counts} == {1}
    assert tables.reads == 1


async def _cancelled(tables: StuckTables, now_ms: Callable[[], int]) -> None:
    """A call that its only waiter leaves, and that fails then."""
    buckets = Buckets(tables, QUEUE, now_ms)
    waits: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
        "read": lambda: SharedWindow(buckets, OwnDoings()).first(1, 1, now_ms()),
        "buckets": lambda: buckets.refresh(now_ms),
    }
    waiting = asyncio.create_task(waits[tables.stuck_in]())
    await tables.stuck.wait()
    waiting.cancel()
    await asyncio.wait([waiting])
    tables.fail.set()
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})


@pytest.mark.parametrize("call", ["read", "buckets"])
async def test_failure_of_a_read_that_nobody_waits_for_any_more_is_not_reported(call: str) -> None:
    world = IndexWorld()
    tables = StuckTables(world.replicas)
    tables.stuck_in = call
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    await _cancelled(tables, world.clock.now_ms)
    gc.collect()
    assert reported == []


def _others_tuple(due_ms: int) -> IndexTuple:
    """A tuple of another front end: nobody tells this one of it."""
    return IndexTuple(due_ms, 1, 0, 0, 0, 0, 1)


async def test_bucket_that_was_empty_before_its_end_is_read_again_after_it() -> None:
    world = IndexWorld()
    world.clock.advance(2 * BUCKET_MS - world.clock.now_ms() % BUCKET_MS - 100)
    buckets = Buckets(world.tables, QUEUE, world.clock.now_ms)
    last = _others_tuple(world.clock.now_ms() + 50)
    await buckets.require([last.due_ms], world.clock.now_ms)
    assert await buckets.first(10, world.clock.now_ms()) == []
    await world.tables.insert(QUEUE, bucket_of(last.due_ms), [last], BUCKET_MS)
    world.clock.advance(200)
    assert bucket_of(world.clock.now_ms()) == bucket_of(last.due_ms) + 1
    assert await buckets.first(10, world.clock.now_ms()) == [last]


async def test_tuple_that_is_inserted_a_little_after_its_bucket_has_ended_is_found() -> None:
    world = IndexWorld()
    world.clock.advance(2 * BUCKET_MS - world.clock.now_ms() % BUCKET_MS - 100)
    buckets = Buckets(world.tables, QUEUE, world.clock.now_ms)
    last = _others_tuple(world.clock.now_ms() + 50)
    await buckets.require([last.due_ms], world.clock.now_ms)
    world.clock.advance(200)
    assert await buckets.first(10, world.clock.now_ms()) == []
    await world.tables.insert(QUEUE, bucket_of(last.due_ms), [last], BUCKET_MS)
    world.clock.advance(200)
    assert await buckets.first(10, world.clock.now_ms()) == [last]


async def test_bucket_that_is_over_and_empty_is_not_read_before_the_next_sweep() -> None:
    world = IndexWorld()
    world.clock.advance(2 * BUCKET_MS - world.clock.now_ms() % BUCKET_MS + SWEEP_MS)
    tables = WatchedTables(world.replicas)
    buckets = Buckets(tables, QUEUE, world.clock.now_ms)
    await buckets.require([world.clock.now_ms() - BUCKET_MS], world.clock.now_ms)
    assert await buckets.first(10, world.clock.now_ms()) == []
    tables.reads = 0
    assert await buckets.first(10, world.clock.now_ms()) == []
    assert tables.reads == 1
    world.clock.advance(SWEEP_MS)
    assert await buckets.first(10, world.clock.now_ms()) == []
    assert tables.reads == 3


async def test_slow_read_does_not_hide_what_a_later_one_has_found() -> None:
    world = IndexWorld()
    world.clock.advance(2 * BUCKET_MS - world.clock.now_ms() % BUCKET_MS + SWEEP_MS)
    tables = WatchedTables(world.replicas)
    buckets = Buckets(tables, QUEUE, world.clock.now_ms)
    late = _others_tuple(world.clock.now_ms() - BUCKET_MS)
    await buckets.require([late.due_ms], world.clock.now_ms)

    async def insert_and_read() -> None:
        await tables.insert(QUEUE, bucket_of(late.due_ms), [late], BUCKET_MS)
        assert await buckets.first(10, world.clock.now_ms()) == [late]

    tables.during = insert_and_read
    assert await buckets.first(10, world.clock.now_ms()) == []
    assert await buckets.first(10, world.clock.now_ms()) == [late]
