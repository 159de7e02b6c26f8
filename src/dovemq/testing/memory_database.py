"""A database in memory: the interface of `stores/owned/logged/ports.py` in its plainest form.

Several clients may share one `MemoryDatabaseState`, as several processes share one real database.
No call waits for anything, so each is one step of the event loop. Nothing is removed by age.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from msgspec import Struct

from dovemq.core.errors import InvariantError, OwnerChanged, StoreFull, StoreUnreachable
from dovemq.core.ledger import LedgerEntry
from dovemq.stores.memory_ledger import MemoryLedger
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.ports import STAMPED, LogRow, StoredRecord
from dovemq.stores.owned.logged.positions import segment_of
from dovemq.stores.shared_index.ports import IndexTables

PAGE_ROWS_MAX: Final = 16
"""The rows of one page of a scan; few, so that a scan in a test has several pages."""


class LogState(Struct):
    """One partition: its rows by position, the newest epoch, the bookmark."""

    rows: dict[int, bytes] = {}
    epoch: int = 0
    bookmark: int = 0


class MemoryDatabaseState(Struct):
    """The contents of the database.

    `fences` False behaves as Cassandra does: the append of an old epoch is accepted. `full` True
    refuses what grows.
    """

    fences: bool = True
    full: bool = False
    logs: dict[PartitionKey, LogState] = {}
    records: dict[tuple[str, str], StoredRecord] = {}
    entries: dict[tuple[str, str], LedgerEntry] = {}
    changes: int = 0
    """The number of changes of records of the stamped kinds."""


class MemoryDatabase:
    index_tables: IndexTables | None = None

    def __init__(self, state: MemoryDatabaseState, name: str = "memory") -> None:
        self.name = name
        self.state = state
        self.is_closed = False
        self.records = MemoryRecords(self)
        self.ledger = MemoryLedger(self.require_open, state.entries)

    async def open_log(self, place: PartitionKey, epoch: int) -> "MemoryLog":
        self.require_open()
        log = self.state.logs.setdefault(place, LogState())
        if self.state.fences and epoch < log.epoch:
            raise OwnerChanged(*place)
        log.epoch = max(log.epoch, epoch)
        return MemoryLog(self, place, epoch)

    async def remove_log(self, place: PartitionKey) -> None:
        self.require_open()
        self.state.logs.pop(place, None)

    async def close(self) -> None:
        self.is_closed = True

    def require_open(self) -> None:
        if self.is_closed:
            raise StoreUnreachable(self.name, "this client was closed")


class MemoryLog:
    """The log of one partition for the owner of one epoch."""

    def __init__(self, database: MemoryDatabase, place: PartitionKey, epoch: int) -> None:
        self._database = database
        self._place = place
        self._epoch = epoch

    def _log(self) -> LogState:
        """The partition as it is now; an empty one, kept nowhere, after it was removed."""
        self._database.require_open()
        return self._database.state.logs.get(self._place, LogState())

    async def append(self, position: int, group: bytes, keep_ms: int, *, grow: bool = True) -> None:
        log, state = self._log(), self._database.state
        if state.fences and log.epoch != self._epoch:
            raise OwnerChanged(*self._place)
        if state.full and grow:
            raise StoreFull
        if log.rows.get(position, group) != group:
            raise InvariantError(f"two groups were appended at position {position}")
        state.logs.setdefault(self._place, log).rows[position] = bytes(group)

    async def read(self, positions: Sequence[int]) -> dict[int, bytes]:
        rows = self._log().rows
        return {position: rows[position] for position in positions if position in rows}

    async def scan(self, first: int) -> AsyncIterator[list[LogRow]]:
        while page := self._page(first):
            yield page
            first = page[-1][0] + 1

    def _page(self, first: int) -> list[LogRow]:
        rows = self._log().rows
        positions = sorted(position for position in rows if position >= first)
        return [(position, rows[position]) for position in positions[:PAGE_ROWS_MAX]]

    async def trim(self, before: int) -> None:
        rows = self._log().rows
        for position in [at for at in rows if segment_of(at) < segment_of(before)]:
            del rows[position]

    async def bookmark(self) -> int:
        return self._log().bookmark

    async def set_bookmark(self, position: int) -> None:
        log = self._log()
        if log.epoch == self._epoch:
            log.bookmark = max(log.bookmark, position)


class MemoryRecords:
    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def _state(self) -> MemoryDatabaseState:
        self._database.require_open()
        return self._database.state

    async def get(self, kind: str, name: str) -> StoredRecord | None:
        return self._state().records.get((kind, name))

    async def all(self, kind: str) -> list[StoredRecord]:
        records = self._state().records
        return [records[key] for key in sorted(records) if key[0] == kind]

    async def put(self, kind: str, name: str, value: bytes, version: int) -> bool:
        state, new = self._state(), StoredRecord(name, bytes(value), version + 1)
        stored = state.records.get((kind, name))
        if stored == new:
            return True
        if (stored.version if stored else 0) != version:
            return False
        state.records[kind, name] = new
        state.changes += kind in STAMPED
        return True

    async def remove(self, kind: str, name: str, version: int) -> bool:
        state = self._state()
        stored = state.records.get((kind, name))
        if stored is None or stored.version != version:
            return False
        del state.records[kind, name]
        state.changes += kind in STAMPED
        return True

    async def stamp(self) -> bytes:
        return b"%d" % self._state().changes
