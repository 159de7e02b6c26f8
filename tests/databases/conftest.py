"""Runs each sentence of the contract against every database.

A new database is one line of `DATABASES`. Its opener may ask for a server by a fixture. The server
may serve all tests of a worker of pytest, but no other worker: the stamp of the records belongs to
the whole database.
"""

from collections.abc import Callable, Iterator

import pytest
from _pytest.mark import ParameterSet

from dovemq.stores import cassandra, postgresql, redis_cluster
from dovemq.stores.cassandra.location import parse_cassandra_url
from dovemq.stores.owned.logged.ports import Database
from dovemq.stores.postgresql.location import parse_postgresql_url
from dovemq.stores.redis_cluster.location import parse_redis_url
from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_redis import LocalRedisCluster
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from tests.databases.world import DatabaseOpener, DatabaseWorld, Worlds
from tests.real_stores import new_directory, running


def _memory_opener(fences: bool) -> DatabaseOpener:
    state = MemoryDatabaseState(fences)

    async def opened() -> Database:
        return MemoryDatabase(state)

    return opened


def _memory(request: pytest.FixtureRequest) -> DatabaseOpener:
    return _memory_opener(fences=True)


def _memory_unfenced(request: pytest.FixtureRequest) -> DatabaseOpener:
    return _memory_opener(fences=False)


def _postgresql(request: pytest.FixtureRequest) -> DatabaseOpener:
    server: LocalPostgres = request.getfixturevalue("postgres_server")

    async def opened() -> Database:
        return await postgresql.open_database(parse_postgresql_url(server.url))

    return opened


def _cassandra(request: pytest.FixtureRequest) -> DatabaseOpener:
    cluster: LocalCassandra = request.getfixturevalue("cassandra")
    # All workers share the cluster, but not the stamp.
    worker = getattr(request.config, "workerinput", {}).get("workerid", "alone")
    location = parse_cassandra_url(cluster.url_of(f"contract_{worker}"))

    async def opened() -> Database:
        return await cassandra.open_database(location)

    return opened


def _redis_opener(request: pytest.FixtureRequest, parameters: str) -> DatabaseOpener:
    cluster: LocalRedisCluster = request.getfixturevalue("redis_cluster")

    async def opened() -> Database:
        return await redis_cluster.open_database(parse_redis_url(f"{cluster.url}{parameters}"))

    return opened


def _redis(request: pytest.FixtureRequest) -> DatabaseOpener:
    return _redis_opener(request, "")


def _redis_waiting(request: pytest.FixtureRequest) -> DatabaseOpener:
    return _redis_opener(request, "?wait=1&prefix=waiting")


OpenerOf = Callable[[pytest.FixtureRequest], DatabaseOpener]

FENCING: dict[str, OpenerOf] = {
    "memory": _memory,
    "postgresql": _postgresql,
    "redis": _redis,
    "redis-waiting": _redis_waiting,
}
"""Databases that refuse the append of an ended epoch."""

UNFENCED: dict[str, OpenerOf] = {"memory-unfenced": _memory_unfenced, "cassandra": _cassandra}
"""Databases that accept it."""

DATABASES = FENCING | UNFENCED

START_SECONDS_MAX = 600
"""The first test that needs Cassandra starts it."""


def _named(databases: dict[str, OpenerOf]) -> list[ParameterSet]:
    slow = pytest.mark.timeout(START_SECONDS_MAX)
    return [pytest.param(name, marks=slow if name == "cassandra" else ()) for name in databases]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[LocalPostgres]:
    """A server that tests may kill and restart."""
    with running(LocalPostgres(new_directory("postgres"))) as server:
        yield server


@pytest.fixture(params=_named(DATABASES))
async def world(request: pytest.FixtureRequest) -> Worlds:
    async with DatabaseWorld(DATABASES[request.param](request)) as opened:
        yield opened


@pytest.fixture(params=_named(FENCING))
async def fencing_world(request: pytest.FixtureRequest) -> Worlds:
    async with DatabaseWorld(FENCING[request.param](request)) as opened:
        yield opened


@pytest.fixture(params=_named(UNFENCED))
async def unfenced_world(request: pytest.FixtureRequest) -> Worlds:
    async with DatabaseWorld(UNFENCED[request.param](request)) as opened:
        yield opened
