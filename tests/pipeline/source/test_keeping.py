"""Epochs on a queue that redelivers, with processes that end at any time."""

import asyncio
import contextlib
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dovemq.client import ClientError, Unreachable
from dovemq.pipeline.source.errors import StagingStrange
from dovemq.pipeline.source.folders import LocalStagingFolder
from dovemq.pipeline.source.keeping import Keeper
from dovemq.pipeline.source.options import ReceiveOptions
from dovemq.pipeline.source.staging import Promise, Slot, Staging
from dovemq.testing.clock import START_MS, ManualClock
from tests.pipeline.source.fake_queue import Crash, FakeClient, Trouble
from tests.pipeline.source.staged_world import OPTIONS, QUEUE, World, no_pause

SEEDS = range(int(os.environ.get("DOVETEST_SCHEDULES", "30")))
ATTEMPTS = 3

NewWorld = Callable[..., World]


@pytest.fixture
def new_world(tmp_path: Path) -> Iterator[NewWorld]:
    made = []

    def create(**given: Any) -> World:
        made.append(World(tmp_path, **given))
        return made[-1]

    yield create
    for world in made:
        world.end()


@pytest.fixture
def world(new_world: NewWorld) -> World:
    return new_world()


async def test_epochs_respect_the_limit_and_are_settled_when_the_next_is_planned(
    world: World,
) -> None:
    world.queue.send(*"abcdefghijklmno")

    keeper = world.start()
    first = await keeper.offer(keeper.settled, 12)
    assert (first.epoch, first.slots, first.count) == (1, 2, 12)
    assert await world.read_all(first) == list("abcdefghijkl")
    second = await keeper.offer(first, 12)
    assert (second.epoch, second.slots) == (2, 1)
    assert list(world.queue.messages) == list("mno")
    assert await world.read_all(second) == list("mno")
    assert await keeper.offer(second, 12) == second
    assert world.queue.messages == {}
    assert sorted(os.listdir(world.folder)) == ["lock", "state.json"]


async def test_an_empty_queue_promises_nothing(world: World) -> None:
    keeper = world.start()
    assert await keeper.offer(keeper.settled, 12) == keeper.settled


async def test_an_empty_queue_is_looked_at_until_the_wait_is_over(new_world: NewWorld) -> None:
    world = new_world(options=ReceiveOptions(wait_seconds=2))
    pauses = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            world.queue.send("a")

    staging = Staging(LocalStagingFolder(world.folder), QUEUE)
    keeper = Keeper(world.client(), QUEUE, staging, world.options, ManualClock(), pause)
    assert (await keeper.offer(keeper.settled, 12)).epoch == 1
    staging.close()
    assert len(pauses) == 5


async def test_a_logged_promise_keeps_its_slots_when_options_change(new_world: NewWorld) -> None:
    world = new_world()
    world.queue.send(*map(str, range(40)))

    keeper = world.start()
    promise = await keeper.offer(keeper.settled, 40)
    first = await world.read(promise.shares()[0])
    world.options = ReceiveOptions(wait_seconds=0, receivers=7, count_max=3)
    again = world.start()
    again.staging.check(promise)
    assert len(promise.shares()) == 2
    assert len(await world.read_all(promise)) == 40
    assert await world.read(promise.shares()[0]) == first
    assert await again.offer(promise, 3) == promise
    assert world.queue.messages == {}


async def test_slots_that_were_not_read_are_offered_again_with_all_rows(
    new_world: NewWorld,
) -> None:
    world = new_world(options=ReceiveOptions(wait_seconds=0, receivers=3))
    world.queue.send(*map(str, range(30)))

    keeper = world.start()
    before = await keeper.offer(keeper.settled, 30)
    staged = await world.read_all(before)
    world.options = ReceiveOptions(wait_seconds=0, receivers=1)
    again = world.start()
    promise = await again.offer(again.settled, 30)
    assert (promise.epoch, promise.slots) == (1, 3)
    assert await world.read_all(promise) == staged


async def test_a_message_whose_receipt_is_refused_is_owed_and_not_read_twice(
    new_world: NewWorld,
) -> None:
    world = new_world(fifo=True)
    world.queue.send("a", "b")

    keeper = world.start()
    first = await keeper.offer(keeper.settled, 10)
    assert await world.read_all(first) == ["a", "b"]
    world.queue.now += 31
    world.queue.send("c")
    second = await keeper.offer(first, 10)
    assert list(world.queue.messages) == ["a", "b", "c"]
    again = world.start()
    assert await world.read_all(second) == ["c"]
    assert await again.offer(second, 10) == second
    assert world.queue.messages == {}
    assert b'"owed":[]' in (world.folder / "state.json").read_bytes()


async def test_a_message_that_two_tasks_of_an_epoch_receive_is_read_once(
    new_world: NewWorld,
) -> None:
    world = new_world(fifo=True)
    world.queue.send(*map(str, range(20)))

    keeper = world.start()
    promise = await keeper.offer(keeper.settled, 40)
    first, second = promise.shares()
    staged = await world.read(first)
    assert len(staged) == 20
    world.queue.now += 31
    assert await world.read(second) == []
    assert await keeper.offer(promise, 40) == promise
    assert world.queue.messages == {}


async def test_a_heartbeat_keeps_what_is_staged_hidden(world: World) -> None:
    world.queue.send(*map(str, range(25)))

    keeper = world.start()
    await world.read_all(await keeper.offer(keeper.settled, 100))
    for _ in range(5):
        world.queue.now += 20
        assert await keeper.beat() == 25
    assert world.queue.lease(10, 30) == []
    world.queue.now += 31
    assert await keeper.beat() == 0


