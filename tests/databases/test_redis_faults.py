"""A Redis Cluster whose servers die, stop or hand over slots while logs and records are used."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from redis.crc import key_slot

from dovemq.core.errors import OwnerChanged, StoreUnreachable
from dovemq.stores.owned.logged.ports import Database, StoredRecord
from dovemq.stores.redis_cluster import open_database, routing
from dovemq.stores.redis_cluster.location import parse_redis_url
from dovemq.testing.local_redis import MASTERS, LocalRedisCluster
from tests.databases.world import KEEP_MS, position, rows

SECONDS_MAX = 300
"""The time in which a cluster has a new master, on a machine that is busy with other things."""


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    database = await open_database(parse_redis_url(url))
    try:
        yield database
    finally:
        await database.close()


async def repeated(call: Callable[[], Awaitable[object]]) -> list[str]:
    """Repeat a call until it is answered, as its callers do; the causes of the failures."""
    failures: list[str] = []
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            try:
                await call()
            except StoreUnreachable as error:
                failures.append(str(error))
                await asyncio.sleep(0.05)
            else:
                return failures


def master_of(cluster: LocalRedisCluster, tag: str) -> int:
    slot = key_slot(tag.encode())
    return next(
        node for node, led in cluster.masters().items() if any(slot in slots for slots in led)
    )


async def restored(cluster: LocalRedisCluster, node: int) -> None:
    await asyncio.to_thread(cluster.restart, node)


async def settled(cluster: LocalRedisCluster) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        while not await asyncio.to_thread(cluster.settled):
            await asyncio.sleep(0.1)


async def test_logs_are_spread_over_the_masters(own_redis: LocalRedisCluster) -> None:
    async with opened(f"{own_redis.url}?prefix=spread") as database:
        for queue in range(30):
            await database.open_log((queue, 0), 1)
        found = [own_redis.ask(node, "KEYS", "spread:*") for node in own_redis.masters()]
        assert len(found) == MASTERS
        assert all(found)


async def test_first_server_of_the_url_may_be_down(own_redis: LocalRedisCluster) -> None:
    url = own_redis.url.replace("//", "//127.0.0.1:1,")
    async with opened(f"{url}?prefix=first") as database:
        assert await database.records.all("queue") == []


async def test_appends_go_on_after_the_master_was_killed(own_redis: LocalRedisCluster) -> None:
    async with opened(f"{own_redis.url}?prefix=killed") as database:
        log = await database.open_log((1, 0), 1)
        written = [(position(1, 0, slot), b"%d" % slot) for slot in range(40)]
        for at, group in written[:20]:
            await log.append(at, group, KEEP_MS)
        victim = master_of(own_redis, "1:0")
        await asyncio.to_thread(own_redis.kill, victim)
        for at, group in written[20:]:
            await repeated(partial(log.append, at, group, KEEP_MS))
        await restored(own_redis, victim)
        assert [row for row in await rows(log) if row in written[20:]] == written[20:]
        with pytest.raises(OwnerChanged):
            await repeated(partial(database.open_log, (1, 0), 0))


async def test_promoted_master_without_a_replica_answers_no_write_that_must_wait(
    own_redis: LocalRedisCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(f"{own_redis.url}?wait=1&prefix=bereft") as database:
        log = await database.open_log((1, 0), 1)
        await log.append(position(1, 0, 0), b"before", KEEP_MS)
        monkeypatch.setattr(routing, "WAIT_MS_MAX", 100)
        victim = master_of(own_redis, "1:0")
        await asyncio.to_thread(own_redis.kill, victim)
        await repeated(log.bookmark)
        for _ in range(3):
            with pytest.raises(StoreUnreachable, match="0 of 1 replicas had the write"):
                await log.append(position(1, 0, 1), b"after", KEEP_MS)
        monkeypatch.undo()
        await restored(own_redis, victim)
        await repeated(partial(log.append, position(1, 0, 1), b"after", KEEP_MS))
        assert await rows(log) == [(position(1, 0, 0), b"before"), (position(1, 0, 1), b"after")]


async def test_repeated_write_waits_for_the_replica_that_lacks_the_first(
    own_redis: LocalRedisCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repeated call finds its write done; it must not be confirmed before it is replicated."""
    async with opened(f"{own_redis.url}?wait=1&prefix=lagging") as database:
        log = await database.open_log((1, 0), 1)
        monkeypatch.setattr(routing, "WAIT_MS_MAX", 100)
        stopped = [node for node in range(own_redis.nodes) if node not in own_redis.masters()]
        for node in stopped:
            own_redis.pause(node)
        try:
            for _ in range(2):
                with pytest.raises(StoreUnreachable, match="0 of 1 replicas"):
                    await log.append(position(1, 0, 0), b"x", KEEP_MS)
                with pytest.raises(StoreUnreachable, match="0 of 1 replicas"):
                    await database.records.put("queue", "a", b"x", 0)
        finally:
            for node in stopped:
                own_redis.resume(node)
        monkeypatch.undo()
        await repeated(partial(log.append, position(1, 0, 0), b"x", KEEP_MS))
        await repeated(partial(database.records.put, "queue", "a", b"x", 0))
        assert await rows(log) == [(position(1, 0, 0), b"x")]


