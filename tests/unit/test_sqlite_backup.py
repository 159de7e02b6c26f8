"""Copies: taken while the store runs, verified, and restored into an empty directory."""

import asyncio
import os
import stat
from pathlib import Path

import apsw
import pytest

from dovemq.core.commands import Settlement
from dovemq.core.errors import StoreUnusable
from dovemq.stores.sqlite import restore_backup
from dovemq.stores.sqlite.damage.report import DamagedMessage
from dovemq.stores.sqlite.directory import SEALS_NAME
from tests.unit.embedded import Line, Place


async def write_backup(line: Line, target: Path) -> None:
    with await line.store.backup() as copy:
        target.write_bytes(copy.read())


async def backed_up(place: Place, *bodies: str) -> tuple[Line, Path]:
    line = await place.line(await place.open())
    await line.send(*bodies)
    target = place.directory.parent / "backup.db"
    await write_backup(line, target)
    return line, target


async def restored(place: Place, line: Line, backup: Path) -> Line:
    await line.store.close()
    place.directory = place.directory.parent / "restored"
    restore_backup(backup, place.directory)
    store = await place.open()
    queue = await store.catalogue.find(line.queue.key)
    assert queue is not None
    return Line(place, store, queue)


async def test_restored_store_has_what_the_backup_saw(place: Place) -> None:
    line, backup = await backed_up(place, "a", "b")
    await line.send("too late")
    line = await restored(place, line, backup)
    assert await line.bodies() == ["a", "b"]


async def test_restored_database_is_for_its_owner_alone(place: Place) -> None:
    line, backup = await backed_up(place, "a")
    await line.store.close()
    backup.chmod(0o644)
    was = os.umask(0)
    try:
        restore_backup(backup, place.directory.parent / "restored")
    finally:
        os.umask(was)
    database = place.directory.parent / "restored" / place.database.name
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


async def test_backup_holds_leases_that_were_pending(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    await line.lease()
    target = place.directory.parent / "backup.db"
    await write_backup(line, target)
    line = await restored(place, line, target)
    assert (await line.partition.counts(line.now_ms)).leased == 1


async def test_backup_is_consistent_under_load_and_tells_its_progress(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send(*("x" * 50_000 for _ in range(100)))
    target = place.directory.parent / "backup.db"
    told: list[tuple[int, int]] = []
    loaded = True

    async def load() -> int:
        count = 0
        while loaded:
            await line.send("more")
            count += 1
        return count

    loading = asyncio.create_task(load())
    with await line.store.backup(lambda done, total: told.append((done, total))) as copy:
        target.write_bytes(copy.read())
    loaded = False
    assert await loading > 0
    assert told[-1][0] == told[-1][1]
    assert sorted(told) == told
    assert restore_backup(target, place.directory.parent / "restored").sound


async def test_backup_leaves_no_file_in_the_data_directory(place: Place) -> None:
    line = await place.line(await place.open())
    before = sorted(place.directory.iterdir())
    (await line.store.backup()).close()
    assert sorted(place.directory.iterdir()) == before


async def test_next_start_removes_the_half_made_copies_of_a_killed_process(place: Place) -> None:
    (await place.open()).abandon()
    copy = place.directory / "http-backup-1"
    copy.mkdir()
    left = [copy / "dovemq.db", place.directory / "http-backup-2.partial"]
    left.append(place.directory / "dovemq.db.rebuilt.partial")
    for path in left:
        path.write_bytes(b"half of a database")
    await place.open()
    assert [path for path in (copy, *left) if path.exists()] == []


async def test_restore_can_be_repeated_where_one_failed_or_was_killed(place: Place) -> None:
    _, backup = await backed_up(place, "a")
    target = place.directory.parent / "restored"
    with pytest.raises(StoreUnusable):
        restore_backup(place.directory / "lock", target)
    (target / "dovemq.db.partial").write_bytes(b"half of a database")
    assert restore_backup(backup, target).messages == 1


async def test_receipts_given_after_the_backup_settle_nothing_after_the_restore(
    place: Place,
) -> None:
    line, backup = await backed_up(place, "old")
    await line.lease()
    await line.send("after the backup")
    (late,) = await line.lease()
    line = await restored(place, line, backup)
    await line.send("after the restore")
    settled = await line.partition.settle([late.receipt], line.now_ms)
    assert settled == [Settlement.GONE]
    assert await line.visible() == 2


async def test_restore_refuses_a_directory_that_holds_something(place: Place) -> None:
    _, backup = await backed_up(place, "a")
    with pytest.raises(StoreUnusable, match="not empty"):
        restore_backup(backup, place.directory)
    occupied = place.directory.parent / "occupied"
    occupied.mkdir()
    (occupied / "file").write_text("mine")
    with pytest.raises(StoreUnusable, match="not empty"):
        restore_backup(backup, occupied)
    assert os.listdir(occupied) == ["file"]


async def test_restore_refuses_what_is_no_backup(place: Place) -> None:
    place.directory.mkdir()
    garbage = place.directory / "garbage"
    garbage.write_bytes(b"no database at all " * 500)
    empty = place.directory / "empty"
    empty.write_bytes(b"")
    target = place.directory / "target"
    for path in (garbage, empty, place.directory / "missing"):
        with pytest.raises(StoreUnusable):
            restore_backup(path, target)
    assert not (target / "dovemq.db").exists()


async def test_restore_refuses_a_backup_with_a_broken_structure(place: Place) -> None:
    _, backup = await backed_up(place, *("x" * 3_000 for _ in range(20)))
    data = bytearray(backup.read_bytes())
    data[5 * 4_096 : 6 * 4_096] = b"\xff" * 4_096
    backup.write_bytes(data)
    with pytest.raises(StoreUnusable):
        restore_backup(backup, place.directory.parent / "restored")
    assert not (place.directory.parent / "restored" / "dovemq.db").exists()


async def test_verification_of_a_sound_store_counts_its_messages(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send(*(f"{number}" for number in range(1_001)))
    told: list[tuple[int, int]] = []
    found = await line.store.verify(lambda done, total: told.append((done, total)))
    assert found.sound
    assert found.messages == 1_001
    assert told[-1] == (1_001, 1_001)


async def test_verification_names_damaged_messages_and_strays(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a", "b", "c", "d")
    await line.store.close()
    connection = apsw.Connection(str(place.database))
    connection.execute("UPDATE body SET crc32 = crc32 + 1 WHERE sequence = 2")
    connection.execute("DELETE FROM body WHERE sequence = 3")
    connection.execute("DELETE FROM entry WHERE sequence = 4")
    connection.close()
    (place.directory / SEALS_NAME).unlink()
    found = await (await place.open()).verify()
    key = str(line.queue.key)
    assert found.damaged == (
        DamagedMessage(key, 2, "its checksum is wrong", "m-2"),
        DamagedMessage(key, 3, "its body is missing or unreadable", "m-3"),
    )
    assert (found.messages, found.damaged_count, found.strays) == (3, 2, 1)
    assert not found.sound


async def test_verification_reports_a_page_that_broke_since_the_start(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send(*("x" * 3_000 for _ in range(20)))
    await line.store.close()
    connection = apsw.Connection(str(place.database))
    page = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'body'").get
    connection.close(True)
    store = await place.open()
    with place.database.open("r+b") as file:
        file.seek((page - 1) * 4_096)
        file.write(b"\xff" * 4_096)
    found = await store.verify()
    sentence = f"page {page} is not as it was written; a restart saves what can be saved"
    assert sentence in found.problems
    assert found.damaged_count == 20
