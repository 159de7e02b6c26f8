"""The intake against a queue that redelivers, and a process that ends anywhere."""

import asyncio
import os
import random
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from dovemq.client import ClientError, Refused, Unreachable
from dovemq.pipeline.source.errors import StagingStrange
from dovemq.pipeline.source.intake import Intake
from dovemq.pipeline.source.options import Pace
from dovemq.pipeline.source.staging import Staging, read_slice, slices_between
from tests.pipeline.source.fake_queue import Crash, FakeClient, FakeQueue, Trouble

PACE = Pace(lease_seconds=30, heartbeat_seconds=10, wait_seconds=0, receivers=2)
QUEUE = "000000000000/orders"
SEEDS = range(int(os.environ.get("DOVETEST_SCHEDULES", "30")))

T = TypeVar("T")


async def no_pause(seconds: float) -> None:
    await asyncio.sleep(0)


class World:
    def __init__(self, folder: Path, *, fifo: bool = False, pace: Pace = PACE) -> None:
        self.queue = FakeQueue(fifo=fifo)
        self.folder = folder
        self.interfere: Callable[[], None] = lambda: None
        self._pace = pace
        self._staging: Staging | None = None

    def start(self) -> Intake:
        """As a process would that finds what an earlier one has left."""
        self.end()
        self._staging = Staging(self.folder, QUEUE)
        client = FakeClient(self.queue, lambda: self.interfere())
        return Intake(client, QUEUE, self._staging, self._pace, no_pause)

    def end(self) -> None:
        if self._staging is not None:
            self._staging.close()
            self._staging = None

    def read(self, start: int, end: int) -> list[str]:
        return [
            message_id
            for part in slices_between(self.folder, start, end)
            for batch in read_slice(part, ["message_id"])
            for message_id in batch.column(0).to_pylist()
        ]


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


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


def test_epochs_hold_what_the_limit_lets_in_and_go_when_they_are_finished(world: World) -> None:
    world.queue.send(*"abcdefghijklmno")

    async def work() -> None:
        intake = world.start()
        assert await intake.offer(0, 12) == 1
        assert world.read(0, 1) == list("abcdefghijkl")
        assert await intake.offer(1, 12) == 2
        assert world.read(1, 2) == list("mno")
        assert list(world.queue.messages) == list("mno")
        assert await intake.offer(2, 12) == 2
        assert world.queue.messages == {}

    run(work())


def test_an_epoch_stops_at_its_bytes(new_world: NewWorld) -> None:
    world = new_world(pace=Pace(bytes_max=90, wait_seconds=0, receivers=1))
    world.queue.send(*map(str, range(100)))

    async def work() -> None:
        assert await world.start().offer(0, 1_000) == 1

    run(work())
    assert len(world.read(0, 1)) == 10


def test_an_epoch_that_nobody_read_is_offered_again(world: World) -> None:
    world.queue.send("a")

    async def work() -> None:
        await world.start().offer(0, 10)
        world.queue.send("b")
        assert await world.start().offer(0, 10) == 1

    run(work())
    assert world.read(0, 1) == ["a"]


def test_what_comes_twice_into_one_epoch_is_in_it_once(new_world: NewWorld) -> None:
    world = new_world(fifo=True, pace=Pace(wait_seconds=0, receivers=1, lease_seconds=30))
    world.queue.send(*map(str, range(1_500)))
    ended = iter([True])

    def end_leases() -> None:
        if world.queue.receives == 120 and next(ended, False):
            world.queue.now += 31

    async def work() -> None:
        intake = world.start()
        world.interfere = end_leases
        assert await intake.offer(0, 5_000) == 1
        found = world.read(0, 1)
        assert len(found) == 1_500
        assert len(set(found)) == 1_500
        assert await world.start().offer(1, 5_000) == 1

    run(work())
    assert world.queue.messages == {}


def test_a_receipt_that_settles_no_more_leaves_a_message_that_is_not_read_twice(
    new_world: NewWorld,
) -> None:
    world = new_world(fifo=True)
    world.queue.send("a", "b")

    async def work() -> None:
        intake = world.start()
        await intake.offer(0, 10)
        world.queue.now += 31
        await intake.finish(1)
        assert list(world.queue.messages) == ["a", "b"]
        world.queue.send("c")
        again = world.start()
        assert await again.offer(1, 10) == 2
        assert world.read(1, 2) == ["c"]
        assert list(world.queue.messages) == ["c"]

    run(work())


