"""The ledger of the embedded store: written by the writer thread, read by the reader thread.

Implements `core.ports.Ledger`. Nothing of it is held in memory.
"""

import struct
import zlib
from collections.abc import Iterable
from typing import Any, Final

import apsw
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
from dovemq.stores.sqlite.reader import Reader
from dovemq.stores.sqlite.statements import Statements
from dovemq.stores.sqlite.writer import Writer

_NO_TIME: Final = -1
_pack: Final = struct.Struct("<2q").pack


class SqliteLedger:
    def __init__(self, writer: Writer, reader: Reader, sql: Statements) -> None:
        self._writer = writer
        self._reader = reader
        self._sql = sql

    async def get(self, kind: str, name: str) -> LedgerEntry | None:
        self._writer.check_usable()
        statement = self._sql.select_ledger

        def read(connection: apsw.Connection) -> LedgerEntry | None:
            rows = list(connection.execute(statement, (kind, name)))
            return LedgerEntry(*rows[0]) if rows else None

        return await self._reader.look_up(read)

    async def put(self, entry: LedgerEntry) -> bool:
        check_entry(entry)
        newer = msgspec.structs.replace(entry, version=entry.version + 1)
        key = (entry.kind, entry.name)
        columns = (entry.state, entry.type, entry.due_ms, newer.version, ledger_crc32(newer))
        if entry.version:
            statement = self._sql.update_ledger
            row: tuple[Any, ...] = (*columns, entry.value, *key, entry.version)
        else:
            statement, row = self._sql.insert_ledger, (*key, *columns, entry.value)

        def run(connection: apsw.Connection) -> bool:
            if connection.execute(statement, row).get is not None:
                return True
            held = connection.execute(self._sql.select_ledger, key).get
            return held is not None and LedgerEntry(*held) == newer

        return await self._written(run)

    async def remove(self, entry: LedgerEntry) -> bool:
        statement, row = self._sql.delete_ledger, (entry.kind, entry.name, entry.version)
        return await self._written(lambda line: line.execute(statement, row).get is not None)

    async def page(self, ask: LedgerAsk) -> LedgerPage:
        self._writer.check_usable()
        bounds = (ask.kind, ask.after, ask.prefix, ask.prefix + LAST)
        row = (*bounds, ask.state, ask.type, ask.count_max + 1)
        found = await self._reader.look_up(
            lambda line: _bounded(line.execute(self._sql.page_ledger, row))
        )
        return cut(found, ask.count_max)

    async def due(self, kind: str, until_ms: int, count_max: int) -> list[LedgerEntry]:
        self._writer.check_usable()
        row = (kind, until_ms, count_max)
        return await self._reader.look_up(
            lambda line: _bounded(line.execute(self._sql.due_ledger, row))
        )

    async def _written(self, run: Any) -> bool:
        done: bool = await self._writer.work(run, lambda _: None)
        return done


def _bounded(rows: Iterable[tuple[Any, ...]]) -> list[LedgerEntry]:
    """The entries up to the second one beyond the size of a page."""
    found: list[LedgerEntry] = []
    size = 0
    for row in rows:
        found.append(LedgerEntry(*row))
        if size > PAGE_BYTES_MAX:
            break
        size += len(found[-1].value)
    return found


def ledger_crc32(entry: LedgerEntry) -> int:
    due_ms = _NO_TIME if entry.due_ms is None else entry.due_ms
    words = "\0".join((entry.kind, entry.name, entry.state, entry.type))
    return zlib.crc32(entry.value, zlib.crc32(words.encode() + _pack(due_ms, entry.version)))


def ledger_row(entry: LedgerEntry) -> tuple[Any, ...]:
    """All columns of the table `ledger`, in order."""
    labels = (entry.kind, entry.name, entry.state, entry.type, entry.due_ms, entry.version)
    return (None, *labels, ledger_crc32(entry), entry.value)


def ledger_entry(values: Any) -> LedgerEntry | None:
    """The entry of a row of all columns without the number; None if its checksum is wrong."""
    kind, name, state, type_, due_ms, version, crc32, value = values
    texts = all(isinstance(text, str) for text in (kind, name, state, type_))
    if not texts or not isinstance(version, int) or not isinstance(value, bytes):
        return None
    if due_ms is not None and not isinstance(due_ms, int):
        return None
    entry = LedgerEntry(kind, name, value, state, type_, due_ms, version)
    return entry if crc32 == ledger_crc32(entry) else None
