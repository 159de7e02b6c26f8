"""Heartbeats of front ends and logs of partitions, as the shared database shows them."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Final

from dovemq.cluster.heartbeats import KIND, front_end_of
from dovemq.cluster.ownership import KIND as OWNER_KIND
from dovemq.cluster.ownership import owned_place, owner_of
from dovemq.cluster.sightings import LeaseTimes
from dovemq.stores import cassandra, postgresql, redis_cluster
from dovemq.stores.cassandra.location import parse_cassandra_url
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.ports import Database, Records
from dovemq.stores.postgresql.location import parse_postgresql_url
from dovemq.stores.redis_cluster.location import parse_redis_url

LOOK_SECONDS: Final = 0.05


class HeartbeatWatch:
    """Reads the record of a front end over and over. Times are those of `time.monotonic`.

    A heartbeat was written after the last reading that did not show it had begun. This earliest
    time counts here, so that a lease ends too early rather than too late, by the length of a
    reading and `LOOK_SECONDS` at most.
    """

    def __init__(self, records: Records, incarnation: int) -> None:
        self._records = records
        self._name = str(incarnation)
        self._version = 0
        self._looked_at = 0.0
        self.beats = 0
        """Heartbeats that were seen since the watch began, the first one not counted."""
        self.last_beat_at = 0.0
        self.dead_at: float | None = None
        """The time at which the record first showed that the front end was declared dead."""

    @property
    def lease_ends_at(self) -> float:
        """The time from which another front end that has seen the last heartbeat may take over."""
        return self.last_beat_at + LeaseTimes().silence_ms / 1_000

    async def run(self) -> None:
        while self.dead_at is None:
            await self._look()
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        before, self._looked_at = self._looked_at, time.monotonic()
        record = await self._records.get(KIND, self._name)
        if record is None or record.version == self._version:
            return
        if front_end_of(record).ended:
            self.dead_at = time.monotonic()
            return
        if self._version:
            self.beats += 1
            self.last_beat_at = before
        self._version = record.version

    async def await_beat(self) -> None:
        """Wait for the next heartbeat."""
        seen = self.beats
        while self.beats == seen:
            await asyncio.sleep(LOOK_SECONDS)


@contextlib.asynccontextmanager
async def watched(database: Database, incarnation: int) -> AsyncIterator[HeartbeatWatch]:
    watch = HeartbeatWatch(database.records, incarnation)
    running = asyncio.get_running_loop().create_task(watch.run())
    try:
        yield watch
    finally:
        running.cancel()
        await asyncio.wait([running])


async def only_partition(database: Database) -> PartitionKey:
    (record,) = await database.records.all(OWNER_KIND)
    return owned_place(record.name)


async def bytes_to_read(database: Database) -> int:
    """The size of what the next owner of the only partition has to read before it serves."""
    (record,) = await database.records.all(OWNER_KIND)
    # The same epoch again: for the owner this changes nothing.
    log = await database.open_log(owned_place(record.name), owner_of(record).epoch)
    size = 0
    async for page in log.scan(await log.bookmark()):
        size += sum(len(group) for _, group in page)
    return size


@contextlib.asynccontextmanager
async def opened(store: str, url: str) -> AsyncIterator[Database]:
    database = await _opened(store, url)
    try:
        yield database
    finally:
        await database.close()


async def _opened(store: str, url: str) -> Database:
    match store:
        case "redis":
            return await redis_cluster.open_database(parse_redis_url(url))
        case "cassandra":
            return await cassandra.open_database(parse_cassandra_url(url))
        case _:
            return await postgresql.open_database(parse_postgresql_url(url))
