"""A full disk: sends are refused, the rest goes on, and sends resume by themselves."""

import asyncio
import errno
import os
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from dovemq.core.commands import Transfer
from dovemq.core.errors import StoreFull
from dovemq.stores.owned.statistics import StoreState
from dovemq.stores.sqlite.connection import out_of_space
from tests.unit.embedded import LEASE_MS, FaultyDisk, Line, Place, read_rows

BIG = "x" * 200_000
SENDS_MAX = 1_000


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


async def test_settle_that_finds_no_reserve_left_is_written_later(place: Place) -> None:
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


@pytest.fixture
def small_volume(place: Place, monkeypatch: pytest.MonkeyPatch) -> FaultyDisk:
    """A volume of 20 MiB, for SQLite and for everybody who asks the operating system."""
    disk = place.disk
    disk.volume_bytes = 20 * 1024 * 1024

    def statvfs(_: Path) -> SimpleNamespace:
        free, total = disk.volume_free_bytes(), disk.volume_bytes
        return SimpleNamespace(f_frsize=1, f_bavail=free, f_blocks=total)

    def fallocate(file: int, _: int, length: int) -> None:
        if length - os.fstat(file).st_size > disk.volume_free_bytes():
            raise OSError(errno.ENOSPC, "no space left")
        os.truncate(file, max(length, os.fstat(file).st_size))

    monkeypatch.setattr(os, "statvfs", statvfs)
    monkeypatch.setattr(os, "posix_fallocate", fallocate)
    return disk


async def fill(line: Line) -> int:
    """Sends until the disk is full; how many messages were accepted."""
    for count in range(SENDS_MAX):
        try:
            await line.send(BIG)
        except StoreFull:
            return count
        line.place.clock.advance(1)
    raise AssertionError("the disk never fills up")


async def delete(line: Line, count: int) -> None:
    for _ in range(count):
        await line.settle(*(lease.receipt for lease in await line.lease(1)))


@pytest.mark.usefixtures("small_volume")
async def test_sends_resume_on_a_small_volume_when_most_messages_were_deleted(
    place: Place,
) -> None:
    line = await place.line(await place.open())
    sent = await fill(line)
    for _ in range(3):
        await delete(line, sent * 8 // 10)
        place.clock.advance(LEASE_MS)
        again = await fill(line)
        assert again >= sent // 2


async def test_pages_that_deleted_messages_left_count_as_free_space(
    place: Place, small_volume: FaultyDisk
) -> None:
    line = await place.line(await place.open())
    sent = await fill(line)
    size = place.database.stat().st_size
    await delete(line, sent * 8 // 10)
    # Another program takes what is left outside the database.
    small_volume.volume_bytes = (small_volume.volume_bytes or 0) - small_volume.volume_free_bytes()
    place.clock.advance(LEASE_MS)
    assert await fill(line) > 0
    assert place.database.stat().st_size == size


@pytest.mark.usefixtures("small_volume")
async def test_sends_stop_while_there_is_still_room_for_deletes(place: Place) -> None:
    line = await place.line(await place.open())
    sent = await fill(line)
    await delete(line, sent * 8 // 10)
    place.clock.advance(LEASE_MS)
    await fill(line)
    assert line.store.statistics.state is StoreState.FULL
    left = await line.visible()
    await delete(line, left)
    assert await line.visible() == 0


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
