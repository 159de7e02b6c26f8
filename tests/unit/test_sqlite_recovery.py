"""Recovery: the state of a store after a kill or a close, when its directory is opened again."""

import asyncio
import random
import shutil
from itertools import pairwise

import apsw
import pytest

from dovemq.core.commands import Duplicate, Move, MoveStatus, Settlement, Transfer
from dovemq.core.errors import QueueMissing, StoreFailed
from dovemq.core.index import index_for
from dovemq.core.queue import QueueKey, QueueSettings
from dovemq.stores.owned import partition
from dovemq.stores.sqlite import committer, store
from dovemq.stores.sqlite.group import SEQUENCES_RESERVED
from tests.unit.embedded import ACCOUNT, LEASE_MS, TEST_SECONDS_MAX, Line, Place, read_rows

ENTRIES = "SELECT count(*) FROM entry"
BODIES = "SELECT count(*) FROM body"


async def reopened(line: Line) -> Line:
    store = await line.place.open()
    queue = await store.catalogue.find(line.queue.key)
    assert queue is not None
    return Line(line.place, store, queue)


async def killed(line: Line) -> Line:
    line.store.abandon()
    return await reopened(line)


async def test_answered_sends_are_there_after_a_kill(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a", "b")
    await line.send("c")
    line = await killed(line)
    assert await line.bodies() == ["a", "b", "c"]


async def test_settled_message_stays_away_after_a_kill(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a", "b")
    first, _ = await line.lease()
    await line.settle(first.receipt)
    line = await killed(line)
    place.clock.advance(LEASE_MS)
    assert await line.bodies() == ["b"]


async def test_written_lease_outlives_a_kill(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    (lease,) = await line.lease()
    await line.store.flush()
    line = await killed(line)
    assert not await line.bodies()
    place.clock.advance(LEASE_MS)
    (again,) = await line.lease()
    assert again.receive_count == 2
    assert again.first_received_ms == lease.first_received_ms
    await line.settle(again.receipt)


async def test_lease_that_a_kill_forgot_leaves_a_receipt_that_still_settles(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    (lease,) = await line.lease()
    line = await killed(line)
    assert await line.visible() == 1
    settled = await line.partition.settle([lease.receipt], line.now_ms)
    assert settled == [Settlement.SETTLED]
    assert await line.visible() == 0


async def test_group_that_was_not_committed_is_gone_as_a_whole(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("kept")
    place.disk.may_sync.clear()
    under_way = asyncio.create_task(line.send("under way"))
    await asyncio.to_thread(place.disk.is_held.wait, TEST_SECONDS_MAX)
    pending = [asyncio.create_task(line.send(f"pending {n}")) for n in range(3)]
    await asyncio.sleep(0)
    place.disk.may_sync.set()
    line.store.abandon()
    outcomes = await asyncio.gather(under_way, *pending, return_exceptions=True)
    assert all(isinstance(outcome, StoreFailed) for outcome in outcomes)
    line = await reopened(line)
    assert set(await line.bodies()) <= {"kept", "under way"}
    assert read_rows(place.database, ENTRIES) == read_rows(place.database, BODIES)


async def test_sequences_are_never_used_again(place: Place) -> None:
    line = await place.line(await place.open())
    seen = 0
    for _ in range(3):
        sequences = await line.send("a", "b", "c")
        assert min(sequences) > seen
        seen = max(sequences)
        for lease in await line.lease():
            await line.settle(lease.receipt)
        line = await killed(line)
    await line.store.close()
    line = await reopened(line)
    assert min(await line.send("d")) > seen


async def test_sequences_are_reserved_before_they_are_used_up(place: Place) -> None:
    line = await place.line(await place.open())
    for _ in range(SEQUENCES_RESERVED // 1_000 + 2):
        await line.send(*("x" for _ in range(1_000)))
    line.store.abandon()
    ((reserved,),) = read_rows(place.database, "SELECT value FROM meta WHERE key LIKE 'seq%'")
    ((highest,),) = read_rows(place.database, "SELECT max(sequence) FROM body")
    assert reserved >= highest


async def test_receipt_of_a_former_process_settles(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    (lease,) = await line.lease()
    key = line.store.receipt_key
    await line.store.close()
    line = await reopened(line)
    assert line.store.receipt_key == key
    await line.settle(lease.receipt)
    assert (await line.partition.counts(line.now_ms)).leased == 0


async def test_deduplication_is_remembered(place: Place) -> None:
    line = await place.line(await place.open(), "q.fifo")
    first = line.draft("a", deduplication_id="same")
    (sent,) = await line.partition.send([first], line.now_ms)
    line = await killed(line)
    again = line.draft("a", deduplication_id="same")
    answers = await line.partition.send([again], line.now_ms)
    assert answers == [Duplicate(sent.message_id, sent.sequence)]


async def test_adopted_message_is_adopted_once_also_after_a_kill(place: Place) -> None:
    line = await place.line(await place.open())
    dead = await place.line(line.store, "dead")
    await line.send("a")
    (lease,) = await line.lease()
    transfer = Transfer(lease.message, lease.receive_count, lease.first_received_ms)
    (first,) = await dead.partition.adopt([transfer], line.now_ms)
    line.store.abandon()
    dead = await reopened(dead)
    (second,) = await dead.partition.adopt([transfer, transfer][:1], line.now_ms)
    assert second == first
    (adopted,) = await dead.lease()
    assert adopted.receive_count == lease.receive_count + 1


async def test_queues_and_moves_are_there_again(place: Place) -> None:
    line = await place.line(await place.open(), settings=QueueSettings(lease_ms=5_000))
    move = Move("move-1", str(line.queue.key), None, 7, place.clock.now_ms(), 3)
    await line.store.catalogue.save_move(move)
    line = await killed(line)
    assert line.queue.settings == QueueSettings(lease_ms=5_000)
    assert await line.store.catalogue.moves(line.queue.key) == [move]
    assert move.status is MoveStatus.RUNNING


async def test_queue_numbers_are_never_used_again(place: Place) -> None:
    line = await place.line(await place.open())
    await line.store.catalogue.remove(line.queue.key)
    line.store.abandon()
    again = await place.line(await place.open())
    assert again.queue.number > line.queue.number


async def test_rows_of_a_removed_queue_are_swept_in_pieces(place: Place) -> None:
    line = await place.line(await place.open())
    other = await place.line(line.store, "other")
    await other.send("kept")
    count = 2 * committer.SWEEP_ROWS_MAX + 1
    await line.send(*("x" for _ in range(count)))
    await line.store.catalogue.remove(line.queue.key)
    with pytest.raises(QueueMissing):
        line.store.partition(line.queue, 0)
    while line.store.statistics.swept < count:
        await line.store.flush()
    assert read_rows(place.database, ENTRIES) == [(1,)]
    assert read_rows(place.database, BODIES) == [(1,)]


async def test_index_of_a_removed_queue_is_freed_in_pieces(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_for(QueueSettings(), random.Random(7))
    monkeypatch.setattr(store, "index_for", lambda *_: index)
    line = await place.line(await place.open())
    await line.send(*("x" for _ in range(10 * partition.LET_GO_MAX)))
    await line.store.catalogue.remove(line.queue.key)
    left: list[int] = []
    while not left or left[-1]:
        left.append(index.counts(line.now_ms).visible)
        await asyncio.sleep(0)
    assert left[0] > 0
    assert all(before - after <= partition.LET_GO_MAX for before, after in pairwise(left))


async def test_rows_that_a_kill_left_of_a_removed_queue_are_swept(place: Place) -> None:
    line = await place.line(await place.open())
    other = await place.line(line.store, "other")
    await other.send("kept")
    await line.send(*("x" for _ in range(3 * committer.SWEEP_ROWS_MAX)))
    await line.store.catalogue.remove(line.queue.key)
    other = await killed(other)
    assert read_rows(place.database, ENTRIES) > [(1,)]
    while read_rows(place.database, ENTRIES) != [(1,)]:
        await other.store.flush()
    assert await other.bodies() == ["kept"]
    assert read_rows(place.database, BODIES) == [(1,)]


async def test_expired_messages_leave_the_disk(place: Place) -> None:
    line = await place.line(await place.open(), settings=QueueSettings(retention_ms=60_000))
    await line.send("a", "b")
    await line.lease(1)
    place.clock.advance(60_000)
    assert await line.visible() == 0
    await line.store.flush()
    assert read_rows(place.database, ENTRIES) == [(0,)]
    assert read_rows(place.database, BODIES) == [(0,)]


async def test_expired_messages_of_many_queues_leave_the_disk_in_few_commits(
    place: Place,
) -> None:
    store = await place.open()
    settings = QueueSettings(retention_ms=60_000)
    lines = [await place.line(store, f"q{number}", settings) for number in range(20)]
    for line in lines:
        await line.send("a", "b")
    place.clock.advance(60_000)
    before = store.statistics.commits
    for line in lines:
        await line.visible()
    await store.flush()
    assert store.statistics.commits == before + 1
    assert read_rows(place.database, ENTRIES) == [(0,)]


async def test_delayed_and_fifo_messages_keep_their_time_and_order(place: Place) -> None:
    line = await place.line(await place.open(), "q.fifo")
    await line.send(*(f"{number}" for number in range(5)))
    line = await killed(line)
    assert await line.bodies(3) == ["0", "1", "2"]
    key = QueueKey(ACCOUNT, "q.fifo")
    assert await line.store.catalogue.find(key) == line.queue


async def test_interrupted_first_start_is_undone(place: Place) -> None:
    place.directory.mkdir()
    half = place.directory.parent / "half.db"
    connection = apsw.Connection(str(half))
    connection.execute("BEGIN IMMEDIATE; CREATE TABLE meta (a)")
    connection.cache_flush()
    for suffix in ("", "-journal"):
        shutil.copy(f"{half}{suffix}", f"{place.database}{suffix}")
    connection.close(True)
    line = await place.line(await place.open())
    await line.send("a")
    assert await line.bodies() == ["a"]
