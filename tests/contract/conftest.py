"""Runs each sentence of the contract against every store.

Stores on real servers take longer, so an ordinary run asks them a part of the sentences, chosen by
name, and the same holds for queues that size themselves; with DOVETEST_CONTRACT=1 they are asked
all.
"""

import os
import random
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from dovemq.core.observing import Observer
from dovemq.core.ports import Store
from dovemq.stores import cassandra, postgresql, redis_cluster
from dovemq.stores.cassandra.location import parse_cassandra_url
from dovemq.stores.memory import MemoryStore
from dovemq.stores.owned.logged.ports import Database
from dovemq.stores.postgresql.location import parse_postgresql_url
from dovemq.stores.redis_cluster.location import parse_redis_url
from dovemq.stores.sqlite import open_store
from dovemq.testing.clock import ManualClock
from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_redis import LocalRedisCluster
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from dovemq.testing.memory_tables import MemoryIndexTables, ReplicaSet
from tests.contract.neighbours import NeighbourOpener
from tests.contract.shared import SharedOpener
from tests.contract.spread import (
    AUTO,
    SPREAD,
    AutoStore,
    SpreadOpener,
    SpreadStore,
    is_promised,
    settings_of,
)
from tests.contract.unowned import UNOWNED_NOT_PROMISED, is_unowned
from tests.contract.world import StoreOpener, World
from tests.link.linked import LinkedStore

CACHE_BYTES_MAX = 4_096
"""Small, so that the sentences read bodies from the cache and from the disk."""
WORKER_VARIABLE = "PYTEST_XDIST_WORKER"


def _memory(_: pytest.FixtureRequest, __: Path) -> StoreOpener:
    async def opened(clock: ManualClock, rng: random.Random, observer: Observer) -> Store:
        return MemoryStore(rng, b"receipt key of the contract", observer)

    return opened


def _sqlite(_: pytest.FixtureRequest, directory: Path) -> StoreOpener:
    async def opened(clock: ManualClock, rng: random.Random, observer: Observer) -> Store:
        return await open_store(
            directory, rng=rng, cache_bytes_max=CACHE_BYTES_MAX, clock=clock, observer=observer
        )

    return opened


def _logged(_: pytest.FixtureRequest, __: Path) -> StoreOpener:
    state = MemoryDatabaseState(fences=False)

    async def opened() -> Database:
        return MemoryDatabase(state)

    return SharedOpener(opened)


def _unowned(_: pytest.FixtureRequest, __: Path) -> StoreOpener:
    """Queues without an owner, over tables in memory."""
    state = MemoryDatabaseState(fences=False)
    replicas = ReplicaSet(random.Random(1), lambda: 0)

    async def opened() -> Database:
        database = MemoryDatabase(state)
        database.index_tables = MemoryIndexTables(replicas)
        return database

    return SharedOpener(opened)


def _cassandra(request: pytest.FixtureRequest, _: Path) -> StoreOpener:
    cluster: LocalCassandra = request.getfixturevalue("cassandra")
    keyspace = f"contract_{os.environ.get(WORKER_VARIABLE, 'alone')}"
    location = parse_cassandra_url(cluster.url_of(keyspace))
    return SharedOpener(lambda: cassandra.open_database(location))


def _redis(request: pytest.FixtureRequest, _: Path) -> StoreOpener:
    cluster: LocalRedisCluster = request.getfixturevalue("redis_cluster")
    location = parse_redis_url(f"{cluster.url}?prefix=contract")
    return SharedOpener(lambda: redis_cluster.open_database(location))


def _postgresql(request: pytest.FixtureRequest, _: Path) -> StoreOpener:
    server: LocalPostgres = request.getfixturevalue("postgres")
    location = parse_postgresql_url(f"{server.url}?schema=contract")
    return SharedOpener(lambda: postgresql.open_database(location))


def _linked(_: pytest.FixtureRequest, __: Path) -> StoreOpener:
    """The store in memory, owned by another front end and asked over a real link."""

    async def opened(clock: ManualClock, rng: random.Random, observer: Observer) -> Store:
        owner = MemoryStore(rng, b"receipt key of the contract", observer)
        return await LinkedStore(owner, clock).start()

    return opened


def _neighbours(_: pytest.FixtureRequest, __: Path) -> StoreOpener:
    return NeighbourOpener()


def _spread(inner: "OpenerOf", kind: type[SpreadStore] = SpreadStore) -> "OpenerOf":
    def opener(request: pytest.FixtureRequest, directory: Path) -> StoreOpener:
        return SpreadOpener(inner(request, directory), kind)

    return opener


OpenerOf = Callable[[pytest.FixtureRequest, Path], StoreOpener]
REAL: dict[str, OpenerOf] = {"cassandra": _cassandra, "redis": _redis, "postgresql": _postgresql}
SPREAD_REAL: dict[str, OpenerOf] = {
    f"{name} on {place}": _spread(opener, kind)
    for name, kind in ((SPREAD, SpreadStore), (AUTO, AutoStore))
    for place, opener in REAL.items()
}
AUTO_HERE: dict[str, OpenerOf] = {
    AUTO: _spread(_memory, AutoStore),
    f"{AUTO} on disk": _spread(_sqlite, AutoStore),
}
UNOWNED_REAL: dict[str, OpenerOf] = {
    "none on cassandra": _cassandra,
    "serial on cassandra": _cassandra,
}
PARTS: dict[str, int] = {
    **dict.fromkeys(REAL, 8),
    **dict.fromkeys(SPREAD_REAL, 32),
    **dict.fromkeys(UNOWNED_REAL, 16),
    **dict.fromkeys(AUTO_HERE, 4),
}
"""These stores are asked one of so many sentences in an ordinary run."""
DURABLE: dict[str, OpenerOf] = {
    "sqlite": _sqlite,
    "logged": _logged,
    "none": _unowned,
    "serial": _unowned,
    **UNOWNED_REAL,
    f"{SPREAD} on disk": _spread(_sqlite),
    f"{AUTO} on disk": AUTO_HERE[f"{AUTO} on disk"],
    **REAL,
    **SPREAD_REAL,
}
STORES: dict[str, OpenerOf] = {
    "memory": _memory,
    SPREAD: _spread(_memory),
    AUTO: AUTO_HERE[AUTO],
    "linked": _linked,
    "neighbours": _neighbours,
    **DURABLE,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out most sentences on some stores, and what spread queues do not promise."""
    items[:] = [item for item in items if _is_promised(item)]
    if os.environ.get("DOVETEST_CONTRACT"):
        return
    items[:] = [item for item in items if _is_asked(item)]


def _is_promised(item: pytest.Item) -> bool:
    sentence = getattr(item, "originalname", item.name)
    stores = _stores_of(item)
    if sentence in UNOWNED_NOT_PROMISED and any(map(is_unowned, stores)):
        return False
    return all(is_promised(sentence, store) for store in stores)


def _is_asked(item: pytest.Item) -> bool:
    parts = [PARTS[store] for store in _stores_of(item) if store in PARTS]
    return not parts or zlib.crc32(item.name.encode()) % max(parts) == 0


def _stores_of(item: pytest.Item) -> set[str]:
    callspec = getattr(item, "callspec", None)
    return set(map(str, callspec.params.values())) if callspec else set()


@pytest.fixture(params=STORES)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    opener = STORES[request.param](request, tmp_path / "data")
    async with World(opener, settings_of(request.param)) as opened:
        yield opened


@pytest.fixture(params=DURABLE)
async def durable_world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    opener = DURABLE[request.param](request, tmp_path / "data")
    async with World(opener, settings_of(request.param)) as opened:
        yield opened
