"""Bodies come from the cache, or from one read that also fetches the next messages."""

import asyncio
import threading
from pathlib import Path

import pytest

from dovemq.core.commands import Ask
from dovemq.core.errors import Draining
from dovemq.core.message import Message
from dovemq.stores.owned.bodies import (
    AHEAD_COUNT,
    MESSAGE_OVERHEAD_BYTES,
    Bodies,
    BodyCache,
    CacheRoom,
)
from dovemq.stores.owned.statistics import Statistics
from dovemq.stores.sqlite.connection import open_reader
from dovemq.stores.sqlite.messages import SqliteMessages
from dovemq.stores.sqlite.reader import BodyReader, Reader
from dovemq.stores.sqlite.statements import load_statements
from tests.unit.embedded import LEASE_MS, TEST_SECONDS_MAX, Line, Place


def message(sequence: int) -> Message:
    return Message(f"m-{sequence}", sequence, "body", 0, "me")


async def nothing_to_flush() -> None: ...


def reading(database: Path) -> tuple[Reader, Bodies]:
    """Bodies without a cache, over a reader thread of its own, which ends with `stop`."""
    reader = Reader(asyncio.get_running_loop(), open_reader(database))
    sql = load_statements()
    messages = SqliteMessages(reader, BodyReader(sql), sql, nothing_to_flush)
    return reader, Bodies(messages, BodyCache(CacheRoom(0), Statistics()), Statistics())


def test_cache_is_bounded_in_bytes_and_keeps_what_came_last() -> None:
    statistics = Statistics()
    cache = BodyCache(CacheRoom(10 * (MESSAGE_OVERHEAD_BYTES + 100)), statistics)
    for sequence in range(100):
        cache.put_all({sequence: message(sequence)}, 100)
        assert statistics.cache_bytes <= cache.room.bytes_max
    held = [sequence for sequence in range(100) if cache.get(sequence)]
    assert held[-1] == 99
    assert 5 <= len(held) <= 10


def test_caches_of_many_partitions_share_one_room() -> None:
    size = MESSAGE_OVERHEAD_BYTES + 100
    room = CacheRoom(10 * size)
    busy, *others = caches = [BodyCache(room, Statistics()) for _ in range(50)]
    for sequence in range(20):
        for cache in (busy, others[sequence]):
            cache.put_all({sequence: message(sequence)}, 100)
    held = [sequence for cache in caches for sequence in range(20) if cache.get(sequence)]
    assert 5 <= len(held) <= 10
    assert busy.get(19)


def test_cache_drops_settled_messages() -> None:
    cache = BodyCache(CacheRoom(1 << 20), Statistics())
    cache.put_all({1: message(1)}, 100)
    cache.discard(1)
    assert cache.get(1) is None


async def on_disk(place: Place, count: int, cache_bytes_max: int = 1 << 20) -> Line:
    line = await place.line(await place.open())
    await line.send(*(f"b{number}" for number in range(count)))
    await line.store.close()
    return Line(place, await place.open(cache_bytes_max), line.queue)


async def test_recent_sends_are_not_read_from_disk(place: Place) -> None:
    line = await place.line(await place.open())
    await line.send("a", "b")
    await line.lease()
    assert line.store.statistics.cache_misses == 0
    assert line.store.statistics.cache_hits == 2


async def test_one_read_serves_the_receives_that_follow(place: Place) -> None:
    line = await on_disk(place, AHEAD_COUNT)
    bodies = [body for _ in range(AHEAD_COUNT // 8) for body in await line.bodies(8)]
    assert bodies == [f"b{number}" for number in range(AHEAD_COUNT)]
    assert line.store.statistics.cache_misses == 8


async def test_concurrent_receives_get_each_message_once(place: Place) -> None:
    line = await on_disk(place, 100)
    found = await asyncio.gather(*(line.bodies(5) for _ in range(20)))
    assert sorted(body for bodies in found for body in bodies) == sorted(
        f"b{number}" for number in range(100)
    )


async def test_cache_too_small_for_anything_still_delivers(place: Place) -> None:
    line = await on_disk(place, 30, cache_bytes_max=1)
    found = await asyncio.gather(*(line.bodies(10) for _ in range(3)))
    assert len({body for bodies in found for body in bodies}) == 30


async def test_cancelled_receive_leaves_nothing_leased(place: Place) -> None:
    line = await on_disk(place, 3)
    receiving = asyncio.create_task(line.lease())
    await asyncio.sleep(0)
    assert (await line.partition.counts(line.now_ms)).leased == 3
    receiving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await receiving
    assert await line.visible() == 3
    (first, *_) = await line.lease()
    assert first.receive_count == 1


async def test_cancelled_receive_wakes_those_who_wait(place: Place) -> None:
    line = await on_disk(place, 1)
    woken: list[int] = []
    line.partition.watch(lambda: woken.append(1))
    receiving = asyncio.create_task(line.lease())
    await asyncio.sleep(0)
    receiving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await receiving
    assert woken


async def test_message_purged_while_it_is_read_is_not_delivered(place: Place) -> None:
    line = await on_disk(place, 2)
    receiving = asyncio.create_task(line.partition.lease(Ask(10, LEASE_MS), line.now_ms))
    await asyncio.sleep(0)
    place.clock.advance(1)
    dropping = asyncio.create_task(line.partition.drop(line.now_ms, 10, line.now_ms))
    leased = await receiving
    assert await dropping == 2
    assert leased.messages == []
    assert line.store.statistics.damaged == 0


async def test_receive_that_wants_what_several_others_read_is_answered(place: Place) -> None:
    await on_disk(place, 40)
    reader, bodies = reading(place.database)
    reads = [asyncio.create_task(bodies.load([n], lambda _: [])) for n in range(1, 21)]
    await asyncio.sleep(0)
    found = await bodies.load(range(1, 21), lambda _: [])
    assert sorted(found) == list(range(1, 21))
    await asyncio.gather(*reads)
    reader.stop()
    reader.join()


async def test_many_receives_over_a_small_cache_are_all_answered(place: Place) -> None:
    line = await on_disk(place, 3_000, cache_bytes_max=100_000)

    async def consume() -> int:
        count = 0
        while leases := await line.lease(10):
            await line.settle(*(lease.receipt for lease in leases))
            count += len(leases)
        return count

    assert sum(await asyncio.gather(*(consume() for _ in range(16)))) == 3_000


async def test_read_that_has_to_be_repeated_does_not_outlast_the_store(place: Place) -> None:
    line = await place.line(await place.open())
    sequences = await line.send(*("x" * 1_000 for _ in range(3)))
    reader, bodies = reading(place.database)
    held = threading.Event()
    reader.look_up(lambda _: held.wait(TEST_SECONDS_MAX))
    loads = [asyncio.create_task(bodies.load([each], lambda _: sequences)) for each in sequences]
    await asyncio.sleep(0)
    reader.stop()
    held.set()
    first, *_, last = await asyncio.gather(*loads, return_exceptions=True)
    assert isinstance(first, dict)
    assert list(first) == sequences[:1]
    # It waited for the read of the first, which did not get as far as its message.
    assert isinstance(last, Draining)
    reader.join()
