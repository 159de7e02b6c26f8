"""The ledger in PostgreSQL: a table of its own. Implements `core.ports.Ledger`."""

import msgspec

from dovemq.core.ledger import (
    LAST,
    PAGE_BYTES_MAX,
    LedgerAsk,
    LedgerEntry,
    LedgerPage,
    check_entry,
    cut,
)
from dovemq.stores.postgresql.connections import PostgresqlConnections
from dovemq.stores.postgresql.schema import PostgresqlStatements


class PostgresqlLedger:
    def __init__(
        self, connections: PostgresqlConnections, statements: PostgresqlStatements
    ) -> None:
        self._connections = connections
        self._statements = statements

    async def get(self, kind: str, name: str) -> LedgerEntry | None:
        rows = await self._connections.fetch(self._statements.ledger_get, kind, name)
        return LedgerEntry(*rows[0]) if rows else None

    async def put(self, entry: LedgerEntry) -> bool:
        check_entry(entry)
        columns = (entry.kind, entry.name, entry.value, entry.state, entry.type, entry.due_ms)
        if entry.version:
            statement = self._statements.ledger_replace
            rows = await self._connections.fetch(statement, *columns, entry.version)
        else:
            rows = await self._connections.fetch(self._statements.ledger_create, *columns)
        if rows:
            return True
        # Refused, unless an earlier attempt of this call was done and its answer was lost.
        newer = msgspec.structs.replace(entry, version=entry.version + 1)
        return await self.get(entry.kind, entry.name) == newer

    async def remove(self, entry: LedgerEntry) -> bool:
        key = (entry.kind, entry.name, entry.version)
        return bool(await self._connections.fetch(self._statements.ledger_remove, *key))

    async def page(self, ask: LedgerAsk) -> LedgerPage:
        rows = await self._connections.fetch(
            self._statements.ledger_page,
            ask.kind,
            ask.after,
            ask.prefix,
            ask.prefix + LAST,
            ask.state,
            ask.type,
            ask.count_max,
            PAGE_BYTES_MAX,
        )
        # A full page may be the last one, and a short one of long values is not.
        return cut([LedgerEntry(*row) for row in rows], ask.count_max, more=bool(rows))

    async def due(self, kind: str, until_ms: int, count_max: int) -> list[LedgerEntry]:
        rows = await self._connections.fetch(
            self._statements.ledger_due, kind, until_ms, count_max, PAGE_BYTES_MAX
        )
        return [LedgerEntry(*row) for row in rows]
