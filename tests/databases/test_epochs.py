"""Owners that follow one another: bookmarks, and the appends of an owner that has lost its log."""

import asyncio

import pytest

from dovemq.core.errors import OwnerChanged
from dovemq.stores.owned.logged.ports import Log
from tests.databases.world import KEEP_MS, DatabaseWorld, position, rows

TAKEOVERS = 20


async def test_bookmark_is_kept_for_the_next_owner(world: DatabaseWorld) -> None:
    place = world.place()
    log = await world.database.open_log(place, 1)
    assert await log.bookmark() == 0
    await log.set_bookmark(position(1, 4, 0))
    assert await log.bookmark() == position(1, 4, 0)
    assert await (await world.database.open_log(place, 2)).bookmark() == position(1, 4, 0)


async def test_bookmark_rises_only(world: DatabaseWorld) -> None:
    log = await world.log()
    for segment in (1, 3, 2, 3, 0):
        await log.set_bookmark(position(1, segment, 0))
    assert await log.bookmark() == position(1, 3, 0)


async def test_new_owner_may_move_the_bookmark_within_an_older_epoch(world: DatabaseWorld) -> None:
    place = world.place()
    await (await world.database.open_log(place, 1)).set_bookmark(position(1, 1, 0))
    log = await world.database.open_log(place, 7)
    await log.set_bookmark(position(1, 2, 0))
    assert await log.bookmark() == position(1, 2, 0)


async def test_owner_of_an_ended_epoch_does_not_move_the_bookmark(world: DatabaseWorld) -> None:
    place = world.place()
    ended = await world.database.open_log(place, 1)
    await ended.set_bookmark(position(1, 1, 0))
    log = await world.database.open_log(place, 2)
    await ended.set_bookmark(position(1, 2, 0))
    assert await log.bookmark() == position(1, 1, 0)


async def test_owner_of_an_ended_epoch_still_reads_and_scans(world: DatabaseWorld) -> None:
    place = world.place()
    ended = await world.database.open_log(place, 1)
    await ended.append(position(1, 0, 0), b"x", KEEP_MS)
    await world.database.open_log(place, 2)
    assert await ended.read([position(1, 0, 0)]) == {position(1, 0, 0): b"x"}
    assert await rows(ended) == [(position(1, 0, 0), b"x")]


async def test_log_may_be_opened_again_for_the_same_epoch(world: DatabaseWorld) -> None:
    place = world.place()
    first = await world.database.open_log(place, 3)
    await first.append(position(3, 0, 0), b"x", KEEP_MS)
    again = await world.database.open_log(place, 3)
    await again.append(position(3, 0, 1), b"y", KEEP_MS)
    await first.append(position(3, 0, 2), b"z", KEEP_MS)
    assert [group for _, group in await rows(again)] == [b"x", b"y", b"z"]


async def test_new_owner_sees_every_append_that_was_answered(world: DatabaseWorld) -> None:
    """The old owner appends on and on through another client while the new one takes over."""
    place, other = world.place(), await world.client()
    for epoch in range(1, TAKEOVERS + 1):
        old = await other.open_log(place, epoch)
        answered: list[int] = []
        appending = asyncio.create_task(_append_on(old, epoch, answered))
        while not answered:
            await asyncio.sleep(0)
        new = await world.database.open_log(place, epoch + 1)
        before, found = list(answered), [at for at, _ in await rows(new, position(epoch, 0, 0))]
        appending.cancel()
        await asyncio.wait([appending])
        assert set(before) <= set(found)


async def _append_on(log: Log, epoch: int, answered: list[int]) -> None:
    for slot in range(1_000):
        try:
            await log.append(position(epoch, 0, slot), b"x", KEEP_MS)
        except OwnerChanged:
            return
        answered.append(position(epoch, 0, slot))
        await asyncio.sleep(0)


async def test_append_of_an_ended_epoch_is_refused(fencing_world: DatabaseWorld) -> None:
    place = fencing_world.place()
    ended = await fencing_world.database.open_log(place, 1)
    await ended.append(position(1, 0, 0), b"before", KEEP_MS)
    log = await (await fencing_world.client()).open_log(place, 2)
    for grow in (True, False):
        with pytest.raises(OwnerChanged):
            await ended.append(position(1, 0, 1), b"after", KEEP_MS, grow=grow)
    assert await rows(log) == [(position(1, 0, 0), b"before")]


async def test_append_that_is_repeated_after_a_takeover_is_refused(
    fencing_world: DatabaseWorld,
) -> None:
    """The outcome of the first one stays unknown to its owner, who must not answer it."""
    place = fencing_world.place()
    ended = await fencing_world.database.open_log(place, 1)
    await ended.append(position(1, 0, 0), b"x", KEEP_MS)
    log = await fencing_world.database.open_log(place, 2)
    with pytest.raises(OwnerChanged):
        await ended.append(position(1, 0, 0), b"x", KEEP_MS)
    assert await rows(log) == [(position(1, 0, 0), b"x")]


async def test_log_is_not_opened_for_an_epoch_that_has_ended(fencing_world: DatabaseWorld) -> None:
    place = fencing_world.place()
    log = await fencing_world.database.open_log(place, 5)
    with pytest.raises(OwnerChanged):
        await fencing_world.database.open_log(place, 4)
    await log.append(position(5, 0, 0), b"x", KEEP_MS)
    assert await rows(log) == [(position(5, 0, 0), b"x")]


async def test_of_many_owners_at_once_the_newest_alone_appends(
    fencing_world: DatabaseWorld,
) -> None:
    place = fencing_world.place()
    clients = [fencing_world.database, await fencing_world.client()]
    tries = [clients[epoch % 2].open_log(place, epoch) for epoch in range(1, TAKEOVERS + 1)]
    opened = await asyncio.gather(*tries, return_exceptions=True)
    logs = [log for log in opened if not isinstance(log, BaseException)]
    assert all(isinstance(log, OwnerChanged) for log in opened if isinstance(log, BaseException))
    for log in logs[:-1]:
        with pytest.raises(OwnerChanged):
            await log.append(position(1, 0, 0), b"ended", KEEP_MS)
    await logs[-1].append(position(TAKEOVERS, 0, 0), b"newest", KEEP_MS)
    assert await rows(logs[-1]) == [(position(TAKEOVERS, 0, 0), b"newest")]


async def test_append_to_a_removed_log_is_refused(fencing_world: DatabaseWorld) -> None:
    place = fencing_world.place()
    log = await fencing_world.database.open_log(place, 1)
    await fencing_world.database.remove_log(place)
    with pytest.raises(OwnerChanged):
        await log.append(position(1, 0, 0), b"x", KEEP_MS)
    assert await rows(log) == []


async def test_append_of_an_ended_epoch_is_accepted_below_the_new_positions(
    unfenced_world: DatabaseWorld,
) -> None:
    """Replay skips it: it lies beyond the seal that the new owner has written."""
    place = unfenced_world.place()
    ended = await unfenced_world.database.open_log(place, 1)
    log = await unfenced_world.database.open_log(place, 2)
    await log.append(position(2, 0, 0), b"new", KEEP_MS)
    await ended.append(position(1, 0, 0), b"late", KEEP_MS)
    assert await rows(log) == [(position(1, 0, 0), b"late"), (position(2, 0, 0), b"new")]