def test_a_heartbeat_keeps_what_is_staged_hidden(world: World) -> None:
    world.queue.send(*map(str, range(25)))

    async def work() -> None:
        intake = world.start()
        await intake.offer(0, 100)
        for _ in range(5):
            world.queue.now += 20
            assert await intake.beat() == 25
        assert world.queue.lease(10, 30) == []
        world.queue.now += 31
        assert await intake.beat() == 0

    run(work())


def test_a_heartbeat_that_fails_is_followed_by_another(world: World) -> None:
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

    async def work() -> None:
        staging = Staging(world.folder, QUEUE)
        intake = Intake(Failing(world.queue), QUEUE, staging, PACE, no_pause)
        await intake.offer(0, 10)
        with pytest.raises(asyncio.CancelledError):
            await intake.keep_leases()
        staging.close()

    run(work())
    assert len(beats) == 3


def test_what_arrives_after_available_now_began_is_left_for_another_time(world: World) -> None:
    world.queue.send("a", "b", "c")

    async def work() -> None:
        intake = world.start()
        await intake.allow_present()
        world.queue.send("d", "e")
        assert await intake.offer(0, 2) == 1
        assert await intake.offer(1, 2) == 2
        assert await intake.offer(2, 2) == 2

    run(work())
    assert list(world.queue.messages) == ["d", "e"]


@pytest.mark.parametrize("start", [0, 3])
def test_a_checkpoint_of_another_staging_location_is_refused(world: World, start: int) -> None:
    world.queue.send("a")

    async def work() -> None:
        intake = world.start()
        await intake.offer(0, 10)
        await intake.finish(1)
        with pytest.raises(StagingStrange, match=f"the checkpoint is at {start}"):
            await intake.offer(start, 10)

    run(work())


def test_what_was_received_before_a_failure_is_kept(world: World) -> None:
    world.queue.send(*map(str, range(30)))

    def refuse() -> None:
        if world.queue.receives == 2:
            raise Refused(403, "AccessDenied", "", "")

    async def work() -> None:
        intake = world.start()
        world.interfere = refuse
        assert await intake.offer(0, 100) == 1
        assert len(world.read(0, 1)) == 10
        world.interfere = lambda: None
        world.queue.now += 31
        assert await intake.offer(1, 100) == 2
        assert len(world.read(1, 2)) == 20

    run(work())


def test_a_refused_receive_is_told(world: World) -> None:
    def refuse() -> None:
        raise Refused(403, "AccessDenied", "", "")

    async def work() -> None:
        intake = world.start()
        world.interfere = refuse
        with pytest.raises(Refused, match="AccessDenied"):
            await intake.offer(0, 100)

    run(work())
    assert not list(world.folder.glob("*.partial"))


class Engine:
    """Spark's part: its logs of offsets and commits, and a sink that keeps a batch once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.planned = 0
        self.committed = 0
        self.sink: dict[int, list[str]] = {}

    async def run(self, point: Callable[[], None]) -> bool:
        """Whether anything was read; `point` may end the process."""
        intake = self.world.start()
        if self.planned > self.committed:
            self._batch(point)
        for _ in range(1_000):
            offered = await intake.offer(self.committed, 7)
            if offered == self.committed:
                return False
            point()
            self.planned = offered
            point()
            self._batch(point)
        return True

    def _batch(self, point: Callable[[], None]) -> None:
        self.sink[self.planned] = self.world.read(self.committed, self.planned)
        point()
        self.committed = self.planned
        point()


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_every_message_is_in_one_batch_and_the_queue_ends_empty(
    new_world: NewWorld, seed: int, fifo: bool
) -> None:
    rng = random.Random(seed)
    world = new_world(fifo=fifo)
    sent = [f"m{number}" for number in range(40)]
    world.queue.send(*sent)
    engine = Engine(world)
    trouble = Trouble(world.queue, rng, PACE.lease_seconds)
    world.interfere = trouble

    async def work() -> None:
        for life in range(200):
            trouble.over = life > 100
            try:
                while await engine.run(trouble):
                    pass
            except (Crash, ClientError):
                continue
            world.queue.now += PACE.lease_seconds
            if not world.queue.messages:
                return

    run(work())
    assert world.queue.messages == {}
    read = [message_id for batch in engine.sink.values() for message_id in batch]
    assert sorted(read) == sorted(sent)