async def test_repeated_append_makes_a_write_of_its_own_to_wait_for(
    own_redis: LocalRedisCluster,
) -> None:
    """From Redis 7.2 on, WAIT waits for writes of its own connection only."""

    def writes() -> int:
        told = str(own_redis.ask(master_of(own_redis, "1:0"), "INFO", "commandstats"))
        found = re.search(r"cmdstat_hset:calls=(\d+)", told)
        return int(found[1]) if found else 0

    async with opened(f"{own_redis.url}?wait=1&prefix=again") as database:
        log = await database.open_log((1, 0), 1)
        await log.append(position(1, 0, 0), b"x", KEEP_MS)
        before = writes()
        await log.append(position(1, 0, 0), b"x", KEEP_MS)
        assert writes() == before + 1


async def test_appends_go_on_after_the_master_has_stopped_to_answer(
    own_redis: LocalRedisCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "CALL_SECONDS_MAX", 1.0)
    async with opened(f"{own_redis.url}?prefix=silent") as database:
        log = await database.open_log((1, 0), 1)
        victim = master_of(own_redis, "1:0")
        own_redis.pause(victim)
        try:
            for slot in range(20):
                group = b"%d" % slot
                await repeated(partial(log.append, position(1, 0, slot), group, KEEP_MS))
            assert master_of(own_redis, "1:0") != victim
        finally:
            own_redis.resume(victim)
        await settled(own_redis)
        assert [group for _, group in await rows(log)] == [b"%d" % slot for slot in range(20)]


async def test_records_change_again_after_their_master_was_killed(
    own_redis: LocalRedisCluster,
) -> None:
    async with opened(f"{own_redis.url}?wait=1&prefix=records") as database:
        records = database.records
        assert await records.put("queue", "a", b"one", 0)
        stamp = await records.stamp()
        victim = master_of(own_redis, "records")
        await asyncio.to_thread(own_redis.kill, victim)
        await repeated(partial(records.get, "queue", "a"))
        assert await records.stamp() == stamp
        await restored(own_redis, victim)
        await repeated(partial(records.put, "queue", "a", b"two", 1))
        assert await records.all("queue") == [StoredRecord("a", b"two", 2)]
        assert await records.stamp() != stamp


async def test_slot_may_be_moved_under_a_log(own_redis: LocalRedisCluster) -> None:
    """Each append meets another state of the move: asked early, split, moved."""
    async with opened(f"{own_redis.url}?wait=1&prefix=moved") as database:
        log = await database.open_log((1, 0), 1)
        await log.append(position(1, 0, 0), b"0", KEEP_MS)
        slot = str(key_slot(b"1:0"))
        masters = own_redis.masters()
        source = master_of(own_redis, "1:0")
        target = next(node for node in masters if node != source)
        names = {node: str(own_redis.ask(node, "CLUSTER", "MYID")) for node in masters}
        own_redis.ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", names[source])
        own_redis.ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", names[target])
        await log.append(position(1, 0, 1), b"1", KEEP_MS)
        _migrate(own_redis, source, target, slot, "moved:{1:0}:head")
        with pytest.raises(StoreUnreachable, match="Multiple keys request during rehashing"):
            await log.append(position(1, 0, 2), b"2", KEEP_MS)
        _migrate(own_redis, source, target, slot)
        await log.append(position(1, 0, 2), b"2", KEEP_MS)
        assert len(await rows(log)) == 3
        for node in (target, source, *(other for other in masters if other != source)):
            own_redis.ask(node, "CLUSTER", "SETSLOT", slot, "NODE", names[target])
        await log.append(position(1, 0, 3), b"3", KEEP_MS)
        asked = [position(1, 0, slot) for slot in range(5)]
        assert list((await log.read(asked)).values()) == [b"0", b"1", b"2", b"3"]
        async with opened(f"{own_redis.url}?prefix=moved") as other:
            assert len(await rows(await other.open_log((1, 0), 2))) == 4


def _migrate(cluster: LocalRedisCluster, source: int, target: int, slot: str, *keys: str) -> None:
    """Move these keys, or all of the slot, to another master."""
    found = list(keys) or cluster.ask(source, "CLUSTER", "GETKEYSINSLOT", slot, "1000")
    assert isinstance(found, list)
    port = str(cluster.ports[target])
    words = ("MIGRATE", "127.0.0.1", port, "", "0", "5000", "KEYS", *map(str, found))
    assert cluster.ask(source, *words) == "OK"
