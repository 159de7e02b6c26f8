"""Redis Cluster, or one Redis server, as the database of a shared store: logs and records.

The log of a partition is a stream, its epoch and its bookmark a hash in the same slot, so that
partitions spread over the masters. An append is one script call: it checks the epoch, and the owner
of an ended epoch is refused by the server itself. All records are in one slot: one master serves
the catalogue and the owners, and while it fails over none of them can change.

The data is in the memory of the servers. Their settings and `wait` decide what an answered write
survives:

    appendonly yes, everysec   a crash of the server process; after a power cut up to a second is
                               lost
    appendonly yes, always     also a power cut
    appendonly no              nothing but what the last snapshot holds; opening logs a warning
    wait=0                     a fail-over may lose the newest answered writes: those that the
                               replica had not received, usually milliseconds, more if it lags
    wait=n                     a write is answered when n replicas have it in memory. A fail-over
                               keeps it if one of these n is promoted, which is certain with as
                               many replicas for each master. Without n replicas every write
                               raises `StoreUnreachable` after `WAIT_MS_MAX`: a promoted master
                               without a replica refuses sends with 503 until one is back

A replica holds the state of its master at an earlier moment, so what a fail-over loses is always
the newest part of each slot. The log then goes on above the lost positions: an owner that goes on
appending leaves a gap, which replay does not mind. A lost change of the epoch, or a lost log, is
noted again by the next append of its owner.

A server that is full (`maxmemory`) refuses groups that grow, and takes everything else: settles,
records, bookmarks. Redis removes nothing of ours by age: `keep_ms` is not used.

Redis 7.0 or newer, or Valkey. No module and no command is used that Valkey lacks.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from dovemq.stores.drivers import driver_missing
from dovemq.stores.redis_cluster.location import RedisLocation

if TYPE_CHECKING:
    from dovemq.stores.redis_cluster.database import RedisDatabase
    from dovemq.stores.redis_cluster.inspection import InspectedRedis


async def open_database(location: RedisLocation) -> "RedisDatabase":
    """Connect, check the settings of every master, and note the version of the keys.

    Raises `StoreUnreachable` if it is worth trying again, and `StoreUnusable` if something must be
    changed first. Each of its few steps ends after `CALL_SECONDS_MAX`.
    """
    try:
        # Only here: the base install has no driver.
        from dovemq.stores.redis_cluster.database import RedisDatabase
    except ModuleNotFoundError as error:
        raise driver_missing("redis", error) from None
    return await RedisDatabase.open(location)


def inspect_database(location: RedisLocation, now_ms: Callable[[], int]) -> "InspectedRedis":
    """A client that looks at the servers and changes nothing."""
    try:
        from dovemq.stores.redis_cluster.inspection import InspectedRedis
    except ModuleNotFoundError as error:
        raise driver_missing("redis", error) from None
    return InspectedRedis(location, now_ms)
