"""PostgreSQL as the database of a shared store: logs of groups, and records.

One table holds the groups of all logs, one the epoch and the bookmark of each log, one the records.
An append checks the epoch in the statement that writes the group, so that the owner of an ended
epoch is refused by the database itself. It costs one round trip and one commit.

The server decides what an answered append survives, by its own settings:

    synchronous_commit = on     a crash of the server; also the loss of its machine if
                                `synchronous_standby_names` is set (on is the default)
    synchronous_commit = off    nothing that happened in the last moments before a crash: answered
                                groups, records and epochs of up to three times
                                `wal_writer_delay` (0.6 s by default) may be lost, always the newest
    fsync = off                 nothing at all

PostgreSQL removes nothing by age: `keep_ms` is not used. The owner of a partition lets messages
expire and trims the segments that hold none; the server's autovacuum gives the space back.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from dovemq.stores.drivers import driver_missing
from dovemq.stores.postgresql.location import PostgresqlLocation

if TYPE_CHECKING:
    from dovemq.stores.postgresql.database import PostgresqlDatabase
    from dovemq.stores.postgresql.inspection import InspectedPostgresql


CALL_S_MAX: Final = 10.0


async def open_database(
    location: PostgresqlLocation, call_s_max: float = CALL_S_MAX
) -> "PostgresqlDatabase":
    """Connect, and bring the schema to the newest version.

    This and every later call end within `call_s_max`; a trim of many groups is several calls.

    Raises `StoreUnreachable` if it is worth trying again, and `StoreUnusable` if something must be
    changed first.
    """
    try:
        # Only here: the base install has no driver.
        from dovemq.stores.postgresql.database import PostgresqlDatabase
    except ModuleNotFoundError as error:
        raise driver_missing("postgresql", error) from None
    return await PostgresqlDatabase.open(location, call_s_max)


def inspect_database(
    location: PostgresqlLocation, now_ms: Callable[[], int]
) -> "InspectedPostgresql":
    """A client that looks at the database and changes nothing."""
    try:
        from dovemq.stores.postgresql.inspection import InspectedPostgresql
    except ModuleNotFoundError as error:
        raise driver_missing("postgresql", error) from None
    return InspectedPostgresql(location, CALL_S_MAX, now_ms)
