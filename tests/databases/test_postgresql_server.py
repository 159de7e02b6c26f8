"""PostgreSQL: schema, fencing by row locks, bounds, and a server that is away, full or paused."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from dovemq.core.errors import OwnerChanged, StoreFull, StoreUnreachable, StoreUnusable
from dovemq.stores.owned.logged.ports import Log, StoredRecord
from dovemq.stores.postgresql import open_database
from dovemq.stores.postgresql.connections import PostgresqlConnections
from dovemq.stores.postgresql.database import PAGE_BYTES_MAX, TRIM_ROWS_MAX, PostgresqlDatabase
from dovemq.stores.postgresql.location import PostgresqlLocation, parse_postgresql_url
from dovemq.stores.postgresql.schema import load_migrations, load_statements
from dovemq.testing.local_postgres import LocalPostgres
from tests.databases.world import KEEP_MS, pages, position, rows

SECRET = "hunter2"
ATTEMPTS_MAX = 1_000
PLACE = (7, 0)

Fresh = PostgresqlLocation


@pytest.fixture
def fresh(postgres_server: LocalPostgres) -> Fresh:
    """A schema that does not exist yet."""
    name = f"t_{uuid.uuid4().hex}"
    return parse_postgresql_url(f"{postgres_server.url}?schema={name}&connections=4")


@pytest.fixture
async def database(fresh: Fresh) -> AsyncIterator[PostgresqlDatabase]:
    opened = await open_database(fresh)
    yield opened
    await opened.close()


@pytest.fixture
async def hasty(fresh: Fresh) -> AsyncIterator[PostgresqlDatabase]:
    """A client that waits a second for an answer."""
    opened = await open_database(fresh, call_s_max=1.0)
    yield opened
    await opened.close()


@pytest.fixture
async def session(
    fresh: Fresh, postgres_server: LocalPostgres
) -> AsyncIterator[asyncpg.Connection]:
    """A session of the administrator in the same schema."""
    settings = {"search_path": fresh.schema}
    connection = await asyncpg.connect(postgres_server.url, server_settings=settings)
    yield connection
    connection.terminate()


async def _until_blocked(session: asyncpg.Connection) -> None:
    """Wait until a statement of ours waits for a lock."""
    query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    for _ in range(ATTEMPTS_MAX):
        if await session.fetchval(query):
            return
    pytest.fail("no statement waits for a lock")


async def _works_again(call: Callable[[], Awaitable[None]]) -> int:
    """Repeat a call until it succeeds; the number of times that it failed."""
    for failed in range(ATTEMPTS_MAX):
        try:
            await call()
        except StoreUnreachable:
            await asyncio.sleep(0.01)
        else:
            return failed
    pytest.fail("the database does not come back")


async def test_many_processes_create_one_schema(fresh: Fresh) -> None:
    opened = await asyncio.gather(*(open_database(fresh) for _ in range(6)))
    await opened[0].records.put("owner", "x", b"1", 0)
    assert [await one.records.get("owner", "x") for one in opened] == [
        StoredRecord("x", b"1", 1)
    ] * 6
    for one in opened:
        await one.close()


async def test_schema_of_a_newer_release_is_refused(
    fresh: Fresh, database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    known = len(load_migrations())
    assert await session.fetchval(load_statements().find_version) == known
    await session.execute(load_statements().set_version, known + 1)
    with pytest.raises(StoreUnusable, match=f"version {known + 1}, this release knows {known}"):
        await open_database(fresh)


async def test_schemas_of_one_database_are_apart(
    database: PostgresqlDatabase, postgres_server: LocalPostgres
) -> None:
    other = await open_database(parse_postgresql_url(f"{postgres_server.url}?schema=apart"))
    log = await database.open_log(PLACE, 1)
    await log.append(position(1, 0, 0), b"x", KEEP_MS)
    assert await rows(await other.open_log(PLACE, 1)) == []
    await other.close()


async def test_user_needs_no_right_to_create_once_the_schema_is_there(
    fresh: Fresh, database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    role = f"r_{uuid.uuid4().hex}"
    await session.execute(f"CREATE ROLE {role} LOGIN")
    limited = _changed(fresh, user=role)
    with pytest.raises(StoreUnusable, match="permission denied"):
        await open_database(_changed(limited, schema=f"t_{uuid.uuid4().hex}"))
    await session.execute(
        f"GRANT USAGE ON SCHEMA {fresh.schema} TO {role};"
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {fresh.schema} TO {role}"
    )
    opened = await open_database(limited)
    assert await opened.records.put("queue", "x", b"", 0)
    await (await opened.open_log(PLACE, 1)).append(position(1, 0, 0), b"x", KEEP_MS)
    await opened.close()


def _changed(location: PostgresqlLocation, **changes: str) -> PostgresqlLocation:
    fields = {name: getattr(location, name) for name in location.__struct_fields__}
    return PostgresqlLocation(**{**fields, **changes})


async def test_database_or_user_that_does_not_exist_is_named(fresh: Fresh) -> None:
    for changes in ({"database": "absent"}, {"user": "absent"}):
        with pytest.raises(
            StoreUnusable, match=r"absent.* does not exist; correct the URL"
        ) as told:
            await open_database(_changed(fresh, password=SECRET, **changes))
        assert SECRET not in str(told.value)


async def test_database_of_another_encoding_is_refused(
    fresh: Fresh, session: asyncpg.Connection
) -> None:
    await session.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(StoreUnusable, match="is LATIN1; use a database with ENCODING UTF8"):
        await open_database(_changed(fresh, database="latin"))


async def test_standby_is_refused(fresh: Fresh, session: asyncpg.Connection) -> None:
    await session.execute("CREATE DATABASE readonly")
    await session.execute("ALTER DATABASE readonly SET default_transaction_read_only = on")
    with pytest.raises(StoreUnreachable, match="read-write"):
        await open_database(_changed(fresh, database="readonly"))


async def test_server_that_is_not_there_is_named_without_the_password(fresh: Fresh) -> None:
    away = parse_postgresql_url(f"postgresql://dove:{SECRET}@127.0.0.1:9/queues")
    with pytest.raises(StoreUnreachable, match=r"postgresql://dove@127\.0\.0\.1:9/queues") as told:
        await open_database(away)
    assert SECRET not in str(told.value)


async def test_new_owner_waits_for_an_append_under_way_and_sees_it(
    database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    """A session of the test plays the old owner, to stop between its write and its commit."""
    await database.open_log(PLACE, 1)
    await session.execute("BEGIN")
    append = load_statements().append
    assert await session.execute(append, *PLACE, 1, position(1, 0, 0), b"late") == "INSERT 0 1"
    opening = asyncio.create_task(database.open_log(PLACE, 2))
    await _until_blocked(session)
    assert not opening.done()
    await session.execute("COMMIT")
    assert await rows(await opening) == [(position(1, 0, 0), b"late")]


async def test_append_that_waits_for_a_new_epoch_is_refused(
    database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    log = await database.open_log(PLACE, 1)
    await session.execute("BEGIN")
    await session.execute(load_statements().open_log, *PLACE, 2)
    appending = asyncio.create_task(log.append(position(1, 0, 0), b"late", KEEP_MS))
    await _until_blocked(session)
    assert not appending.done()
    await session.execute("COMMIT")
    with pytest.raises(OwnerChanged):
        await appending
    assert await rows(log) == []


async def test_append_that_waits_for_a_new_bookmark_goes_on(
    database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    log = await database.open_log(PLACE, 1)
    await session.execute("BEGIN")
    await session.execute(load_statements().set_bookmark, *PLACE, 1, position(1, 1, 0))
    appending = asyncio.create_task(log.append(position(1, 1, 0), b"x", KEEP_MS))
    await _until_blocked(session)
    await session.execute("COMMIT")
    await appending
    assert await rows(log) == [(position(1, 1, 0), b"x")]


async def test_cancelled_call_leaves_its_place_to_others(
    database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    log = await database.open_log(PLACE, 1)
    await session.execute("BEGIN")
    await session.execute(load_statements().open_log, *PLACE, 1)
    for slot in range(8):
        appending = asyncio.create_task(log.append(position(1, 0, slot), b"x", KEEP_MS))
        await _until_blocked(session)
        appending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await appending
    await session.execute("COMMIT")
    await log.append(position(1, 0, 9), b"x", KEEP_MS)
    assert (position(1, 0, 9), b"x") in await rows(log)


async def test_connections_are_bounded(
    database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    counted = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dovemq'"
    logs = [await database.open_log((7, number), 1) for number in range(40)]
    calls = [log.append(position(1, 0, 0), b"x" * 10_000, KEEP_MS) for log in logs]
    *_, count = await asyncio.gather(*calls, session.fetchval(counted))
    assert count <= 4
    assert await session.fetchval(counted) <= 4


async def test_page_of_a_scan_is_bounded_in_bytes(database: PostgresqlDatabase) -> None:
    log = await database.open_log(PLACE, 1)
    group = b"x" * (PAGE_BYTES_MAX // 2)
    for slot in range(5):
        await log.append(position(1, 0, slot), group, KEEP_MS)
    assert [len(page) for page in await pages(log)] == [2, 2, 1]


async def test_statements_use_the_index_also_of_a_small_table(
    fresh: Fresh, database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    """The server keeps their plans while the table grows."""
    log = await database.open_log(PLACE, 1)
    for slot in range(20):
        await log.append(position(1, 0, slot), b"x", KEEP_MS)
    await session.execute("ANALYZE groups")
    connections, statements = PostgresqlConnections(fresh, 10.0), load_statements()
    limits: dict[str, list[object]] = {"read": [[1]], "scan": [0, 10, 10], "trim": [1, 10]}
    for name, more in limits.items():
        statement = f"EXPLAIN {getattr(statements, name)}"
        plan = "\n".join(row[0] for row in await connections.fetch(statement, *PLACE, *more))
        assert "using groups_pkey" in plan
        assert "Seq Scan" not in plan
    await connections.close()


async def test_trim_removes_more_groups_than_one_statement(
    database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    log = await database.open_log(PLACE, 1)
    await session.execute(
        "INSERT INTO groups SELECT $1, $2, $3::bigint + slot, 'x' FROM generate_series(0, $4) slot",
        *PLACE,
        position(1, 0, 0),
        3 * TRIM_ROWS_MAX,
    )
    await log.append(position(1, 1, 0), b"stays", KEEP_MS)
    await log.trim(position(1, 1, 0))
    assert await rows(log) == [(position(1, 1, 0), b"stays")]


async def test_full_disk_refuses_the_append_and_only_that(
    database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    """A trigger raises what the server raises when a file cannot grow."""
    log = await database.open_log(PLACE, 1)
    await log.append(position(1, 0, 0), b"before", KEEP_MS)
    await session.execute(
        """
        CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END$$;
        CREATE TRIGGER no_space BEFORE INSERT ON groups EXECUTE FUNCTION no_space()
        """
    )
    with pytest.raises(StoreFull):
        await log.append(position(1, 0, 1), b"refused", KEEP_MS)
    assert await rows(log) == [(position(1, 0, 0), b"before")]
    await session.execute("DROP TRIGGER no_space ON groups")
    await log.append(position(1, 0, 1), b"after", KEEP_MS)
    assert len(await rows(log)) == 2


async def test_calls_fail_while_the_server_is_down_and_then_work_again(
    database: PostgresqlDatabase, postgres_server: LocalPostgres
) -> None:
    log = await database.open_log(PLACE, 1)
    slots = range(4)
    for slot in slots:
        await log.append(position(1, 0, slot), b"%d" % slot, KEEP_MS)
    await asyncio.gather(*(log.read([position(1, 0, slot)]) for slot in slots))
    postgres_server.kill(0)
    for call in (log.bookmark, database.records.stamp, lambda: log.trim(0), lambda: rows(log)):
        with pytest.raises(StoreUnreachable):
            await call()
    postgres_server.restart(0)
    await _works_again(lambda: log.append(position(1, 0, 4), b"4", KEEP_MS))
    assert [group for _, group in await rows(log)] == [b"0", b"1", b"2", b"3", b"4"]


async def test_orderly_restart_costs_at_most_one_failure_of_each_connection(
    database: PostgresqlDatabase, postgres_server: LocalPostgres
) -> None:
    log = await database.open_log(PLACE, 1)
    await asyncio.gather(*(log.bookmark() for _ in range(8)))
    postgres_server.restart(0)
    failed = await _works_again(lambda: log.append(position(1, 0, 0), b"x", KEEP_MS))
    assert failed <= 4
    assert await rows(log) == [(position(1, 0, 0), b"x")]


async def test_call_on_a_paused_server_ends(
    hasty: PostgresqlDatabase, postgres_server: LocalPostgres
) -> None:
    log = await hasty.open_log(PLACE, 1)
    postgres_server.pause(0)
    try:
        with pytest.raises(StoreUnreachable, match="no answer within 1 s"):
            await log.append(position(1, 0, 0), b"x", KEEP_MS)
        with pytest.raises(StoreUnreachable):
            await hasty.records.stamp()
    finally:
        postgres_server.resume(0)
    await _works_again(lambda: log.append(position(1, 0, 0), b"x", KEEP_MS))
    assert await rows(log) == [(position(1, 0, 0), b"x")]


async def test_append_is_not_answered_before_the_synchronous_standby_has_it(
    hasty: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    """The server would report a commit as done if its wait for the standby were cancelled."""
    log = await hasty.open_log(PLACE, 1)
    await session.execute("SET synchronous_commit = local")
    await session.execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    await session.execute("SELECT pg_reload_conf()")
    try:
        refused = await _first_refused(log)
        with pytest.raises(StoreUnreachable):
            await log.append(refused, b"x", KEEP_MS)
        with pytest.raises(StoreUnreachable):
            await hasty.open_log(PLACE, 1)
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        assert await session.fetchval(waits) == 1
    finally:
        await session.execute("ALTER SYSTEM RESET synchronous_standby_names")
        await session.execute("SELECT pg_reload_conf()")
    await _works_again(lambda: log.append(refused, b"x", KEEP_MS))
    assert (await rows(log))[-1] == (refused, b"x")


async def _first_refused(log: Log) -> int:
    """Append until the server has noticed its new settings; the position that got no answer."""
    for slot in range(ATTEMPTS_MAX):
        try:
            await log.append(position(1, 0, slot), b"x", KEEP_MS)
        except StoreUnreachable:
            return position(1, 0, slot)
    pytest.fail("the server does not wait for its standby")


async def test_close_leaves_no_task_and_no_session(
    database: PostgresqlDatabase, session: asyncpg.Connection
) -> None:
    log = await database.open_log(PLACE, 1)
    await session.execute("BEGIN")
    await session.execute(load_statements().open_log, *PLACE, 1)
    appending = asyncio.create_task(log.append(position(1, 0, 0), b"x", KEEP_MS))
    await _until_blocked(session)
    await database.close()
    with pytest.raises(StoreUnreachable):
        await appending
    await session.execute("COMMIT")
    assert asyncio.all_tasks() == {asyncio.current_task()}
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dovemq'"
    for _ in range(ATTEMPTS_MAX):
        if not await session.fetchval(query):
            return
    pytest.fail("a session is left")
