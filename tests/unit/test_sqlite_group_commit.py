"""Requests that share a commit, requests that wait for it, and changes never written."""

import asyncio
import threading

import pytest

from dovemq.core.commands import Ask, Counts, Duplicate, Sent, Settlement
from dovemq.core.errors import Draining
from dovemq.stores.owned import committing
from dovemq.stores.sqlite import SqliteStore
from tests.unit.embedded import LEASE_MS, TEST_SECONDS_MAX, Line, Place, read_rows


@pytest.fixture
def late_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Postpones the writing of leases beyond the end of any test, on slow machines too."""
    monkeypatch.setattr(committing, "LEASE_WRITE_MS_MAX", 60 * TEST_SECONDS_MAX * 1_000)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def held_up(place: Place, line: Line) -> asyncio.Task[list[int]]:
    """A send whose commit is under way and does not end before `may_sync` is set."""
    syncs = place.disk.syncs
    place.disk.may_sync.clear()
    sending = asyncio.create_task(line.send("held up"))
    await turns()
    assert place.disk.syncs == syncs
    return sending


def rows(place: Place) -> list[tuple[int, int, int]]:
    return read_rows(place.database, "SELECT sequence, receive_count, visible_ms FROM entry")


async def test_requests_of_one_turn_share_a_commit(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    before = store.statistics.commits
    await asyncio.gather(*(line.send(f"{number}") for number in range(20)))
    assert store.statistics.commits == before + 1
    assert store.statistics.group_items_max == 20


async def test_what_arrives_during_a_commit_shares_the_next(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    before = store.statistics.commits
    first = await held_up(place, line)
    others = [asyncio.create_task(line.send(f"{number}")) for number in range(10)]
    await turns()
    place.disk.may_sync.set()
    await asyncio.gather(first, *others)
    assert store.statistics.commits == before + 2


async def test_message_is_not_visible_before_its_commit(place: Place) -> None:
    line = await place.line(await place.open())
    sending = await held_up(place, line)
    assert await line.partition.counts(line.now_ms) == Counts(0, 0, 0)
    assert not await line.lease()
    assert not sending.done()
    place.disk.may_sync.set()
    await sending
    assert await line.visible() == 1


async def test_settle_is_answered_after_its_commit(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    (lease,) = await line.lease()
    place.disk.may_sync.clear()
    settling = asyncio.create_task(line.settle(lease.receipt))
    await turns()
    assert not settling.done()
    place.disk.may_sync.set()
    await settling
    assert rows(place) == []


async def test_second_settle_waits_for_the_commit_of_the_first(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a")
    (lease,) = await line.lease()
    place.disk.may_sync.clear()
    first = asyncio.create_task(line.settle(lease.receipt))
    await turns()
    second = asyncio.create_task(line.partition.settle([lease.receipt], line.now_ms))
    await turns()
    assert not first.done()
    assert not second.done()
    place.disk.may_sync.set()
    await first
    assert await second == [Settlement.GONE]


async def test_settle_of_a_message_gone_for_good_needs_no_commit(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    await line.send("a")
    (lease,) = await line.lease()
    await line.settle(lease.receipt)
    before = store.statistics.commits
    assert await line.partition.settle([lease.receipt], line.now_ms) == [Settlement.GONE]
    assert store.statistics.commits == before


@pytest.mark.usefixtures("late_leases")
async def test_lease_settled_within_the_same_group_is_never_written(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    await line.send("a")
    before = store.statistics.committed_items
    (lease,) = await line.lease()
    await line.settle(lease.receipt)
    assert store.statistics.committed_items == before + 1


@pytest.mark.usefixtures("late_leases")
async def test_lease_that_is_settled_soon_is_not_written_by_commits_between(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    (first,) = await line.send("a")
    before = store.statistics.committed_items
    (lease,) = await line.lease()
    (second,) = await line.send("b")
    assert rows(place) == [(first, 0, line.now_ms), (second, 0, line.now_ms)]
    await line.settle(lease.receipt)
    assert store.statistics.committed_items == before + 2


@pytest.mark.usefixtures("late_leases")
async def test_only_the_latest_state_of_a_lease_is_written(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    (sequence,) = await line.send("a")
    before = store.statistics.committed_items
    (lease,) = await line.lease()
    for _ in range(3):
        place.clock.advance(1_000)
        await line.partition.extend([(lease.receipt, LEASE_MS)], line.now_ms)
    await store.flush()
    assert store.statistics.committed_items == before + 1
    assert rows(place) == [(sequence, 1, line.now_ms + LEASE_MS)]


async def test_lease_is_written_after_a_while_without_other_requests(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    (sequence,) = await line.send("a")
    before = store.statistics.commits
    await line.lease()
    assert store.statistics.commits == before
    while store.statistics.commits == before:
        await asyncio.sleep(0.01)
    assert rows(place) == [(sequence, 1, line.now_ms + LEASE_MS)]


async def test_released_lease_is_taken_back_on_disk_too(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    (sequence,) = await line.send("a")
    (lease,) = await line.lease()
    await store.flush()
    await line.partition.release([lease.receipt], line.now_ms)
    await store.flush()
    assert rows(place) == [(sequence, 0, line.now_ms)]


async def test_duplicate_of_an_uncommitted_send_waits_and_answers_the_first_ids(
    place: Place,
) -> None:
    line = await place.line(await place.open(), "q.fifo")
    drafts = [line.draft("body", deduplication_id="same") for _ in range(3)]
    place.disk.may_sync.clear()
    sends = [asyncio.create_task(line.partition.send([draft], line.now_ms)) for draft in drafts[:2]]
    await turns()
    sends.append(asyncio.create_task(line.partition.send(drafts[2:], line.now_ms)))
    await turns()
    assert not any(send.done() for send in sends)
    place.disk.may_sync.set()
    first, *others = [answer for send in sends for answer in await send]
    assert isinstance(first, Sent)
    assert others == [Duplicate(first.message_id, first.sequence)] * 2
    assert await line.visible() == 1


async def test_old_deduplication_rows_are_deleted_by_later_sends(place: Place) -> None:
    store = await place.open()
    line = await place.line(store, "q.fifo")
    await line.send(*(f"{number}" for number in range(10)))
    place.clock.advance(5 * 60_000)
    await line.send("later")
    assert read_rows(place.database, "SELECT count(*) FROM deduplication") == [(1,)]


async def test_cancelled_send_is_done_or_not_done_but_leaves_others_alone(place: Place) -> None:
    line = await place.line(await place.open())
    await held_up(place, line)
    cancelled = asyncio.create_task(line.send("cancelled"))
    kept = asyncio.create_task(line.send("kept"))
    await turns()
    cancelled.cancel()
    place.disk.may_sync.set()
    await kept
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert {"held up", "kept"} <= set(await line.bodies())


async def test_closed_store_refuses_everything_and_can_be_closed_again(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    partition = line.partition
    await asyncio.gather(store.close(), store.close())
    with pytest.raises(Draining):
        await partition.send([line.draft("late")], line.now_ms)
    with pytest.raises(Draining):
        await partition.lease(Ask(1, LEASE_MS), line.now_ms)
    with pytest.raises(Draining):
        await store.catalogue.find(line.queue.key)


async def test_close_writes_what_is_pending(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    (sequence,) = await line.send("a")
    await line.lease()
    await store.close()
    assert rows(place) == [(sequence, 1, line.now_ms + LEASE_MS)]


async def test_log_is_checkpointed_while_the_store_runs(place: Place) -> None:
    store: SqliteStore = await place.open()
    line = await place.line(store)
    for _ in range(10):
        await line.send(*("x" * 100_000 for _ in range(10)))
    while not store.statistics.checkpoints:
        await asyncio.sleep(0.01)
    assert place.database.stat().st_size > 5_000_000


async def test_close_that_was_cancelled_can_be_repeated(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    place.disk.may_sync.clear()
    sending = asyncio.create_task(line.send("a"))
    closing = asyncio.create_task(store.close())
    await turns()
    closing.cancel()
    await asyncio.wait([closing])
    place.disk.may_sync.set()
    await store.close()
    assert await sending == [1]
    assert "dovemq-writer" not in {thread.name for thread in threading.enumerate()}


async def test_send_that_meets_the_removal_of_its_queue_leaves_no_rows(place: Place) -> None:
    store = await place.open()
    line = await place.line(store)
    place.disk.may_sync.clear()
    removing = asyncio.create_task(store.catalogue.remove(line.queue.key))
    await turns()
    sending = asyncio.create_task(line.send("late"))
    await turns()
    place.disk.may_sync.set()
    await asyncio.gather(removing, sending)
    while store.statistics.swept < 1:
        await asyncio.sleep(0.01)
    assert rows(place) == []
