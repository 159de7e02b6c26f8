"""Watching: watchers are woken when there may be messages."""

import asyncio
from collections.abc import Callable

from dovemq.core.commands import Transfer
from tests.contract.world import Line, World


class Wakes:
    """Counts how often it is called."""

    def __init__(self, line: Line) -> None:
        self.count = 0
        self.undo = line.partition.watch(self)

    def __call__(self) -> None:
        self.count += 1


async def test_send_wakes_the_watcher(world: World) -> None:
    line = await world.queue()
    wakes = Wakes(line)
    await line.send("a")
    assert wakes.count >= 1


async def test_message_can_be_taken_when_the_watcher_is_woken(world: World) -> None:
    line = await world.queue()
    looks: list[asyncio.Task[list[str]]] = []
    line.partition.watch(lambda: looks.append(asyncio.create_task(line.bodies())))
    await line.send("a")
    assert await looks[0] == ["a"]


async def test_adoption_wakes_the_watcher(world: World) -> None:
    source, line = await world.queue("source"), await world.queue()
    await source.send("a")
    letter = (await source.take_one()).message
    wakes = Wakes(line)
    await line.adopt(Transfer(letter))
    assert wakes.count >= 1


async def test_release_wakes_the_watcher(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    wakes = Wakes(line)
    await line.release(lease)
    assert wakes.count >= 1


async def test_lease_given_up_wakes_the_watcher(world: World) -> None:
    line = await world.queue()
    await line.send("a")
    lease = await line.take_one()
    wakes = Wakes(line)
    await line.extend(lease, 0)
    assert wakes.count >= 1


async def test_settle_that_unlocks_a_fifo_group_wakes_the_watcher(world: World) -> None:
    line = await world.fifo()
    await line.send("a", "b")
    lease = await line.take_one()
    wakes = Wakes(line)
    await line.settle(lease)
    assert wakes.count >= 1


async def test_settle_that_makes_room_in_a_group_wakes_the_watcher(world: World) -> None:
    line = await world.queue(group_concurrency=1)
    await line.send("a", "b", group="tenant")
    lease = await line.take_one()
    wakes = Wakes(line)
    await line.settle(lease)
    assert wakes.count >= 1


async def test_drop_that_unlocks_a_fifo_group_wakes_the_watcher(world: World) -> None:
    line = await world.fifo()
    await line.send("old")
    await line.take_one()
    world.clock.advance(1)
    await line.send("new")
    wakes = Wakes(line)
    await line.drop(world.clock.now_ms())
    assert wakes.count >= 1


async def test_every_watcher_is_woken(world: World) -> None:
    line = await world.queue()
    first, second = Wakes(line), Wakes(line)
    await line.send("a")
    assert first.count >= 1
    assert second.count >= 1


async def test_undone_watch_is_not_woken(world: World) -> None:
    line = await world.queue()
    gone, there = Wakes(line), Wakes(line)
    gone.undo()
    await line.send("a")
    assert gone.count == 0
    assert there.count >= 1


async def test_watch_can_be_undone_twice(world: World) -> None:
    line = await world.queue()
    gone, there = Wakes(line), Wakes(line)
    gone.undo()
    gone.undo()
    await line.send("a")
    assert there.count >= 1


async def test_watcher_may_undo_itself_while_it_is_woken(world: World) -> None:
    line = await world.queue()
    undos: list[Callable[[], None]] = []
    woken: list[str] = []

    def wake_once() -> None:
        woken.append("once")
        undos.pop()()

    undos.append(line.partition.watch(wake_once))
    there = Wakes(line)
    await line.send("a")
    await line.send("b")
    assert woken == ["once"]
    assert there.count >= 2


async def test_messages_of_another_queue_do_not_wake_the_watcher(world: World) -> None:
    one, two = await world.queue("one"), await world.queue("two")
    wakes = Wakes(one)
    await two.send("a")
    assert wakes.count == 0
