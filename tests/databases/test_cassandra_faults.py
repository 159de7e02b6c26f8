"""A Cassandra cluster whose nodes die or stop while logs and records are used."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from dovemq.core.errors import StoreUnreachable
from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.owned.logged.ports import Database, Log
from dovemq.testing.local_cassandra import LocalCassandra
from tests.databases.cassandra_client import new_location, opened, parse_again
from tests.databases.world import KEEP_MS, position, rows

LOGS = 4
APPENDS = 150
FAULT_AFTER = 40
SEGMENT_GROUPS = 50
STEPS = 40
SECONDS_MAX = 300
"""Longer than any call may take on a machine that is busy with other things."""

Answered = dict[int, bytes]


@pytest.fixture
def location(own_cassandra: LocalCassandra) -> CassandraLocation:
    return new_location(own_cassandra)


async def _run_nodes(cluster: LocalCassandra, count: int) -> None:
    """Make so many nodes run. Tests leave nodes down, since a start takes long."""
    for node in sorted({*range(cluster.nodes)} - {*cluster.running})[
        : count - len(cluster.running)
    ]:
        await asyncio.to_thread(cluster.restart, node)
    for node in cluster.running[count:]:
        cluster.kill(node)


async def _append_all(log: Log, seed: int, answered: Answered, part_done: asyncio.Event) -> None:
    rng = random.Random(seed)
    for slot in range(APPENDS):
        at = position(1, slot // SEGMENT_GROUPS, slot)
        group = rng.randbytes(rng.randrange(1, 20_000))
        await log.append(at, group, KEEP_MS)
        answered[at] = group
        if slot == FAULT_AFTER:
            part_done.set()


async def _appended_through(database: Database, fault: Callable[[], None]) -> list[Answered]:
    """Append to several logs at once; the fault happens after a part of it."""
    answered: list[Answered] = [{} for _ in range(LOGS)]
    part_done = asyncio.Event()
    logs = [await database.open_log((1, number), 1) for number in range(LOGS)]

    async def harm() -> None:
        await part_done.wait()
        await asyncio.to_thread(fault)

    await asyncio.gather(
        harm(),
        *(_append_all(log, seed, answered[seed], part_done) for seed, log in enumerate(logs)),
    )
    return answered


async def _found_by_a_new_owner(location: CassandraLocation) -> list[Answered]:
    async with opened(location) as database:
        logs = [await database.open_log((1, number), 2) for number in range(LOGS)]
        return [dict(await rows(log)) for log in logs]


async def _until_it_works(call: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        while True:
            try:
                await call()
            except StoreUnreachable:
                await asyncio.sleep(0.1)
            else:
                return


async def test_no_append_fails_when_a_node_stops_answering(
    own_cassandra: LocalCassandra, location: CassandraLocation
) -> None:
    await _run_nodes(own_cassandra, 3)
    async with opened(location) as database:
        try:
            answered = await _appended_through(database, lambda: own_cassandra.pause(0))
        finally:
            own_cassandra.resume(0)
        assert await _found_by_a_new_owner(location) == answered


async def test_no_append_fails_and_no_group_is_missing_when_a_node_is_killed(
    own_cassandra: LocalCassandra, location: CassandraLocation
) -> None:
    await _run_nodes(own_cassandra, 3)
    async with opened(location) as database:
        answered = await _appended_through(database, lambda: own_cassandra.kill(1))
        assert await _found_by_a_new_owner(location) == answered


async def test_every_step_of_a_counter_is_counted_once_when_a_node_is_killed(
    own_cassandra: LocalCassandra, location: CassandraLocation
) -> None:
    """A compare-and-set whose answer was lost is neither done twice nor forgotten."""
    await _run_nodes(own_cassandra, 3)
    async with opened(location) as database, opened(location) as other:
        await database.records.put("owner", "counter", b"0", 0)
        outcomes: Counter[str] = Counter()

        async def count(client: Database, writer: int) -> None:
            for step in range(STEPS):
                if writer == 0 and step == STEPS // 4:
                    await asyncio.to_thread(own_cassandra.kill, 2)
                outcomes[await _raised(client, writer)] += 1

        await asyncio.gather(count(database, 0), count(other, 1))
        found = await database.records.get("owner", "counter")
        assert found is not None
        number = int(found.value.split()[0])
        assert found.version == number + 1
        assert outcomes["won"] <= number <= outcomes["won"] + outcomes["unknown"]
        assert outcomes["unknown"] < STEPS


async def _raised(client: Database, writer: int) -> str:
    try:
        found = await client.records.get("owner", "counter")
        assert found is not None
        value = b"%d by %d" % (int(found.value.split()[0]) + 1, writer)
        won = await client.records.put("owner", "counter", value, found.version)
    except StoreUnreachable:
        return "unknown"
    return "won" if won else "refused"


async def test_consistency_of_the_url_decides_what_an_append_needs(
    own_cassandra: LocalCassandra, location: CassandraLocation
) -> None:
    await _run_nodes(own_cassandra, 2)
    found: dict[str, bool] = {}
    for consistency in ("one", "quorum", "all"):
        async with opened(parse_again(location, consistency=consistency)) as database:
            log = await database.open_log((1, 1), 1)
            try:
                await log.append(position(1, 0, len(found)), b"x", KEEP_MS)
            except StoreUnreachable:
                found[consistency] = False
            else:
                found[consistency] = True
    assert found == {"one": True, "quorum": True, "all": False}


async def test_without_a_majority_calls_end_and_go_on_when_it_is_back(
    own_cassandra: LocalCassandra, location: CassandraLocation
) -> None:
    await _run_nodes(own_cassandra, 2)
    async with opened(location) as database:
        log = await database.open_log((1, 1), 1)
        await log.append(position(1, 0, 0), b"before", KEEP_MS)
        await _run_nodes(own_cassandra, 1)
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: log.append(position(1, 0, 1), b"without", KEEP_MS),
            lambda: rows(log),
            lambda: log.set_bookmark(position(1, 1, 0)),
            lambda: database.records.put("queue", "name", b"value", 0),
            lambda: database.records.all("queue"),
            lambda: database.records.stamp(),
        ]
        for call in calls:
            with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1"):
                async with asyncio.timeout(SECONDS_MAX):
                    await call()
        await _run_nodes(own_cassandra, 2)
        for call in calls:
            await _until_it_works(call)
        assert [group for _, group in await rows(log)] == [b"before", b"without"]
