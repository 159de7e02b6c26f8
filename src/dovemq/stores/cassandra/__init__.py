"""Apache Cassandra or ScyllaDB as the database of a shared store: logs and records.

    log       one row is one group; a segment is a partition of the table and is dropped whole
    segments  the segments of each log
    records   named values by compare-and-set: the catalogue, owners, heartbeats, heads of logs

`log.py` says which failures an answered group survives, `records.py` what a compare-and-set costs.
Nodes answer before they have synced to disk (`commitlog_sync: periodic`, the default): what was
answered survives the crash of processes, and the power cut of a minority of machines. With
`commitlog_sync: group` or `batch` it survives that of all.

A cluster whose disks are full stops nodes, which looks as if they were unreachable. `StoreFull` is
raised only if the guardrail `data_disk_usage_percentage_fail_threshold` is set; settles are then
refused too.

Works with Cassandra 4.0 or newer. It uses nothing that ScyllaDB lacks, but was not run on it: the
tables stay compressed there, and a keyspace with tablets needs a release that has compare-and-set
for them (else create the keyspace with tablets disabled before the first start).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.drivers import driver_missing

if TYPE_CHECKING:
    from dovemq.stores.cassandra.database import CassandraDatabase
    from dovemq.stores.cassandra.inspection import InspectedCassandra


async def open_database(location: CassandraLocation) -> "CassandraDatabase":
    """Connect, and create the keyspace and the tables if they are missing.

    Raises `StoreUnreachable` if it is worth trying again, and `StoreUnusable` if something must be
    changed first. Each of its few steps ends within `SCHEMA_SECONDS_MAX`.
    """
    try:
        # Only here: the base install has no driver.
        from dovemq.stores.cassandra.database import CassandraDatabase
    except ModuleNotFoundError as error:
        raise driver_missing("cassandra", error) from None
    return await CassandraDatabase.open(location)


def inspect_database(
    location: CassandraLocation, now_ms: Callable[[], int]
) -> "InspectedCassandra":
    """A client that looks at the cluster and changes nothing."""
    try:
        from dovemq.stores.cassandra.inspection import InspectedCassandra
    except ModuleNotFoundError as error:
        raise driver_missing("cassandra", error) from None
    return InspectedCassandra(location, now_ms)
