"""The ledger in Cassandra: one row for each entry, on shelves by the hash of its name.

Implements `core.ports.Ledger`. A page reads a few entries of each shelf and merges them. Filters
are applied by the nodes, which read every entry for them.
"""

import math
from typing import Any, Final
from zlib import crc32

import msgspec

from dovemq.core.ledger import LAST, LedgerAsk, LedgerEntry, LedgerPage, check_entry, cut
from dovemq.stores.cassandra.session import CassandraSession, CassandraStatements, Prepared
from dovemq.stores.cassandra.swaps import Swap, Swaps

SHELVES: Final = 32
"""Part of the schema: another number needs a migration."""
SHELF_ROWS_LEAST: Final = 4
_SHELVES: Final = list(range(SHELVES))


class CassandraLedger:
    def __init__(self, session: CassandraSession, statements: CassandraStatements) -> None:
        self._session = session
        self._statements = statements
        self._swaps = Swaps(session)

    async def get(self, kind: str, name: str) -> LedgerEntry | None:
        key = (_shelf_of(name), kind, name)
        return _entry(kind, (await self._session.ask(self._statements.ledger_get, key)).first())

    async def put(self, entry: LedgerEntry) -> bool:
        check_entry(entry)
        newer = msgspec.structs.replace(entry, version=entry.version + 1)
        columns = (entry.value, entry.state, entry.type, entry.due_ms, newer.version)
        values = (*columns, *_key(entry), entry.version or None)
        return await self._write(entry, self._statements.ledger_put, values, newer)

    async def remove(self, entry: LedgerEntry) -> bool:
        if not entry.version:
            return False
        values = (*_key(entry), entry.version)
        return await self._write(entry, self._statements.ledger_remove, values, None)

    async def page(self, ask: LedgerAsk) -> LedgerPage:
        """Entries beyond the last one of a shelf that has more are left for the next page."""
        rows_max = SHELF_ROWS_LEAST + math.ceil(2 * ask.count_max / SHELVES)
        statements = self._statements
        after = ask.after if ask.after >= ask.prefix else ask.prefix
        values: list[object] = [_SHELVES, ask.kind, after, ask.prefix + LAST]
        if ask.state is None:
            statement = statements.ledger_page
            if ask.type is not None:
                statement = statements.ledger_page_of_type
        elif ask.type is None:
            statement = statements.ledger_page_of_state
        else:
            statement = statements.ledger_page_of_both
        values += [label for label in (ask.state, ask.type) if label is not None]
        rows = await self._session.pages(statement, (*values, rows_max))
        entries = [_entry_of(ask.kind, row) for row in rows]
        of_shelf: dict[int, list[str]] = {}
        for entry in entries:
            of_shelf.setdefault(_shelf_of(entry.name), []).append(entry.name)
        full = [max(names) for names in of_shelf.values() if len(names) == rows_max]
        if ask.after < ask.prefix and (first := await self.get(ask.kind, ask.prefix)):
            # The rows are above the prefix, which may be a name itself.
            entries += [first] if ask.wants(first) else []
        known = min(full, default=LAST)
        within = sorted(
            (entry for entry in entries if entry.name <= known), key=lambda each: each.name
        )
        return cut(within, ask.count_max, more=bool(full))

    async def due(self, kind: str, until_ms: int, count_max: int) -> list[LedgerEntry]:
        values = (_SHELVES, kind, until_ms, count_max)
        rows = await self._session.pages(self._statements.ledger_due, values)
        return [_entry_of(kind, row) for row in rows]

    async def _write(
        self,
        entry: LedgerEntry,
        statement: Prepared,
        values: tuple[object, ...],
        wanted: LedgerEntry | None,
    ) -> bool:
        key = _key(entry)
        return await self._swaps.write(
            Swap(
                f"ledger {key[0]}",
                statement,
                values,
                entry.version,
                wanted,
                self._statements.ledger_get,
                key,
                lambda row: _entry(entry.kind, row),
            )
        )


def _shelf_of(name: str) -> int:
    return crc32(name.encode()) % SHELVES


def _key(entry: LedgerEntry) -> tuple[int, str, str]:
    return (_shelf_of(entry.name), entry.kind, entry.name)


def _entry(kind: str, row: Any) -> LedgerEntry | None:
    return None if row is None else _entry_of(kind, row.as_tuple())


def _entry_of(kind: str, row: tuple[Any, ...]) -> LedgerEntry:
    name, value, state, type_, due_ms, version = row
    return LedgerEntry(kind, name, value, state, type_, due_ms, version)
