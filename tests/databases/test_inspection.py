"""The diagnosis of real databases by `dovemq doctor --store`, which changes nothing there."""

import secrets
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from dovemq.bootstrap.inspecting import inspect_store
from dovemq.cluster.heartbeats import Heartbeats
from dovemq.cluster.sightings import FrontEndState
from dovemq.core.checks import Check
from dovemq.stores import cassandra as cassandra_store
from dovemq.stores import postgresql
from dovemq.stores import redis_cluster as redis_store
from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.owned.logged.ports import Database
from dovemq.stores.postgresql.location import PostgresqlLocation
from dovemq.stores.redis_cluster.location import RedisLocation
from dovemq.stores.urls import parse_store_url
from dovemq.testing.local_cassandra import LocalCassandra
from dovemq.testing.local_cluster import ServerMissing
from dovemq.testing.local_postgres import LocalPostgres
from dovemq.testing.local_redis import LocalRedisCluster
from tests.acceptance.programs import missing
from tests.databases.redis_server import LoneRedis

SECRET = "hunter2"
START_SECONDS_MAX = 600
NOWHERE = Path("/nowhere")
ENOUGH = "+@read +@write +@scripting +info +time +wait +asking +cluster|slots"
URLS: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "cassandra": lambda request: _cassandra_url(request.getfixturevalue("cassandra")),
    "postgresql": lambda request: _postgres_url(request.getfixturevalue("postgres_server")),
    "redis": lambda request: _redis_url(request.getfixturevalue("redis_cluster")),
}


def _cassandra_url(cluster: LocalCassandra) -> str:
    return cluster.url_of(f"seen_{secrets.token_hex(4)}")


def _postgres_url(server: LocalPostgres) -> str:
    return f"{server.url}?schema=seen_{secrets.token_hex(4)}"


def _redis_url(cluster: LocalRedisCluster) -> str:
    return f"{cluster.url}?prefix=seen_{secrets.token_hex(4)}"


async def _checks(url: str) -> dict[str, Check]:
    return {check.name: check for check in await inspect_store(parse_store_url(url, NOWHERE))}


async def _open(url: str) -> Database:
    location = parse_store_url(url, NOWHERE)
    if isinstance(location, CassandraLocation):
        return await cassandra_store.open_database(location)
    if isinstance(location, RedisLocation):
        return await redis_store.open_database(location)
    assert isinstance(location, PostgresqlLocation)
    return await postgresql.open_database(location)


@pytest.fixture(
    params=[
        pytest.param("cassandra", marks=pytest.mark.timeout(START_SECONDS_MAX)),
        "postgresql",
        "redis",
    ]
)
def url(request: pytest.FixtureRequest) -> str:
    return URLS[request.param](request)


async def test_database_without_a_schema_can_be_used_and_gets_none(url: str) -> None:
    for _ in range(2):
        checks = await _checks(url)
        assert {check.state for check in checks.values()} <= {"ok", "weak"}
        assert checks["schema"].found.startswith("none yet")
        assert checks["front ends"].found == "none"


async def test_rights_schema_and_front_ends_of_a_store_in_use_are_shown(url: str) -> None:
    database = await _open(url)
    try:
        beats = Heartbeats(database.records, 1, "10.0.0.7:9400", "0.9")
        await beats.beat(FrontEndState.SERVING)
        checks = await _checks(url)
    finally:
        await database.close()
    assert checks["schema"].found.startswith("version ")
    assert (checks["rights"].state, checks["rights"].found[:15]) == ("ok", "enough to serve")
    # The test sends one heartbeat and no more.
    assert checks["front ends"].state == "weak"
    assert "10.0.0.7:9400 (0.9)" in checks["front ends"].found
    clocks = [check for name, check in checks.items() if name.startswith("clock of ")]
    assert clocks
    assert all(check.state == "ok" for check in clocks)
    assert {"durability", "replication"} <= set(checks)


async def test_database_that_does_not_answer_is_broken() -> None:
    for url in ("postgresql://dove@127.0.0.1:1/queues", "redis://127.0.0.1:1"):
        [check] = (await _checks(url)).values()
        assert check.state == "broken"
        assert "cannot be reached" in check.found


@pytest.fixture
async def session(postgres_server: LocalPostgres) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres_server.url, ssl="prefer")
    yield connection
    connection.terminate()


NewRole = Callable[[str], Awaitable[str]]


