"""Attempts to fill a slot: the first to publish wins, the others read its file."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dovemq.client import Refused
from dovemq.pipeline.source.errors import StagingStrange
from dovemq.pipeline.source.folders import Content, LocalStagingFolder
from dovemq.pipeline.source.options import ReceiveOptions
from dovemq.pipeline.source.staging import Promise, Slot
from tests.pipeline.source.fake_queue import Crash
from tests.pipeline.source.staged_world import World, run


class Hooked(LocalStagingFolder):
    """Calls `before` each time an entry is about to be published."""

    def __init__(self, folder: Path, before: Callable[[str], None]) -> None:
        super().__init__(folder)
        self._before = before

    def publish(self, name: str, content: Content) -> bool:
        self._before(name)
        return super().publish(name, content)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(
        tmp_path, options=ReceiveOptions(wait_seconds=0, lease_seconds=30, receivers=2, receives=2)
    )
    yield made
    made.end()


async def _promised(world: World, count: int = 100) -> Promise:
    keeper = world.start()
    return await keeper.offer(keeper.settled, count)


def _visible(world: World) -> list[str]:
    return [each for each, (until, _) in world.queue.messages.items() if until <= world.queue.now]


def _published(world: World) -> list[str]:
    return sorted(path.name for path in world.folder.glob("0*.json"))


async def test_a_task_that_is_run_again_reads_what_was_staged(world: World) -> None:
    world.queue.send(*"abc")

    (slot,) = (await _promised(world)).shares()
    assert await world.read(slot) == list("abc")
    world.queue.send("d")
    assert await world.read(slot) == list("abc")
    assert _visible(world) == ["d"]


async def test_a_task_receives_no_more_than_its_share(world: World) -> None:
    world.queue.send(*map(str, range(60)))

    shares = (await _promised(world, 45)).shares()
    assert [slot.count_max for slot in shares] == [22, 23]
    assert [len(await world.read(slot)) for slot in shares] == [22, 23]
    assert len(_visible(world)) == 15


async def test_a_task_stops_at_its_share_of_the_bytes(world: World) -> None:
    world.options = ReceiveOptions(bytes_max=180, wait_seconds=0, receives=1, receivers=2)
    world.queue.send(*map(str, range(100)))

    first, _ = (await _promised(world, 1_000)).shares()
    assert len(await world.read(first)) == 10


async def test_of_two_attempts_one_wins_and_the_other_gives_its_messages_back(world: World) -> None:
    world.queue.send(*map(str, range(20)))

    slot, _ = (await _promised(world, 20)).shares()
    first, second = await asyncio.gather(world.read(slot), world.read(slot))
    assert len(first) == 10
    assert first == second
    assert len(_visible(world)) == 10
    assert len(_published(world)) == 1
    assert len(list(world.folder.glob("*.arrow"))) == 1


async def test_an_empty_slot_is_filled_as_well(world: World) -> None:
    world.queue.send("a")

    (slot,) = (await _promised(world)).shares()
    held = world.queue.lease(1, 30)
    assert await world.read(slot) == []
    world.queue.extend(held[0].receipt_handle, 0)
    assert await world.read(slot) == []
    assert _visible(world) == ["a"]


async def test_a_task_that_ends_after_it_received_leaves_nothing_published(world: World) -> None:
    world.queue.send(*map(str, range(20)))

    def end() -> None:
        if world.queue.receives == 2:
            raise Crash

    slot, _ = (await _promised(world, 40)).shares()
    world.interfere = end
    with pytest.raises(Crash):
        await world.read(slot)
    assert _published(world) == []
    world.interfere = lambda: None
    assert len(await world.read(slot)) == 0
    world.queue.now += 31
    assert len(_visible(world)) == 20


async def test_a_task_that_ends_after_it_published_is_run_again_on_the_same_rows(
    world: World,
) -> None:
    world.queue.send(*"abc")
    ends = iter([True])

    class Ending(LocalStagingFolder):
        def publish(self, name: str, content: Content) -> bool:
            won = super().publish(name, content)
            if next(ends, False):
                raise Crash
            return won

    world.new_place = lambda: Ending(world.folder)

    (slot,) = (await _promised(world)).shares()
    with pytest.raises(Crash):
        await world.read(slot)
    assert await world.read(slot) == list("abc")


async def test_messages_received_before_a_failure_are_kept(world: World) -> None:
    world.queue.send(*map(str, range(30)))

    def refuse() -> None:
        if world.queue.receives == 2:
            raise Refused(403, "AccessDenied", "", "")

    slot, _ = (await _promised(world, 60)).shares()
    world.interfere = refuse
    assert len(await world.read(slot)) == 10


async def test_a_refused_receive_is_reported_and_nothing_published(world: World) -> None:
    world.queue.send("a")

    def refuse() -> None:
        raise Refused(403, "AccessDenied", "", "")

    (slot,) = (await _promised(world)).shares()
    world.interfere = refuse
    with pytest.raises(Refused, match="AccessDenied"):
        await world.read(slot)
    assert _published(world) == []


async def test_a_message_is_read_once_when_another_task_publishes_it_in_the_last_moment(
    world: World,
) -> None:
    world.queue.send(*map(str, range(20)))
    found: list[list[str]] = []

    promise = await _promised(world, 40)
    first, second = promise.shares()
    raced = iter([True])

    def race(name: str) -> None:
        """All leases of the first task have ended, and the second one overtakes it."""
        if next(raced, False):
            world.queue.now += 31
            found.append(_read_elsewhere(world, second))

    world.new_place = lambda: Hooked(world.folder, race)
    found.append(await world.read(first))
    assert len(_published(world)) == 2
    overtaking, overtaken = found
    assert len(overtaking) == 20
    assert overtaken == []


def _read_elsewhere(world: World, slot: Slot) -> list[str]:
    """Reads in a thread, because this one runs a loop."""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(run(world.read(slot))))
    thread.start()
    thread.join()
    return found


async def test_a_message_received_twice_by_one_task_is_read_once_and_settled(
    tmp_path: Path,
) -> None:
    world = World(
        tmp_path, fifo=True, options=ReceiveOptions(wait_seconds=0, receives=1, lease_seconds=30)
    )
    world.queue.send(*map(str, range(1_500)))
    ended = iter([True])

    def end_leases() -> None:
        if world.queue.receives == 120 and next(ended, False):
            world.queue.now += 31

    keeper = world.start()
    promise = await keeper.offer(keeper.settled, 5_000)
    world.interfere = end_leases
    found = await world.read_all(promise)
    assert len(found) == 1_500
    assert len(set(found)) == 1_500
    assert await world.start().offer(promise, 5_000) == promise
    world.end()
    assert world.queue.messages == {}


async def test_a_task_of_a_settled_epoch_is_refused_before_it_receives(world: World) -> None:
    world.queue.send("a")

    keeper = world.start()
    promise = await keeper.offer(keeper.settled, 10)
    (slot,) = promise.shares()
    await world.read(slot)
    await keeper.finish(promise)
    world.queue.send("b")
    with pytest.raises(StagingStrange, match="epoch 1 is settled"):
        await world.read(slot)
    assert _visible(world) == ["b"]


async def test_task_that_publishes_after_its_epoch_was_settled_returns_no_row(
    world: World,
) -> None:
    world.queue.send("a")

    keeper = world.start()
    promise = await keeper.offer(keeper.settled, 10)
    (slot,) = promise.shares()
    finished = iter([True])

    def finish() -> None:
        if next(finished, False):
            keeper.staging.finish(frozenset(), frozenset())

    world.interfere = finish
    with pytest.raises(StagingStrange, match="epoch 1 is settled"):
        await world.read(slot)
    world.queue.now += 31
    second = await keeper.offer(promise, 10)
    assert await world.read_all(second) == ["a"]
    assert await keeper.offer(second, 10) == second
    assert world.queue.messages == {}


async def test_only_the_attributes_of_the_asked_columns_are_received(world: World) -> None:
    world.queue.send("a")

    (slot,) = (await _promised(world)).shares()
    assert await world.read(slot, ["body", "receive_count"]) == ["body of a"]
    with pytest.raises(StagingStrange, match="received without the columns attributes, trace"):
        await world.read(slot, ["attributes", "trace"])
    assert world.queue.asked[0] == (["SentTimestamp", "ApproximateReceiveCount"], [])
