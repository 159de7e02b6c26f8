"""The ways of Cassandra alone: schema, removals, expiry, lost answers of compare-and-sets."""

import asyncio
import contextlib
import logging

import pytest

from dovemq.core.errors import ReplicasMissing, StoreUnreachable, StoreUnusable
from dovemq.core.ledger import LedgerEntry
from dovemq.stores.cassandra import open_database
from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.cassandra.log import TTL_MARGIN_SECONDS
from dovemq.stores.cassandra.records import SCHEMA_KIND, CassandraRecords
from dovemq.stores.cassandra.schema import load_migrations
from dovemq.stores.cassandra.session import CassandraSession, Prepared, open_session
from dovemq.stores.owned.logged.ports import StoredRecord
from dovemq.testing.local_cassandra import LocalCassandra
from tests.databases.cassandra_client import connected, new_location, opened, parse_again
from tests.databases.world import KEEP_MS, pages, position, rows

ATTEMPTS_MAX = 50
CLIENTS = 4
INDEX_TABLES = {f"index_{each}" for each in ("bounds", "buckets", "claims", "messages", "samples")}
TABLES = {"log", "segments", "records", "ledger", "index_tuples", *INDEX_TABLES}
SMALL_GROUPS = 300
LARGE_BYTES = 1_300_000


@pytest.fixture(scope="module")
def location(cassandra: LocalCassandra) -> CassandraLocation:
    return new_location(cassandra)


async def _run_on(session: CassandraSession, address: str, cql: str) -> set[tuple[object, ...]]:
    """Run a select on one node, to which a new session may not yet be connected."""
    for _ in range(100):
        with contextlib.suppress(StoreUnreachable):
            return {row.as_tuple() for row in await session.run(cql, address)}
        await asyncio.sleep(0.1)
    pytest.fail(f"{address} does not answer")


async def test_many_clients_create_the_same_schema_at_the_same_time(
    cassandra: LocalCassandra,
) -> None:
    location = new_location(cassandra)
    databases = await asyncio.gather(*(open_database(location) for _ in range(CLIENTS)))
    for number, database in enumerate(databases):
        log = await database.open_log((1, number), 1)
        await log.append(position(1, 0, 0), b"x", KEEP_MS)
        await database.close()
    select = "SELECT table_name, id FROM system_schema.tables WHERE keyspace_name ="
    async with connected(location, None) as session:
        found = [
            await _run_on(session, address, f"{select} '{location.keyspace}'")
            for address in cassandra.addresses
        ]
    assert {name for name, _ in found[0]} == TABLES
    assert found[0] == found[1] == found[2]


async def test_keyspace_has_the_copies_that_the_url_asks_for(cassandra: LocalCassandra) -> None:
    location = new_location(cassandra, replication="2", datacenter="datacenter1")
    async with opened(location), connected(location, None) as session:
        select = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name ="
        found = (await session.run(f"{select} '{location.keyspace}'")).first().replication
    assert found["class"].endswith("NetworkTopologyStrategy")
    assert found["datacenter1"] == "2"


