"""Group commit into a log that fails."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from dovemq.core.commands import Ask, Draft, Duplicate, Sent
from dovemq.core.errors import OwnerChanged, StoreFull, StoreUnreachable
from dovemq.stores.owned.logged.partition import LoggedPartition
from dovemq.stores.owned.logged.ports import Log
from dovemq.stores.owned.logged.writer import CALLERS_WAIT_MS_MAX, FULL_RETRY_MS
from dovemq.testing.clock import VirtualLoop, run_virtually
from tests.logged.faulty import FaultyLog, unreachable
from tests.logged.opened import FIFO, World, bodies, draft


class Watched(World):
    """A world whose newest log may fail."""

    log: FaultyLog

    async def open_faulty(self) -> LoggedPartition:
        return await self.open(wrapped=self._wrap)

    def _wrap(self, log: Log) -> Log:
        self.log = FaultyLog(log)
        return self.log


def virtually(main: Coroutine[Any, Any, None]) -> None:
    run_virtually(main, VirtualLoop())


async def test_requests_of_one_turn_share_one_append() -> None:
    world = Watched()
    partition = await world.open_faulty()
    before = len(world.log.appends)
    await asyncio.gather(*(partition.send([draft(each)], world.now_ms()) for each in range(9)))
    assert len(world.log.appends) == before + 1


def test_append_is_repeated_at_the_same_position_until_it_is_answered() -> None:
    async def scenario() -> None:
        world = Watched()
        partition = await world.open_faulty()
        world.log.appends.clear()
        world.log.fails, world.log.lands = unreachable, True
        sending = asyncio.ensure_future(partition.send([draft(1)], world.now_ms()))
        await asyncio.sleep(1)
        world.log.fails = None
        (sent,) = await sending
        assert isinstance(sent, Sent)
        assert len(world.log.appends) > 2
        assert len(set(world.log.appends)) == 1
        assert await bodies(partition, world) == ["body 1"]
        await partition.stop()

    virtually(scenario())


def test_callers_get_an_answer_in_bounded_time_and_others_at_once() -> None:
    async def scenario() -> None:
        world = Watched()
        partition = await world.open_faulty()
        world.log.waits = asyncio.Event()
        began = asyncio.get_running_loop().time()
        with pytest.raises(StoreUnreachable):
            await partition.send([draft(1)], world.now_ms())
        waited = asyncio.get_running_loop().time() - began
        assert waited == pytest.approx(CALLERS_WAIT_MS_MAX / 1_000, abs=0.01)
        for request in (partition.send([draft(2)], 0), partition.lease(Ask(1, 1), 0)):
            with pytest.raises(StoreUnreachable):
                await request
        world.log.waits.set()
        await asyncio.sleep(1)
        assert await bodies(partition, world) == ["body 1"]
        await partition.send([draft(3)], world.now_ms())
        await partition.stop()

    virtually(scenario())


async def test_group_that_the_database_refuses_loses_the_partition() -> None:
    world = Watched()
    partition = await world.open_faulty()
    await partition.send([draft(1)], world.now_ms())
    world.log.fails = lambda: OwnerChanged(1, 0)
    with pytest.raises(OwnerChanged):
        await partition.send([draft(2)], world.now_ms())
    assert world.lost == [1]
    with pytest.raises(OwnerChanged):
        await partition.counts(world.now_ms())
    with pytest.raises(OwnerChanged):
        await partition.lease(Ask(1, 1), world.now_ms())


async def test_nothing_is_answered_after_the_lease_has_ended() -> None:
    world = World(fences=False)
    holds = True
    partition = await world.open(lambda: holds)
    sending = asyncio.ensure_future(partition.send([draft(1)], world.now_ms()))
    await asyncio.sleep(0)
    holds = False
    with pytest.raises(OwnerChanged):
        await sending
    assert world.lost == [1]


async def test_waiting_receives_are_woken_when_the_partition_is_lost() -> None:
    world = Watched()
    partition = await world.open_faulty()
    woken: list[bool] = []
    partition.watch(lambda: woken.append(True))
    world.log.fails = lambda: OwnerChanged(1, 0)
    with pytest.raises(OwnerChanged):
        await partition.send([draft(2)], world.now_ms())
    assert woken


async def test_full_database_refuses_sends_and_takes_settles() -> None:
    world = World()
    partition = await world.open()
    await partition.send([draft(1)], world.now_ms())
    leased = await partition.lease(Ask(1, 1_000), world.now_ms())
    world.state.full = True
    with pytest.raises(StoreFull):
        await partition.send([draft(2)], world.now_ms())
    await partition.settle([leased.messages[0].receipt], world.now_ms())
    partition.abandon()
    assert await bodies(await world.open(), world) == []


async def test_sends_are_tried_again_once_a_second() -> None:
    world = Watched()
    partition = await world.open_faulty()
    world.state.full = True
    with pytest.raises(StoreFull):
        await partition.send([draft(1)], world.now_ms())
    tried = len(world.log.appends)
    with pytest.raises(StoreFull):
        await partition.send([draft(2)], world.now_ms())
    assert len(world.log.appends) == tried
    world.state.full = False
    world.clock.advance(FULL_RETRY_MS)
    await partition.send([draft(3)], world.now_ms())
    await partition.send([draft(4)], world.now_ms())
    assert await bodies(partition, world) == ["body 3", "body 4"]


async def test_duplicate_in_the_same_commit_has_the_ids_of_the_first() -> None:
    world = World(FIFO)
    partition = await world.open()
    answers = await asyncio.gather(
        *(partition.send([keyed(each)], world.now_ms()) for each in (1, 2))
    )
    (first,), (second,) = answers
    assert isinstance(first, Sent)
    assert second == Duplicate(first.message_id, first.sequence)
    assert len(await bodies(partition, world)) == 1


async def test_duplicate_of_a_refused_send_is_refused_too() -> None:
    world = World(FIFO)
    partition = await world.open()
    world.state.full = True
    requests = [partition.send([keyed(each)], world.now_ms()) for each in (1, 2)]
    answers = await asyncio.gather(*requests, return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreFull, StoreFull]
    world.state.full = False
    world.clock.advance(FULL_RETRY_MS)
    (sent,) = await partition.send([keyed(3)], world.now_ms())
    assert isinstance(sent, Sent)


def keyed(number: int) -> Draft:
    return draft(number, group="g", deduplication_id="same")
