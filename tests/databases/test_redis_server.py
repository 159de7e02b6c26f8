"""One Redis server: what is refused at the start, full memory, lost scripts and connections."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
import redis

from dovemq.core.errors import (
    InvariantError,
    ReplicasMissing,
    StoreFull,
    StoreUnreachable,
    StoreUnusable,
)
from dovemq.stores.owned.logged.ports import Log
from dovemq.stores.redis_cluster import open_database, routing
from dovemq.stores.redis_cluster.database import RedisDatabase
from dovemq.stores.redis_cluster.location import parse_redis_url
from dovemq.stores.redis_cluster.log import PAGE_BYTES, REMOVED_MS, TRIM_ROWS_MAX
from dovemq.testing.local_cluster import ServerMissing
from tests.acceptance.programs import missing
from tests.databases.redis_server import LoneRedis
from tests.databases.world import KEEP_MS, pages, position, rows

GROUP = b"x" * 20_000
MEMORY_BYTES = 4 << 20
"""More than an empty server needs."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoneRedis]:
    try:
        with LoneRedis(tmp_path_factory.mktemp("redis"), {}) as started:
            yield started
    except ServerMissing as error:
        missing(str(error))


@pytest.fixture
def admin(server: LoneRedis) -> Iterator[redis.Redis]:
    """A session of an operator; data and settings are as they were at the start afterwards."""
    with redis.Redis(port=server.ports[0], protocol=2) as session:
        yield session
        session.config_set("maxmemory", "0")
        session.config_set("maxmemory-policy", "noeviction")
        session.replicaof("NO", "ONE")
        session.flushall()


@asynccontextmanager
async def opened(server: LoneRedis, parameters: str = "") -> AsyncIterator[RedisDatabase]:
    database = await open_database(parse_redis_url(f"{server.url}{parameters}"))
    try:
        yield database
    finally:
        await database.close()


async def test_server_that_is_in_no_cluster_holds_logs_and_records(
    server: LoneRedis, admin: redis.Redis
) -> None:
    async with opened(server, "?prefix=mine") as database:
        log = await database.open_log((7, 0), 1)
        await log.append(position(1, 0, 0), b"x", KEEP_MS)
        assert await database.records.put("queue", "a", b"x", 0)
        assert await rows(log) == [(position(1, 0, 0), b"x")]
    assert all(key.startswith(b"mine:{") for key in admin.scan_iter())


async def test_two_servers_without_a_cluster_are_refused(server: LoneRedis) -> None:
    with pytest.raises(StoreUnusable, match="not part of a cluster; name this one server alone"):
        await open_database(parse_redis_url(f"{server.url},127.0.0.1:1"))


async def test_server_that_does_not_run_is_named() -> None:
    with pytest.raises(StoreUnreachable, match=r"Error 111 connecting to 127\.0\.0\.1:1\b"):
        await open_database(parse_redis_url("redis://127.0.0.1:1"))


async def test_server_that_evicts_keys_is_refused(server: LoneRedis, admin: redis.Redis) -> None:
    admin.config_set("maxmemory-policy", "allkeys-lru")
    async with opened(server):
        pass
    admin.config_set("maxmemory", f"{1 << 30}")
    with pytest.raises(StoreUnusable, match=r"policy allkeys-lru\); set .* noeviction"):
        await open_database(parse_redis_url(server.url))
    admin.config_set("maxmemory-policy", "volatile-ttl")
    async with opened(server) as database:
        assert await database.records.all("queue") == []


async def test_replica_is_refused(server: LoneRedis, admin: redis.Redis) -> None:
    admin.replicaof("127.0.0.1", "1")
    with pytest.raises(StoreUnusable, match="is a replica; name its master"):
        await open_database(parse_redis_url(server.url))


async def test_keys_of_a_newer_release_are_refused(server: LoneRedis, admin: redis.Redis) -> None:
    async with opened(server):
        admin.set("dovemq:{records}:schema", "2")
    with pytest.raises(StoreUnusable, match="have version 2, this release knows 1"):
        await open_database(parse_redis_url(server.url))


