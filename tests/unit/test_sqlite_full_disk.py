"""A full disk: sends are refused, the rest goes on, and sends resume by themselves."""

import asyncio

import apsw
import pytest

from dovemq.core.commands import Transfer
from dovemq.core.errors import StoreFull
from dovemq.stores.sqlite.connection import out_of_space
from dovemq.stores.sqlite.statistics import StoreState
from tests.unit.embedded import LEASE_MS, Line, Place, read_rows

BIG = "x" * 200_000


async def filled(place: Place) -> Line:
    """A queue with three messages on a disk that has just run full."""
    line = await place.line(await place.open())
    await line.send("a", "b", "c")
    place.disk.full = True
    with pytest.raises(StoreFull):
        await line.send(BIG)
    assert line.store.statistics.state is StoreState.FULL
    return line


async def test_send_is_refused_and_leaves_nothing(place: Place) -> None:
    line = await filled(place)
    assert await line.visible() == 3
    assert read_rows(place.database, "SELECT count(*) FROM entry") == [(3,)]


async def test_messages_are_handed_out_and_settled_from_the_reserve(place: Place) -> None:
    line = await filled(place)
    assert not (place.directory / "reserve").exists()
    leases = await line.lease()
    await line.settle(*(lease.receipt for lease in leases))
    assert read_rows(place.database, "SELECT count(*) FROM entry") == [(0,)]
    line.store.abandon()
    store = await place.open()
    assert (await store.partition(line.queue, 0).counts(line.now_ms)).visible == 0


async def test_settles_of_the_group_that_met_the_full_disk_are_done(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    (lease,) = await line.lease()
    place.disk.full = True
    refused, settled = await asyncio.gather(
        line.send(BIG), line.settle(lease.receipt), return_exceptions=True
    )
    assert isinstance(refused, StoreFull)
    assert settled is None
    assert (await line.partition.counts(line.now_ms)).leased == 0
    assert read_rows(place.database, "SELECT count(*) FROM body") == [(0,)]


async def test_queues_can_be_made_and_removed(place: Place) -> None:
    line = await filled(place)
    other = await place.line(line.store, "other")
    assert await line.store.catalogue.remove(other.queue.key)


async def test_message_that_cannot_be_adopted_stays_where_it_is(place: Place) -> None:
    line = await filled(place)
    dead = await place.line(line.store, "dead")
    lease, *_ = await line.lease()
    with pytest.raises(StoreFull):
        await dead.partition.adopt([Transfer(lease.message)], line.now_ms)
    assert (await line.partition.counts(line.now_ms)).leased == 3


async def test_space_is_looked_for_once_a_second_at_most(place: Place) -> None:
    line = await filled(place)
    place.clock.advance(1_000)
    with pytest.raises(StoreFull):
        await line.send(BIG)
    commits = line.store.statistics.commits
    place.disk.full = False
    with pytest.raises(StoreFull):
        await line.send("too early")
    assert line.store.statistics.commits == commits


async def test_sends_resume_when_space_returns_and_the_reserve_is_made_again(
    place: Place,
) -> None:
    line = await filled(place)
    place.disk.full = False
    place.clock.advance(1_000)
    await line.send("after")
    assert line.store.statistics.state is StoreState.OK
    assert (place.directory / "reserve").stat().st_size == 8 * 1024 * 1024
    assert await line.bodies() == ["a", "b", "c", "after"]


async def test_settle_that_finds_no_reserve_left_is_owed_and_paid_later(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send(*("x" for _ in range(10)))
    lease, *_ = await line.lease()
    place.disk.full = True
    place.disk.spare_bytes = 0
    with pytest.raises(StoreFull):
        await line.settle(lease.receipt)
    with pytest.raises(StoreFull):
        await line.settle(lease.receipt)
    assert read_rows(place.database, "SELECT count(*) FROM entry") == [(10,)]
    place.disk.full = False
    await line.settle(lease.receipt)
    assert read_rows(place.database, "SELECT count(*) FROM entry") == [(9,)]


def _forbid_growth(connection: apsw.Connection) -> None:
    connection.pragma("max_page_count", int(connection.pragma("page_count")))


async def test_pages_freed_inside_the_file_count_as_space(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send(*(BIG for _ in range(200)))
    await line.store._writer.work(_forbid_growth, lambda _: None)
    with pytest.raises(StoreFull):
        await line.send(*(BIG for _ in range(10)))
    for _ in range(20):
        await line.settle(*(lease.receipt for lease in await line.lease()))
    line.store._writer._space._reserve.free_bytes = lambda: 0  # type: ignore[method-assign]
    place.clock.advance(LEASE_MS)
    await line.send(BIG)
    assert await line.bodies() == [BIG]


async def test_full_disk_at_start_does_not_keep_consumers_away(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    line.store.abandon()
    (place.directory / "reserve").unlink()
    place.disk.full = True
    place.disk.spare_bytes = 4 * 1024 * 1024
    store = await place.open()
    (place.directory / "reserve").unlink()
    again = Line(place, store, line.queue)
    (lease,) = await again.lease()
    await again.settle(lease.receipt)
    assert await again.visible() == 0


def test_shared_memory_that_cannot_grow_is_a_full_disk() -> None:
    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_SHMSIZE  # type: ignore[attr-defined]
    assert out_of_space(error)
    assert not out_of_space(apsw.IOError("disk I/O error"))
