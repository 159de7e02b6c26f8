"""Several clients of one database, as several processes have them."""

from collections.abc import Awaitable, Callable

import pytest

from dovemq.core.errors import StoreUnreachable
from dovemq.stores.owned.logged.ports import Database, Log, StoredRecord
from tests.databases.world import KEEP_MS, DatabaseWorld, position, rows

Call = Callable[[Database, Log], Awaitable[object]]

CALLS: dict[str, Call] = {
    "append": lambda _, log: log.append(position(1, 0, 0), b"x", KEEP_MS),
    "read": lambda _, log: log.read([position(1, 0, 0)]),
    "scan": lambda _, log: rows(log),
    "trim": lambda _, log: log.trim(position(1, 1, 0)),
    "bookmark": lambda _, log: log.bookmark(),
    "set_bookmark": lambda _, log: log.set_bookmark(position(1, 1, 0)),
    "open_log": lambda database, _: database.open_log((1, 1), 1),
    "remove_log": lambda database, _: database.remove_log((1, 1)),
    "get": lambda database, _: database.records.get("owner", "x"),
    "all": lambda database, _: database.records.all("owner"),
    "put": lambda database, _: database.records.put("owner", "x", b"x", 0),
    "remove": lambda database, _: database.records.remove("owner", "x", 1),
    "stamp": lambda database, _: database.records.stamp(),
}


async def test_second_client_sees_the_groups_of_the_first(world: DatabaseWorld) -> None:
    place, other = world.place(), await world.client()
    log = await world.database.open_log(place, 1)
    await log.append(position(1, 0, 0), b"x", KEEP_MS)
    await log.set_bookmark(position(1, 0, 0))
    seen = await other.open_log(place, 1)
    assert await rows(seen) == [(position(1, 0, 0), b"x")]
    assert await seen.bookmark() == position(1, 0, 0)
    await log.trim(position(1, 1, 0))
    assert await rows(seen) == []


async def test_second_client_sees_the_records_of_the_first(world: DatabaseWorld) -> None:
    name, other = world.name(), await world.client()
    await world.records.put("queue", name, b"x", 0)
    assert await other.records.get("queue", name) == StoredRecord(name, b"x", 1)
    assert StoredRecord(name, b"x", 1) in await other.records.all("queue")
    assert await other.records.stamp() == await world.records.stamp()
    assert await other.records.remove("queue", name, 1)
    assert await world.records.get("queue", name) is None


async def test_everything_is_there_when_a_client_connects_later(world: DatabaseWorld) -> None:
    place, name = world.place(), world.name()
    log = await world.database.open_log(place, 1)
    await log.append(position(1, 0, 0), b"x", KEEP_MS)
    await world.records.put("owner", name, b"x", 0)
    await world.database.close()
    later = await world.client()
    assert await rows(await later.open_log(place, 1)) == [(position(1, 0, 0), b"x")]
    assert await later.records.get("owner", name) == StoredRecord(name, b"x", 1)


@pytest.mark.parametrize("call", CALLS)
async def test_call_after_close_is_refused(world: DatabaseWorld, call: str) -> None:
    client = await world.client()
    log = await client.open_log(world.place(), 1)
    await client.close()
    with pytest.raises(StoreUnreachable):
        await CALLS[call](client, log)


async def test_client_may_be_closed_twice_and_leaves_others_open(world: DatabaseWorld) -> None:
    client = await world.client()
    for _ in range(2):
        await client.close()
    assert await world.records.get("owner", world.name()) is None


async def test_database_has_a_name_for_people(world: DatabaseWorld) -> None:
    assert world.database.name
    assert "password" not in world.database.name