async def test_missing_file_and_missing_replicas_are_warned_of(
    server: LoneRedis, admin: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        async with opened(server):
            assert caplog.messages == []
        admin.config_set("appendonly", "no")
        try:
            async with opened(server, "?wait=1"):
                assert [("appendonly off" in text) for text in caplog.messages] == [True, False]
                assert "0 replicas, so that writes fail until there are 1" in caplog.messages[1]
        finally:
            admin.config_set("appendonly", "yes")


async def test_write_without_its_replicas_is_not_answered(
    server: LoneRedis, admin: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "WAIT_MS_MAX", 10)
    async with opened(server, "?wait=1") as database:
        with pytest.raises(ReplicasMissing, match="0 of 1 replicas had the write after 10 ms"):
            await database.open_log((1, 0), 1)
        with pytest.raises(StoreUnreachable, match="0 of 1 replicas"):
            await database.records.put("queue", "a", b"x", 0)
        assert await database.records.get("queue", "a") is not None


async def test_full_server_takes_everything_but_groups_that_grow(
    server: LoneRedis, admin: redis.Redis
) -> None:
    async with opened(server) as database:
        log = await database.open_log((1, 0), 1)
        admin.config_set("maxmemory", f"{MEMORY_BYTES}")
        written = await _fill(log)
        with pytest.raises(StoreFull):
            await log.append(position(1, 0, written), GROUP, KEEP_MS)
        await log.append(position(1, 0, written - 1), GROUP, KEEP_MS)
        await log.append(position(1, 1, 0), b"settles", KEEP_MS, grow=False)
        await log.append(position(1, 1, 0), b"settles", KEEP_MS, grow=False)
        await log.append(position(1, 1, 0), b"settles", KEEP_MS)
        await log.set_bookmark(position(1, 1, 0))
        assert await database.records.put("heartbeat", "a", b"x", 0)
        assert await database.records.remove("heartbeat", "a", 1)
        assert await (await database.open_log((1, 0), 2)).bookmark() == position(1, 1, 0)
        async with opened(server) as started_now:
            newest = await started_now.open_log((1, 0), 3)
            await newest.trim(position(1, 1, 0))
            await newest.append(position(3, 0, 0), GROUP, KEEP_MS)
            assert await rows(newest) == [
                (position(1, 1, 0), b"settles"),
                (position(3, 0, 0), GROUP),
            ]


async def _fill(log: Log) -> int:
    """Append until memory is full, and answer the number of groups."""
    for slot in range(MEMORY_BYTES // len(GROUP) + 1):
        try:
            await log.append(position(1, 0, slot), GROUP, KEEP_MS)
        except StoreFull:
            return slot
    pytest.fail("memory is not full")


async def test_position_below_the_newest_one_is_a_bug_of_the_caller(
    server: LoneRedis, admin: redis.Redis
) -> None:
    async with opened(server) as database:
        log = await database.open_log((1, 0), 1)
        await log.append(position(1, 0, 5), b"x", KEEP_MS)
        with pytest.raises(InvariantError, match="after a higher one"):
            await log.append(position(1, 0, 4), b"y", KEEP_MS)
        with pytest.raises(InvariantError, match="two groups"):
            await log.append(position(1, 0, 5), b"y", KEEP_MS)
        assert await rows(log) == [(position(1, 0, 5), b"x")]


async def test_server_that_has_lost_its_scripts_is_given_them_again(
    server: LoneRedis, admin: redis.Redis
) -> None:
    async with opened(server) as database:
        log = await database.open_log((1, 0), 1)
        for slot in range(2):
            admin.script_flush()
            await log.append(position(1, 0, slot), b"x", KEEP_MS)
        assert len(await rows(log)) == 2


async def test_connections_that_the_server_has_closed_are_replaced(
    server: LoneRedis, admin: redis.Redis
) -> None:
    async with opened(server) as database:
        await asyncio.gather(*(database.records.get("queue", "a") for _ in range(5)))
        for connection in admin.client_list():
            if int(connection["id"]) != admin.client_id():
                admin.client_kill_filter(_id=connection["id"])
        # The event loop must have seen that they are closed.
        for _ in range(3):
            await asyncio.sleep(0.01)
        assert await database.records.put("queue", "a", b"x", 0)


async def test_more_calls_than_connections_wait_for_one(
    server: LoneRedis, admin: redis.Redis
) -> None:
    async with opened(server, "?connections=2") as database:
        puts = (database.records.put("queue", f"{n}", b"x", 0) for n in range(50))
        assert all(await asyncio.gather(*puts))
        assert len(admin.client_list()) <= 3


async def test_call_to_a_silent_server_ends_and_leaves_the_next_one_unharmed(
    server: LoneRedis, admin: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(server) as database:
        assert await database.records.put("queue", "a", b"old", 0)
        monkeypatch.setattr(routing, "CALL_SECONDS_MAX", 0.2)
        server.pause(0)
        try:
            with pytest.raises(StoreUnreachable, match=r"no answer within 0\.2 s"):
                await database.records.get("queue", "a")
        finally:
            server.resume(0)
        monkeypatch.undo()
        assert await database.records.put("queue", "a", b"new", 1)
        found = await database.records.get("queue", "a")
        assert found is not None
        assert found.value == b"new"


async def test_cancelled_call_leaves_no_answer_for_the_next_one(
    server: LoneRedis, admin: redis.Redis
) -> None:
    async with opened(server, "?connections=1") as database:
        for name in ("a", "b"):
            assert await database.records.put("queue", name, name.encode(), 0)
        for _ in range(20):
            call = asyncio.create_task(database.records.all("queue"))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            found = await database.records.get("queue", "b")
            assert found is not None
            assert found.value == b"b"


async def test_close_ends_calls_and_leaves_no_task_or_connection(
    server: LoneRedis, admin: redis.Redis
) -> None:
    before = asyncio.all_tasks()
    database = await open_database(parse_redis_url(server.url))
    calls = [asyncio.create_task(database.records.all("queue")) for _ in range(5)]
    await asyncio.sleep(0)
    await database.close()
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        assert outcome == [] or isinstance(outcome, StoreUnreachable)
    assert asyncio.all_tasks() == before
    for _ in range(100):
        if len(admin.client_list()) == 1:
            return
        await asyncio.sleep(0.01)
    pytest.fail("a connection is open")


async def test_pages_of_a_scan_are_bounded_in_bytes(server: LoneRedis, admin: redis.Redis) -> None:
    async with opened(server) as database:
        log = await database.open_log((1, 0), 1)
        for slot in range(60):
            await log.append(position(1, 0, slot), b"x" * (300_000 if slot > 5 else 10), KEEP_MS)
        found = await pages(log)
        assert sum(map(len, found)) == 60
        assert all(sum(len(group) for _, group in page) <= 1.2 * PAGE_BYTES for page in found)
        assert len(found) < 10


async def test_long_log_is_trimmed_in_steps(server: LoneRedis, admin: redis.Redis) -> None:
    async with opened(server) as database:
        log = await database.open_log((1, 0), 1)
        batch = admin.pipeline(transaction=False)
        for slot in range(3 * TRIM_ROWS_MAX):
            batch.xadd("dovemq:{1:0}:log", {"group": b"x"}, id=f"{position(1, 0, slot)}-1")
        batch.execute()
        await log.append(position(1, 1, 0), b"kept", KEEP_MS)
        admin.config_resetstat()
        await log.trim(position(1, 1, 0))
        assert await rows(log) == [(position(1, 1, 0), b"kept")]
        assert admin.info("commandstats")["cmdstat_xtrim"]["calls"] >= 4


async def test_lost_epoch_is_noted_again_by_its_owner(
    server: LoneRedis, admin: redis.Redis
) -> None:
    """A fail-over may lose the opening of a log that was answered."""
    async with opened(server) as database:
        log = await database.open_log((1, 0), 6)
        admin.hset("dovemq:{1:0}:head", "epoch", "5")
        await log.append(position(6, 0, 0), b"x", KEEP_MS)
        assert admin.hget("dovemq:{1:0}:head", "epoch") == b"6"
        admin.flushall()
        await log.append(position(6, 0, 1), b"y", KEEP_MS)
        assert admin.hget("dovemq:{1:0}:head", "epoch") == b"6"
        assert await rows(log) == [(position(6, 0, 1), b"y")]


async def test_note_of_a_removed_log_ends_by_itself(server: LoneRedis, admin: redis.Redis) -> None:
    async with opened(server) as database:
        log = await database.open_log((1, 0), 1)
        await log.append(position(1, 0, 0), b"x", KEEP_MS)
        assert admin.pttl("dovemq:{1:0}:head") == -1
        await database.remove_log((1, 0))
        assert 0 < admin.pttl("dovemq:{1:0}:head") <= REMOVED_MS
        assert not admin.exists("dovemq:{1:0}:log")
        await database.open_log((1, 0), 1)
        assert admin.pttl("dovemq:{1:0}:head") == -1
