"""The database: one session, the records, and the logs that are opened."""

from dovemq.stores.cassandra.index_tables import (
    CassandraIndexTables,
    IndexStatements,
    prepare_index,
)
from dovemq.stores.cassandra.ledger import CassandraLedger
from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.cassandra.log import CassandraLog
from dovemq.stores.cassandra.records import CassandraRecords
from dovemq.stores.cassandra.schema import (
    OF_VERSIONS,
    bring_up_to_date,
    create_keyspace,
    create_tables,
    patiently,
)
from dovemq.stores.cassandra.session import (
    CassandraSession,
    CassandraStatements,
    StatementRefused,
    open_session,
)
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.shared_index.ports import IndexTables


class CassandraDatabase:
    def __init__(
        self, session: CassandraSession, statements: CassandraStatements, index: IndexStatements
    ) -> None:
        self.name = session.name
        self.records = CassandraRecords(session, statements)
        self.index_tables: IndexTables = CassandraIndexTables(session, index)
        self.ledger = CassandraLedger(session, statements)
        self._session = session
        self._statements = statements

    @classmethod
    async def open(cls, location: CassandraLocation) -> "CassandraDatabase":
        try:
            session = await open_session(location, location.keyspace)
        except StatementRefused:
            await _create_keyspace(location)
            session = await patiently(lambda: open_session(location, location.keyspace))
        try:
            version = await create_tables(session)
            # An older schema has no tables for the other statements yet.
            early = await patiently(lambda: session.prepare(OF_VERSIONS))
            records = CassandraRecords(session, early)
            await patiently(lambda: bring_up_to_date(session, records, version))
            statements = await patiently(session.prepare)
            index = await patiently(lambda: prepare_index(session))
            database = cls(session, statements, index)
        except BaseException:
            await session.close()
            raise
        return database

    async def open_log(self, place: PartitionKey, epoch: int) -> CassandraLog:
        log = self._log(place, epoch)
        await log.open()
        return log

    async def remove_log(self, place: PartitionKey) -> None:
        await self._log(place, 0).remove()

    async def close(self) -> None:
        await self._session.close()

    def _log(self, place: PartitionKey, epoch: int) -> CassandraLog:
        return CassandraLog(self._session, self._statements, self.records, place, epoch)


async def _create_keyspace(location: CassandraLocation) -> None:
    session = await open_session(location, None)
    try:
        await create_keyspace(session)
    finally:
        await session.close()
