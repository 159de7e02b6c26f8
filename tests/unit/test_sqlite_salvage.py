"""A damaged database is rebuilt at start: what is kept, what is reported, what is continued."""

import asyncio
import os
import shutil

from dovemq.core.queue import QueueKey, QueueSettings
from dovemq.load.decay import Decay, apply_decay
from dovemq.stores.sqlite.damage.evidence import REBUILT_NAME
from tests.unit.embedded import ACCOUNT, LEASE_MS, Line, Place, read_rows

PAGE_BYTES = 4_096
FRAME_BYTES = PAGE_BYTES + 24
LOG_HEADER_BYTES = 32
ROOT = "SELECT rootpage FROM sqlite_schema WHERE name = '{}'"
LEAF = "SELECT pageno FROM dbstat WHERE name = '{}' AND pagetype = 'leaf' ORDER BY path LIMIT 1"


def lose_page(place: Place, statement: str) -> None:
    ((page,),) = read_rows(place.database, statement)
    apply_decay(place.directory, Decay("zero", place.database.name, (page - 1) * PAGE_BYTES))


async def found(place: Place, name: str) -> Line:
    store = await place.open()
    queue = await store.catalogue.find(QueueKey(ACCOUNT, name))
    assert queue is not None
    return Line(place, store, queue)


async def test_queue_keeps_its_settings_when_its_row_is_lost(place: Place) -> None:
    settings = QueueSettings(lease_ms=77_000)
    line = await place.line(await place.open(), "q", settings)
    await line.send("a")
    await line.store.close()
    lose_page(place, ROOT.format("queue"))
    line = await found(place, "q")
    assert line.queue.settings == settings
    assert await line.bodies() == ["a"]


async def test_messages_are_served_when_both_rows_of_their_queue_are_lost(place: Place) -> None:
    line = await place.line(await place.open(), "orders.fifo")
    await line.send("a", "b")
    await line.store.close()
    for table in ("queue", "queue_twin"):
        lose_page(place, ROOT.format(table))
    line = await found(place, f"recovered-{line.queue.number}.fifo")
    assert await line.bodies() == ["a", "b"]
    (report,) = line.store.damage()
    assert "lost its name" in " ".join(report.notes)


async def test_receipts_stay_good_when_the_page_of_their_key_is_lost(place: Place) -> None:
    store = await place.open()
    key = store.receipt_key
    await store.close()
    lose_page(place, ROOT.format("meta"))
    assert (await place.open()).receipt_key == key


async def test_message_whose_entry_is_lost_is_visible_again_and_named(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a", "b")
    await line.lease()
    await line.store.close()
    lose_page(place, ROOT.format("entry"))
    line = await found(place, "q")
    assert await line.bodies() == ["a", "b"]
    (report,) = line.store.damage()
    assert [each.message_id for each in report.returned] == ["m-1", "m-2"]
    assert (report.lost_count, report.kept) == (0, 2)


async def test_leases_outlive_damage_elsewhere(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a", "b")
    (lease,) = await line.lease(1)
    await line.store.close()
    lose_page(place, ROOT.format("queue"))
    line = await found(place, "q")
    assert await line.bodies() == ["b"]
    place.clock.advance(LEASE_MS)
    (again,) = await line.lease(1)
    assert (again.message.body, again.receive_count) == ("a", lease.receive_count + 1)


async def test_lost_messages_are_named_until_the_evidence_is_removed(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send(*(f"{number}-" + "x" * 3_000 for number in range(6)))
    await line.store.close()
    lose_page(place, LEAF.format("body"))
    line = await found(place, "q")
    (report,) = line.store.damage()
    assert [(each.queue, each.message_id) for each in report.lost] == [(f"{ACCOUNT}/q", "m-1")]
    assert line.store.statistics.damaged == 1
    assert len(await line.bodies()) == 5
    await line.store.close()
    line = await found(place, "q")
    assert line.store.damage() == [report]
    shutil.rmtree(place.directory / report.evidence)
    assert line.store.damage() == []


async def test_sequences_are_not_given_out_again_after_damage(place: Place) -> None:
    line = await place.line(await place.open())
    (before,) = await line.send("a")
    await line.store.close()
    lose_page(place, ROOT.format("meta"))
    line = await found(place, "q")
    (after,) = await line.send("b")
    assert after > before + (1 << 31)


async def test_duplicate_is_known_when_the_deduplication_page_is_lost(place: Place) -> None:
    line = await place.line(await place.open(), "q.fifo")
    (first,) = await line.partition.send([line.draft("a", "same")], line.now_ms)
    await line.store.close()
    lose_page(place, ROOT.format("deduplication"))
    line = await found(place, "q.fifo")
    (again,) = await line.partition.send([line.draft("a", "same")], line.now_ms)
    assert again.sequence == first.sequence
    assert await line.bodies() == ["a"]


async def test_change_of_places_that_was_interrupted_is_carried_on(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    await line.store.close()
    lose_page(place, ROOT.format("entry_adopted"))
    await (await found(place, "q")).store.close()
    evidence = place.directory / "damage" / "0001"
    # As it stood when the damaged file was moved and the new one had not got its name.
    os.rename(place.database, place.directory / REBUILT_NAME)
    os.rename(evidence / place.database.name, place.database)
    line = await found(place, "q")
    assert await line.bodies() == ["a"]
    assert (evidence / place.database.name).exists()


async def test_log_that_was_cut_after_it_was_copied_costs_nothing(place: Place) -> None:
    """SQLite alone would put the rest of the log over newer pages."""
    line = await place.line(await place.open())
    for _ in range(3):
        await line.send(*("x" * 90_000 for _ in range(30)))
    while not line.store.statistics.checkpoints:
        await asyncio.sleep(0.001)
    line.store.abandon()
    log = place.database.with_name(place.database.name + "-wal")
    frames = (log.stat().st_size - LOG_HEADER_BYTES) // FRAME_BYTES
    os.truncate(log, LOG_HEADER_BYTES + frames // 2 * FRAME_BYTES)
    line = await found(place, "q")
    assert await line.visible() == 90
    (report,) = line.store.damage()
    assert (report.kept, report.lost_count, report.unnamed_count) == (90, 0, 0)


async def test_verify_beside_checkpoints_finds_nothing(place: Place) -> None:
    line = await place.line(await place.open())
    loaded = True

    async def load() -> None:
        while loaded:
            await line.send(*("x" * 90_000 for _ in range(10)))

    loading = asyncio.create_task(load())
    while line.store.statistics.checkpoints < 3:
        assert (await line.store.verify()).sound
    loaded = False
    await loading
    assert (await line.store.verify()).sound


async def test_flipped_bit_in_an_entry_is_found_by_verify(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a", "b")
    await line.store.close()
    store = await place.open()
    data = place.database.read_bytes()
    at = data.index(b"m-2")
    apply_decay(place.directory, Decay("flip", place.database.name, at, 0))
    problems = (await store.verify()).problems
    assert any("is not as it was written" in problem for problem in problems)