async def test_more_copies_than_nodes_are_warned_of(
    cassandra: LocalCassandra, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing can be written without a majority of the copies."""
    with (
        caplog.at_level(logging.WARNING, "dovemq"),
        pytest.raises(ReplicasMissing, match="QUORUM"),
    ):
        await open_database(new_location(cassandra, replication="9"))
    assert "replication=9, but datacenter datacenter1 has 3 node(s)" in caplog.text


async def test_unknown_datacenter_is_refused(cassandra: LocalCassandra) -> None:
    with pytest.raises(StoreUnusable, match=r"datacenter 'nowhere'; correct datacenter"):
        await open_database(new_location(cassandra, datacenter="nowhere"))


async def test_schema_of_a_newer_release_is_refused(cassandra: LocalCassandra) -> None:
    location = new_location(cassandra)
    newest = f"{len(load_migrations())}".encode()
    async with opened(location) as database:
        stored = await database.records.get(SCHEMA_KIND, "version")
        assert stored is not None
        assert stored.value == newest
        assert await database.records.put(SCHEMA_KIND, "version", b"99", stored.version)
    with pytest.raises(StoreUnusable, match="version 99, this release knows"):
        await open_database(location)


async def test_opening_that_was_interrupted_is_finished_by_the_next(
    cassandra: LocalCassandra,
) -> None:
    """The version is noted last."""
    location = new_location(cassandra)
    async with opened(location) as database:
        stored = await database.records.get(SCHEMA_KIND, "version")
        assert stored is not None
        await database.records.remove(SCHEMA_KIND, "version", stored.version)
    async with opened(location) as database:
        again = await database.records.get(SCHEMA_KIND, "version")
        assert again is not None
        assert again.value == stored.value


async def test_schema_of_an_older_release_is_brought_up_to_date(cassandra: LocalCassandra) -> None:
    """The first release with Cassandra had no ledger."""
    location = new_location(cassandra)
    async with opened(location) as database, connected(location, location.keyspace) as session:
        stored = await database.records.get(SCHEMA_KIND, "version")
        assert stored is not None
        await session.run("DROP TABLE ledger")
        assert await database.records.put(SCHEMA_KIND, "version", b"1", stored.version)
    async with opened(location) as database:
        assert await database.ledger.put(LedgerEntry("test", "a", b"x"))
        assert await database.ledger.get("test", "a") is not None


async def test_group_expires_some_time_after_it_may(location: CassandraLocation) -> None:
    async with opened(location) as database, connected(location, location.keyspace) as session:
        log = await database.open_log((1, 1), 1)
        await log.append(position(1, 0, 0), b"x", 90_500)
        # Other tests have written groups of other partitions.
        ask = (
            "SELECT ttl(content) AS ttl FROM log WHERE queue = 1 AND partition = 1 ALLOW FILTERING"
        )
        found = (await session.run(ask)).first().ttl
    assert 91 + TTL_MARGIN_SECONDS - 60 < found <= 91 + TTL_MARGIN_SECONDS


async def test_group_that_may_never_be_removed_has_the_longest_time(
    location: CassandraLocation,
) -> None:
    async with opened(location) as database:
        log = await database.open_log((1, 2), 1)
        await log.append(position(1, 0, 0), b"x", 10**15)
        assert await rows(log) == [(position(1, 0, 0), b"x")]


async def test_late_append_into_a_removed_segment_stays_dead(location: CassandraLocation) -> None:
    """The ended owner is answered; only the check of its lease keeps it from answering a client."""
    async with opened(location) as database:
        ended = await database.open_log((2, 1), 1)
        await ended.append(position(1, 0, 0), b"old", KEEP_MS)
        log = await database.open_log((2, 1), 2)
        await log.append(position(2, 0, 0), b"new", KEEP_MS)
        await log.trim(position(2, 0, 0))
        for segment in range(2):
            await ended.append(position(1, segment, 1), b"late", KEEP_MS)
        assert await ended.read([position(1, 0, 0), position(1, 0, 1)]) == {}
        assert await rows(log, position(2, 0, 0)) == [(position(2, 0, 0), b"new")]


async def test_bookmark_keeps_its_place_when_two_owners_set_it(location: CassandraLocation) -> None:
    async with opened(location) as database, opened(location) as other:
        logs = [await client.open_log((3, 1), 1) for client in (database, other)]

        async def set_in_the_end(each: int) -> None:
            for _ in range(ATTEMPTS_MAX):
                # The outcome is unknown after a slow answer; the call may be repeated.
                with contextlib.suppress(StoreUnreachable):
                    return await logs[each % 2].set_bookmark(position(1, each, 0))
            pytest.fail("the outcome was never known")

        await asyncio.gather(*map(set_in_the_end, range(10)))
        assert await logs[0].bookmark() == position(1, 9, 0)


async def test_scan_has_few_pages_of_small_groups_and_small_ones_of_large(
    location: CassandraLocation,
) -> None:
    async with opened(location) as database:
        small, large = [await database.open_log((4, number), 1) for number in range(2)]
        await asyncio.gather(
            *(small.append(position(1, 0, slot), b"x", KEEP_MS) for slot in range(SMALL_GROUPS))
        )
        for slot in range(8):
            await large.append(position(1, slot // 4, slot), bytes(LARGE_BYTES), KEEP_MS)
        assert [len(page) for page in await pages(small)] == [64, SMALL_GROUPS - 64]
        assert [len(page) for page in await pages(large)] == [4, 4]


async def test_cancelled_append_does_not_disturb_the_next(location: CassandraLocation) -> None:
    async with opened(location) as database:
        log = await database.open_log((5, 1), 1)
        for slot in range(20):
            task = asyncio.create_task(log.append(position(1, 0, slot), b"x", KEEP_MS))
            for _ in range(slot % 5):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        await log.append(position(1, 0, 20), b"y", KEEP_MS)
        assert (await rows(log))[-1] == (position(1, 0, 20), b"y")


class Forgetful:
    """A session that loses answers of compare-and-sets, as a broken connection does.

    `plan` has one letter for each: `d` for one that is done, `n` for one that never arrives, `.`
    for one that is answered.
    """

    def __init__(self, session: CassandraSession, plan: str) -> None:
        self._swap = session.swap
        self._plan = list(plan)

    async def swap(
        self, statement: Prepared, values: tuple[object, ...]
    ) -> tuple[bool, int] | None:
        fate = self._plan.pop(0) if self._plan else "."
        outcome = await self._swap(statement, values) if fate != "n" else None
        return outcome if fate == "." else None


async def _forgetful(
    location: CassandraLocation, plan: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[CassandraSession, CassandraRecords]:
    session = await open_session(location, location.keyspace)
    monkeypatch.setattr(session, "swap", Forgetful(session, plan).swap)
    return session, CassandraRecords(session, await session.prepare())


@pytest.mark.parametrize("plan", ["d", "n", "nd", "nnd", "nn."])
@pytest.mark.parametrize("kind", ["owner", "queue"])
async def test_lost_answer_of_a_write_is_found_out(
    location: CassandraLocation, kind: str, plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(location) as database:
        name = f"lost {plan}"
        session, records = await _forgetful(location, plan * 3, monkeypatch)
        assert await records.put(kind, name, b"a", 0)
        assert await records.put(kind, name, b"b", 1)
        assert await database.records.get(kind, name) == StoredRecord(name, b"b", 2)
        assert await records.remove(kind, name, 2)
        assert await database.records.get(kind, name) is None
        await session.close()


@pytest.mark.parametrize("plan", ["d", "n"])
async def test_lost_answer_of_a_refused_write_is_found_out(
    location: CassandraLocation, plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(location) as database:
        name = f"refused {plan}"
        await database.records.put("owner", name, b"other", 0)
        session, records = await _forgetful(location, plan, monkeypatch)
        assert not await records.put("owner", name, b"mine", 0)
        assert await database.records.get("owner", name) == StoredRecord(name, b"other", 1)
        await session.close()


async def test_lost_answer_that_others_have_written_over_stays_unknown(
    location: CassandraLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(location) as database:
        session, records = await _forgetful(location, "", monkeypatch)
        swap = session.swap

        async def overtaken(statement: Prepared, values: tuple[object, ...]) -> None:
            await swap(statement, values)
            await database.records.put("owner", "overtaken", b"theirs", 1)

        monkeypatch.setattr(session, "swap", overtaken)
        with pytest.raises(StoreUnreachable, match="unknown"):
            await records.put("owner", "overtaken", b"mine", 0)
        await session.close()


async def test_answers_that_are_always_lost_are_given_up(
    location: CassandraLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(location) as database:
        session, records = await _forgetful(location, "n" * 100, monkeypatch)
        with pytest.raises(StoreUnreachable):
            await records.put("owner", "given up", b"a", 0)
        assert await database.records.get("owner", "given up") is None
        await session.close()


async def test_user_without_tables_is_told_what_to_do(
    cassandra: LocalCassandra, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused statement of a step ends the opening; a refused optional one does not."""
    location = new_location(cassandra)
    broken = ["-- optional\nALTER TABLE nowhere WITH comment = '';", "CREATE TABLE x (a none);"]
    monkeypatch.setattr("dovemq.stores.cassandra.schema.load_migrations", lambda: broken)
    with pytest.raises(StoreUnusable, match="a table cannot be created"):
        await open_database(parse_again(location, replication="1"))
