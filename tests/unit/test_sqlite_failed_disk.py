"""A commit that fails: nothing of it is visible, and nothing is accepted until restart."""

import asyncio

import pytest

from dovemq.core.errors import StoreFailed
from dovemq.stores.owned.statistics import StoreState
from tests.unit.embedded import LEASE_MS, TEST_SECONDS_MAX, Line, Place


async def failed(place: Place) -> Line:
    """A queue with an acknowledged message on a disk that failed a commit."""
    line = await place.line(await place.open())
    await line.send("acknowledged")
    place.disk.sync_fails = True
    with pytest.raises(StoreFailed, match="restart"):
        await line.send("refused")
    return line


async def sent_until_refused(line: Line) -> int:
    acknowledged = 0
    try:
        for _ in range(100):
            await line.send(*("x" * 100_000 for _ in range(10)))
            acknowledged += 10
    except StoreFailed:
        return acknowledged
    return pytest.fail("every send was accepted")


async def test_every_request_of_the_failed_group_fails(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    (lease,) = await line.lease()
    place.disk.sync_fails = True
    outcomes = await asyncio.gather(
        line.send("b"), line.settle(lease.receipt), line.send("c"), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [StoreFailed] * 3


async def test_requests_that_waited_for_the_next_group_fail_too(place: Place) -> None:
    line = await place.line(await place.open())
    place.disk.may_sync.clear()
    first = asyncio.create_task(line.send("first"))
    await asyncio.to_thread(place.disk.is_held.wait, TEST_SECONDS_MAX)
    second = asyncio.create_task(line.send("second"))
    await asyncio.sleep(0)
    place.disk.sync_fails = True
    place.disk.may_sync.set()
    outcomes = await asyncio.gather(first, second, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreFailed] * 2


async def test_sends_receives_and_settles_are_refused_from_then_on(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("acknowledged")
    (lease,) = await line.lease()
    place.disk.sync_fails = True
    with pytest.raises(StoreFailed):
        await line.send("refused")
    place.disk.sync_fails = False
    for request in (line.send("x"), line.lease(), line.settle(lease.receipt)):
        with pytest.raises(StoreFailed):
            await request
    assert line.store.statistics.state is StoreState.FAILED


async def test_fsync_is_not_tried_again(place: Place) -> None:
    line = await failed(place)
    syncs = place.disk.syncs
    with pytest.raises(StoreFailed):
        await line.send("x")
    await line.store.close()
    assert place.disk.syncs == syncs


async def test_restart_finds_what_was_acknowledged(place: Place) -> None:
    line = await failed(place)
    await line.store.close()
    place.disk.sync_fails = False
    store = await place.open()
    line = Line(place, store, line.queue)
    bodies = await line.bodies()
    assert bodies[0] == "acknowledged"
    assert set(bodies) <= {"acknowledged", "refused"}
    await line.send("after")
    place.clock.advance(LEASE_MS)
    assert {"after", "acknowledged"} <= set(await line.bodies())


async def test_failed_checkpoint_ends_the_service_and_loses_nothing(place: Place) -> None:
    line = await place.line(await place.open())
    place.disk.checkpoint_fails = True
    acknowledged = await sent_until_refused(line)
    assert acknowledged > 0
    assert line.store.statistics.state is StoreState.FAILED
    await line.store.close()
    place.disk.checkpoint_fails = False
    again = Line(place, await place.open(), line.queue)
    assert await again.visible() == acknowledged


async def test_group_behind_a_failed_checkpoint_is_not_committed(place: Place) -> None:
    line = await place.line(await place.open())
    place.disk.checkpoint_fails = True
    sends = [asyncio.create_task(line.send("x" * 1_000_000)) for _ in range(9)]
    await asyncio.gather(*sends)
    syncs = place.disk.syncs
    with pytest.raises(StoreFailed):
        await line.send("behind the checkpoint")
    assert place.disk.syncs <= syncs + 2
    with pytest.raises(StoreFailed):
        await line.send("z")


async def test_commit_that_cannot_be_published_leaves_nobody_waiting(place: Place) -> None:
    def broken() -> None:
        raise ValueError("a bug")

    store = await place.open()
    line = await place.line(store)
    line.partition.watch(broken)
    sends = (line.send("a"), line.send("b"))
    answers = await asyncio.gather(*sends, return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreFailed, StoreFailed]
    assert store.statistics.state is StoreState.FAILED
