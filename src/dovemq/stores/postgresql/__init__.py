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

from typing import TYPE_CHECKING, Final

from dovemq.settings import SettingInvalid
from dovemq.stores.postgresql.location import PostgresqlLocation
from dovemq.system.extras import extra_missing

if TYPE_CHECKING:
    from dovemq.stores.postgresql.database import PostgresqlDatabase


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
        found = f"{error.name} is not installed"
        raise SettingInvalid("store", found, extra_missing("postgresql")) from None
    return await PostgresqlDatabase.open(location, call_s_max)
