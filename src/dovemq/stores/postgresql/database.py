"""Logs and records in PostgreSQL; the module of the package says what is promised."""

from collections.abc import AsyncIterator, Sequence
from typing import Final, Self

from dovemq.core.errors import OwnerChanged
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.ports import STAMPED, LogRow, StoredRecord
from dovemq.stores.postgresql.connections import PostgresqlConnections
from dovemq.stores.postgresql.ledger import PostgresqlLedger
from dovemq.stores.postgresql.location import PostgresqlLocation
from dovemq.stores.postgresql.schema import PostgresqlStatements, load_statements, migrate

PAGE_ROWS_MAX: Final = 512
PAGE_BYTES_MAX: Final = 1 << 20
"""A page of a scan ends with the group that exceeds this."""
TRIM_ROWS_MAX: Final = 512
"""Groups that one statement removes, so that it ends soon."""
POSITION_MAX: Final = (1 << 63) - 1


class PostgresqlDatabase:
    index_tables = None

    def __init__(
        self, name: str, connections: PostgresqlConnections, statements: PostgresqlStatements
    ) -> None:
        self.name = name
        self._connections = connections
        self._statements = statements
        self.records = PostgresqlRecords(connections, statements)
        self.ledger = PostgresqlLedger(connections, statements)

    @classmethod
    async def open(cls, location: PostgresqlLocation, call_s_max: float) -> Self:
        connections, statements = PostgresqlConnections(location, call_s_max), load_statements()
        await connections.start(lambda line: migrate(line, location, statements))
        return cls(str(location), connections, statements)

    async def open_log(self, place: PartitionKey, epoch: int) -> "PostgresqlLog":
        if not await self._connections.execute(self._statements.open_log, *place, epoch):
            raise OwnerChanged(*place)
        return PostgresqlLog(self._connections, self._statements, place, epoch)

    async def remove_log(self, place: PartitionKey) -> None:
        """The head goes first, so that no owner appends a group that nobody would remove."""
        await self._connections.execute(self._statements.remove_head, *place)
        await PostgresqlLog(self._connections, self._statements, place, 0).trim(POSITION_MAX)

    async def close(self) -> None:
        await self._connections.close()


class PostgresqlLog:
    def __init__(
        self,
        connections: PostgresqlConnections,
        statements: PostgresqlStatements,
        place: PartitionKey,
        epoch: int,
    ) -> None:
        self._connections = connections
        self._statements = statements
        self._place = place
        self._epoch = epoch

    async def append(self, position: int, group: bytes, keep_ms: int, *, grow: bool = True) -> None:
        """A full disk refuses every group: there is no reserve for those that free space."""
        written = await self._connections.execute(
            self._statements.append, *self._place, self._epoch, position, group
        )
        if not written:
            raise OwnerChanged(*self._place)

    async def read(self, positions: Sequence[int]) -> dict[int, bytes]:
        rows = await self._connections.fetch(self._statements.read, *self._place, positions)
        return {row[0]: row[1] for row in rows}

    async def scan(self, first: int) -> AsyncIterator[list[LogRow]]:
        limits = PAGE_ROWS_MAX, PAGE_BYTES_MAX
        while rows := await self._connections.fetch(
            self._statements.scan, *self._place, first, *limits
        ):
            yield [(row[0], row[1]) for row in rows]
            first = rows[-1][0] + 1

    async def trim(self, before: int) -> None:
        removed = TRIM_ROWS_MAX
        while removed == TRIM_ROWS_MAX:
            removed = await self._connections.execute(
                self._statements.trim, *self._place, before, TRIM_ROWS_MAX
            )

    async def bookmark(self) -> int:
        rows = await self._connections.fetch(self._statements.bookmark, *self._place)
        return int(rows[0][0]) if rows else 0

    async def set_bookmark(self, position: int) -> None:
        await self._connections.execute(
            self._statements.set_bookmark, *self._place, self._epoch, position
        )


class PostgresqlRecords:
    def __init__(
        self, connections: PostgresqlConnections, statements: PostgresqlStatements
    ) -> None:
        self._connections = connections
        self._statements = statements

    async def get(self, kind: str, name: str) -> StoredRecord | None:
        rows = await self._connections.fetch(self._statements.get, kind, name)
        return StoredRecord(*rows[0]) if rows else None

    async def all(self, kind: str) -> list[StoredRecord]:
        return [
            StoredRecord(*row) for row in await self._connections.fetch(self._statements.all, kind)
        ]

    async def put(self, kind: str, name: str, value: bytes, version: int) -> bool:
        statement = self._statements.replace if version else self._statements.create
        known = (version,) if version else ()
        arguments = (kind in STAMPED, kind, name, value, *known)
        if await self._connections.fetch(statement, *arguments):
            return True
        # Refused, unless an earlier attempt of this call was done and its answer was lost.
        return await self.get(kind, name) == StoredRecord(name, value, version + 1)

    async def remove(self, kind: str, name: str, version: int) -> bool:
        statement = self._statements.remove
        return bool(await self._connections.fetch(statement, kind in STAMPED, kind, name, version))

    async def stamp(self) -> bytes:
        rows = await self._connections.fetch(self._statements.stamp)
        return b"%d" % rows[0][0]
