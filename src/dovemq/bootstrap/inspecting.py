"""A store as `dovemq doctor` looks at it: nothing is created, changed or locked."""

import asyncio
from collections.abc import Callable
from typing import Final

from dovemq.cluster.heartbeats import KIND, front_end_of
from dovemq.cluster.sightings import ENDED, FrontEnd, LeaseTimes
from dovemq.core.checks import Check
from dovemq.core.errors import StoreUnreachable, StoreUnusable
from dovemq.settings import SettingInvalid
from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.inspection import InspectedDatabase
from dovemq.stores.owned.logged.ports import Records
from dovemq.stores.redis_cluster.location import RedisLocation
from dovemq.stores.urls import EmbeddedLocation, MemoryLocation, SharedLocation, StoreLocation
from dovemq.system.clock import SystemClock

LOOK_SECONDS: Final = LeaseTimes().heartbeat_ms * 2 / 1_000
"""The time between two looks, in which a living front end has sent a heartbeat."""


async def inspect_store(place: StoreLocation) -> list[Check]:
    """The checks of a store. One that fails ends them, and is the last."""
    if isinstance(place, MemoryLocation):
        return [Check("store", "weak", "the memory of the server: gone when it stops")]
    if isinstance(place, EmbeddedLocation):
        from dovemq.stores.sqlite.inspection import inspect_directory

        return list(inspect_directory(place.directory))
    checks: list[Check] = []
    try:
        await _inspect(_inspected(place, SystemClock().now_ms), checks)
    except StoreUnreachable as error:
        checks.append(Check(f"database {place}", "broken", error.found))
    except (SettingInvalid, StoreUnusable) as error:
        checks.append(Check(f"database {place}", "broken", str(error)))
    return checks


def _inspected(place: SharedLocation, now_ms: Callable[[], int]) -> InspectedDatabase:
    if isinstance(place, CassandraLocation):
        from dovemq.stores.cassandra import inspect_database as inspect_cassandra

        return inspect_cassandra(place, now_ms)
    if isinstance(place, RedisLocation):
        from dovemq.stores.redis_cluster import inspect_database as inspect_redis

        return inspect_redis(place, now_ms)
    from dovemq.stores.postgresql import inspect_database as inspect_postgresql

    return inspect_postgresql(place, now_ms)


async def _inspect(database: InspectedDatabase, checks: list[Check]) -> None:
    try:
        async for check in database.checks():
            checks.append(check)
        checks.append(await _front_ends(database.records))
    finally:
        await database.close()


async def _front_ends(records: Records | None) -> Check:
    before = await _present(records) if records is not None else []
    if records is None or not before:
        return Check("front ends", "ok", "none")
    await asyncio.sleep(LOOK_SECONDS)
    counts = {each.incarnation: each.heartbeat.count for each in before}
    after = await _present(records)
    silent = [each for each in after if each.heartbeat.count == counts.get(each.incarnation)]
    living = [each for each in after if each not in silent]
    found = f"{len(living)} alive{_listed(living)}"
    if silent:
        found += f"; {len(silent)} silent for {LOOK_SECONDS:g} s{_listed(silent)}"
    return Check("front ends", "weak" if silent else "ok", found)


async def _present(records: Records) -> list[FrontEnd]:
    found = map(front_end_of, await records.all(KIND))
    return [each for each in found if each.heartbeat.state not in ENDED]


def _listed(front_ends: list[FrontEnd]) -> str:
    names = (f"{each.address or 'no address'} ({each.heartbeat.release})" for each in front_ends)
    return f": {', '.join(names)}" if front_ends else ""
