"""Callers that go away, and a disk that is full, while something is under way."""

import asyncio

import pytest

from dovemq.core.commands import MoveStatus
from dovemq.core.errors import MoveRefused, StoreFull
from dovemq.core.queue import QueueKey
from tests.service.world import ACCOUNT, LONG_MS, World, bodies
from tests.unit.embedded import Place


async def world_on(place: Place) -> World:
    return World(store=await place.open(), clock=place.clock)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_of_two_moves_started_at_once_one_is_refused(place: Place) -> None:
    world = await world_on(place)
    work, dead = await world.with_dead_letters(1)
    await world.send(dead, "a")
    starts = [world.moves.start(dead.key, work.key, None) for _ in range(2)]
    answers = await asyncio.gather(*starts, return_exceptions=True)
    assert sum(isinstance(answer, MoveRefused) for answer in answers) == 1
    await world.service.drain()


async def test_move_is_run_though_its_caller_went_away(place: Place) -> None:
    world = await world_on(place)
    work, dead = await world.with_dead_letters(1)
    await world.send(dead, "a")
    start = asyncio.create_task(world.moves.start(dead.key, work.key, None))
    await turns(2)
    start.cancel()
    await asyncio.wait([start])
    await world.moves.idle()
    [listed] = await world.moves.listing(dead.key, 1)
    assert (start.cancelled(), listed.status, listed.moved) == (True, MoveStatus.COMPLETED, 1)


async def test_dead_letter_is_in_one_queue_only_when_its_receiver_goes_away(place: Place) -> None:
    world = await world_on(place)
    work, dead = await world.with_dead_letters(1)
    await world.send(work, "poison")
    await world.messages.receive(work, 1, lease_ms=0)
    receive = asyncio.create_task(world.messages.receive(work, 1))
    await turns(2)
    receive.cancel()
    await asyncio.wait([receive])
    while not bodies(await world.messages.receive(dead, 1)):
        await asyncio.sleep(0)
    await turns(2)
    counts = await world.queues.counts(work)
    assert (receive.cancelled(), counts.visible) == (True, 0)


async def test_poll_waits_while_a_full_disk_keeps_dead_letters_from_moving(place: Place) -> None:
    world = await world_on(place)
    work, _ = await world.with_dead_letters(1)
    await world.send(work, "poison")
    await world.messages.receive(work, 1, lease_ms=0)
    place.disk.full = True
    with pytest.raises(StoreFull):
        await world.send(work, "x" * 1_000_000)
    poll = asyncio.create_task(world.messages.receive(work, 1, wait_ms=LONG_MS))
    await turns(50)
    assert world.service.polls.parked == 1
    await world.service.drain()
    assert await poll == []


async def test_housekeeping_passes_over_a_queue_that_is_removed_meanwhile(place: Place) -> None:
    world = await world_on(place)
    for name in ("a", "b"):
        await world.queue(name)
    page = await world.queues.page(None, "", "", 10)
    await world.queues.remove(QueueKey(ACCOUNT, "a"))
    pages = iter([page, []])

    async def stale(*_: object) -> list[object]:
        return list(next(pages))

    world.queues.page = stale  # type: ignore[method-assign,assignment]
    await world.service.drop_expired()
    assert list(pages) == []