@pytest.fixture
def new_role(postgres_server: LocalPostgres, session: asyncpg.Connection) -> NewRole:
    async def made(schema: str) -> str:
        """The URL of the schema for a new role without rights."""
        role = f"r_{uuid.uuid4().hex}"
        await session.execute(f"CREATE ROLE {role} LOGIN")
        return f"postgresql://{role}@127.0.0.1:{postgres_server.ports[0]}/dovemq?schema={schema}"

    return made


def _role_of(url: str) -> str:
    return url.removeprefix("postgresql://").partition("@")[0]


async def test_role_that_may_not_create_the_schema_is_broken(new_role: NewRole) -> None:
    url = await new_role("seen_nowhere")
    rights = (await _checks(url))["rights"]
    assert rights.state == "broken"
    assert "may not create the schema seen_nowhere" in rights.found


async def test_missing_rights_of_a_role_are_named(
    postgres_server: LocalPostgres, session: asyncpg.Connection, new_role: NewRole
) -> None:
    schema = f"seen_{secrets.token_hex(4)}"
    await (await _open(f"{postgres_server.url}?schema={schema}")).close()
    url = await new_role(schema)
    await session.execute(f"GRANT USAGE ON SCHEMA {schema} TO {_role_of(url)}")
    tables = f"ALL TABLES IN SCHEMA {schema} TO {_role_of(url)}"
    await session.execute(f"GRANT SELECT, INSERT, UPDATE ON {tables}")
    rights = (await _checks(url))["rights"]
    assert rights.state == "broken"
    assert "lacks delete on groups, delete on heads" in rights.found
    await session.execute(f"GRANT DELETE ON {tables}")
    found = (await _checks(url))["rights"]
    assert (found.state, "needs its owner" in found.found) == ("ok", True)


async def test_commits_that_are_not_synced_are_weak(
    session: asyncpg.Connection, new_role: NewRole
) -> None:
    url = await new_role("seen_nowhere")
    await session.execute(f"ALTER ROLE {_role_of(url)} SET synchronous_commit = off")
    durability = (await _checks(url))["durability"]
    assert durability.state == "weak"
    assert "synchronous_commit is off" in durability.found


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoneRedis]:
    directory = tmp_path_factory.mktemp("redis")
    users = directory / "users.acl"
    users.write_text(
        f"user default on >{SECRET} ~* +@all\n"
        f"user dove on >{SECRET} ~dovemq:* {ENOUGH}\n"
        f"user half on >{SECRET} ~dovemq:* {ENOUGH} -xadd -hdel\n"
        f"user mute on >{SECRET} ~dovemq:* {ENOUGH} -@scripting\n"
    )
    settings = {"aclfile": str(users), "appendonly": "no"}
    try:
        with LoneRedis(directory / "server", settings) as server:
            yield server
    except ServerMissing as error:
        missing(str(error))


def _as(user: str, server: LoneRedis) -> str:
    return f"redis://{user}:{SECRET}@127.0.0.1:{server.ports[0]}"


async def test_user_with_the_documented_rights_is_enough(lone: LoneRedis) -> None:
    checks = await _checks(_as("dove", lone))
    assert checks["rights"].state == "ok"
    assert "not part of a cluster" in checks["servers"].found


@pytest.mark.parametrize(
    ("user", "expected"),
    [("half", "keys dovemq:*: HDEL, XADD"), ("mute", "scripts cannot be run")],
)
async def test_commands_that_a_user_may_not_run_are_named(
    lone: LoneRedis, user: str, expected: str
) -> None:
    rights = (await _checks(_as(user, lone)))["rights"]
    assert rights.state == "broken"
    assert expected in rights.found


async def test_redis_without_a_file_is_weak(lone: LoneRedis) -> None:
    durability = (await _checks(_as("default", lone)))["durability"]
    assert (durability.state, durability.found[:16]) == ("weak", "appendonly is no")


async def test_replicas_that_wait_asks_for_must_be_there(lone: LoneRedis) -> None:
    replication = (await _checks(f"{_as('dove', lone)}?wait=1"))["replication"]
    assert replication.state == "broken"
    assert "writes fail for want of replicas" in replication.found


async def test_wrong_password_is_broken_and_not_shown(lone: LoneRedis) -> None:
    url = _as("dove", lone).replace(SECRET, f"not-{SECRET}")
    [check] = (await _checks(url)).values()
    assert check.state == "broken"
    assert SECRET not in check.found


@pytest.mark.timeout(START_SECONDS_MAX)
async def test_nodes_of_cassandra_are_listed(cassandra: LocalCassandra) -> None:
    checks = await _checks(_cassandra_url(cassandra))
    assert checks["nodes"].state == "ok"
    for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
        assert address in checks["nodes"].found