async def test_a_heartbeat_that_fails_is_followed_by_another(world: World) -> None:
    world.queue.send("a")
    beats = []

    class Failing(FakeClient):
        async def extend_batch(self, *args: Any, **more: Any) -> Any:
            beats.append(args)
            if len(beats) == 1:
                raise Unreachable("queue", "gone")
            if len(beats) == 3:
                raise asyncio.CancelledError
            return await super().extend_batch(*args, **more)

    staging = Staging(LocalStagingFolder(world.folder), QUEUE)
    client = Failing(world.queue)
    keeper = Keeper(client, QUEUE, staging, OPTIONS, ManualClock(), no_pause)
    await world.read_all(await keeper.offer(keeper.settled, 10))
    with pytest.raises(asyncio.CancelledError):
        await keeper.keep_leases()
    staging.close()
    assert len(beats) == 3


async def test_message_sent_after_available_now_started_is_left_for_later(
    world: World,
) -> None:
    world.queue.send("a", "b", "c")

    keeper = world.start()
    await keeper.allow_present()
    world.queue.send("d", "e")
    first = await keeper.offer(keeper.settled, 2)
    assert await world.read_all(first) == ["a", "b"]
    second = await keeper.offer(first, 2)
    assert await world.read_all(second) == ["c"]
    assert await keeper.offer(second, 2) == second
    assert list(world.queue.messages) == ["d", "e"]


async def test_available_now_ends_when_others_take_what_was_visible(world: World) -> None:
    world.queue.send("a")

    keeper = world.start()
    await keeper.allow_present()
    promise = await keeper.offer(keeper.settled, 2)
    world.queue.lease(1, 30)
    assert await world.read_all(promise) == []
    world.queue.now += 31
    assert await keeper.offer(promise, 2) == promise
    assert list(world.queue.messages) == ["a"]


@pytest.mark.parametrize("epoch", [0, 3])
async def test_a_checkpoint_of_another_time_is_refused(world: World, epoch: int) -> None:
    world.queue.send("a")

    keeper = world.start()
    promise = await keeper.offer(keeper.settled, 10)
    await keeper.finish(promise)
    with pytest.raises(StagingStrange, match=f"the checkpoint is at {epoch}"):
        await keeper.offer(Promise(promise.staging, epoch), 10)


async def test_a_checkpoint_of_another_staging_location_is_refused(world: World) -> None:
    keeper = world.start()
    with pytest.raises(StagingStrange, match="belongs to another one"):
        await keeper.offer(Promise("other", 0), 10)


async def test_report_counts_outcomes_of_messages(new_world: NewWorld) -> None:
    world = new_world(fifo=True)
    world.queue.send("a", "b")

    keeper = world.start()
    first = await keeper.offer(keeper.settled, 10)
    await world.read_all(first)
    told = await keeper.report()
    age = told.pop("oldestStagedSeconds")
    assert age == (START_MS - 7) // 1_000
    assert told == {"received": 2, "staged": 2, "settled": 0, "visible": 2}
    world.queue.now += 31
    second = await keeper.offer(first, 10)
    await world.read_all(second)
    await keeper.offer(second, 10)
    assert await keeper.report() == {
        "received": 4,
        "staged": 2,
        "settled": 2,
        "visible": 0,
        "oldestStagedSeconds": age,
    }


class Engine:
    """Spark's part: logs of offsets and commits, tasks that run again or twice, and a sink that
    keeps a batch once."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.world = world
        self.planned: Promise | None = None
        self.committed: Promise | None = None
        self.sink: dict[int, list[str]] = {}
        self._rng = rng

    async def run(self, point: Callable[[], None]) -> None:
        """Runs until the queue is empty; `point` may end the process."""
        keeper = self.world.start()
        self.committed = self.committed or keeper.settled
        if self.planned is not None and self.planned != self.committed:
            await self._batch(self.planned, point)
        for _ in range(1_000):
            offered = await keeper.offer(self.committed, 17)
            if offered == self.committed:
                return
            point()
            self.planned = offered
            point()
            await self._batch(offered, point)
            if self._rng.random() < 0.5:
                await keeper.beat()

    async def _batch(self, promise: Promise, point: Callable[[], None]) -> None:
        parts = await asyncio.gather(*(self._task(slot) for slot in promise.shares()))
        point()
        self.sink[promise.epoch] = [message_id for part in parts for message_id in part]
        point()
        self.committed = promise
        point()

    async def _task(self, slot: Slot) -> list[str]:
        for _ in range(ATTEMPTS):
            twice = self._rng.random() < 0.3
            with contextlib.suppress(Crash, ClientError):
                attempts = [self.world.read(slot) for _ in range(1 + twice)]
                found = await asyncio.gather(*attempts)
                assert all(rows == found[0] for rows in found)
                return found[0]
        raise Crash


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
@pytest.mark.parametrize("seed", SEEDS)
async def test_every_message_is_in_one_batch_and_the_queue_ends_empty(
    new_world: NewWorld, seed: int, fifo: bool
) -> None:
    rng = random.Random(seed)
    world = new_world(fifo=fifo)
    sent = [f"m{number}" for number in range(60)]
    world.queue.send(*sent)
    engine = Engine(world, rng)
    trouble = Trouble(world.queue, rng, OPTIONS.lease_seconds)
    world.interfere = trouble

    for life in range(300):
        trouble.over = life > 150
        try:
            await engine.run(trouble)
        except (Crash, ClientError):
            continue
        world.queue.now += OPTIONS.lease_seconds
        if not world.queue.messages:
            return
    assert world.queue.messages == {}
    read = [message_id for batch in engine.sink.values() for message_id in batch]
    assert sorted(read) == sorted(sent)
