"""The ledger in Cassandra: one row for each entry, on shelves by the hash of its name.

Implements `core.ports.Ledger`. A page reads a few entries of each shelf and merges them. A page by
state or type looks at a bounded number of labels and then reads the entries that it wants, so it
may have few or none although others follow.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Any, Final
from zlib import crc32

import msgspec

from dovemq.core.ledger import LAST, LedgerAsk, LedgerEntry, LedgerPage, check_entry, cut
from dovemq.stores.cassandra.session import CassandraSession, CassandraStatements, Prepared
from dovemq.stores.cassandra.swaps import Swap, Swaps

SHELVES: Final = 32
"""Part of the schema: another number needs a migration."""
SHELF_ROWS_LEAST: Final = 4
SHELF_LABELS: Final = 128
"""Labels of each shelf that a page by state or type looks at."""
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
        labelled = ask.state is not None or ask.type is not None
        rows_max = SHELF_ROWS_LEAST + math.ceil(2 * ask.count_max / SHELVES)
        rows_max = SHELF_LABELS if labelled else rows_max
        statement = self._statements.ledger_labels if labelled else self._statements.ledger_page
        after = ask.after if ask.after >= ask.prefix else ask.prefix
        values = (_SHELVES, ask.kind, after, ask.prefix + LAST, rows_max)
        rows = await self._session.pages(statement, values)
        last = _last_known([row[0] for row in rows], rows_max)
        rows = [row for row in rows if last is None or row[0] <= last]
        if labelled:
            names = sorted(row[0] for row in rows if _has(ask, row[1], row[2]))
            if len(names) > ask.count_max:
                last = names[ask.count_max - 1]
            entries = await self._entries(ask.kind, names[: ask.count_max])
        else:
            entries = [_entry_of(ask.kind, row) for row in rows]
        if ask.after < ask.prefix and (first := await self.get(ask.kind, ask.prefix)):
            # The rows are above the prefix, which may be a name itself.
            entries.append(first)
        wanted = sorted(filter(ask.wants, entries), key=lambda each: each.name)
        page = cut(wanted, ask.count_max)
        return LedgerPage(page.entries, last if page.next is None else page.next)

    async def _entries(self, kind: str, names: Sequence[str]) -> list[LedgerEntry]:
        """The entries of these names, without those that have gone meanwhile."""
        found = await asyncio.gather(*(self.get(kind, name) for name in names))
        return [each for each in found if each is not None]

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


def _last_known(names: Sequence[str], rows_max: int) -> str | None:
    """The name up to which all shelves are known, if some shelf may have more rows."""
    of_shelf: dict[int, list[str]] = {}
    for name in names:
        of_shelf.setdefault(_shelf_of(name), []).append(name)
    return min((max(each) for each in of_shelf.values() if len(each) == rows_max), default=None)


def _has(ask: LedgerAsk, state: str, type_: str) -> bool:
    return ask.state in (None, state) and ask.type in (None, type_)


def _shelf_of(name: str) -> int:
    return crc32(name.encode()) % SHELVES


def _key(entry: LedgerEntry) -> tuple[int, str, str]:
    return (_shelf_of(entry.name), entry.kind, entry.name)


def _entry(kind: str, row: Any) -> LedgerEntry | None:
    return None if row is None else _entry_of(kind, row.as_tuple())


def _entry_of(kind: str, row: tuple[Any, ...]) -> LedgerEntry:
    name, value, state, type_, due_ms, version = row
    return LedgerEntry(kind, name, value, state, type_, due_ms, version)
