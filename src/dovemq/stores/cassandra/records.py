"""Records by compare-and-set (lightweight transactions), and their places in the table.

A *shelf* is a partition of the table, and what one compare-and-set can contend with:

- The catalogue (`STAMPED`) has few shelves, since `stamp` reads a number of each of them, which
  changes in the same compare-and-set as the record.
- Every other kind has more, so that front ends which take over many partitions, or renew their
  heartbeats, seldom meet.
- The head of a log has a shelf of its own.

One process has one compare-and-set under way for each shelf: others of its own would only make both
try again. `all` reads the shelves of a kind in one request. Plain reads at `QUORUM` see every write
that was answered, since it was committed at `QUORUM`. A removal whose answer was lost counts as
done if the record is gone, whoever has removed it.

Removed records are remembered for `gc_grace_seconds` of the table (10 days); a node that was down
for longer must be repaired before it comes back, or removed records come back with it. A read fails
when it meets 100,000 removed records: who removes more than 30,000 queues a day should lower
`gc_grace_seconds`.
"""

import asyncio
from typing import Final
from zlib import crc32

from msgspec import Struct

from dovemq.core.errors import StoreUnreachable
from dovemq.stores.cassandra.session import (
    SERIAL,
    CassandraSession,
    CassandraStatements,
    Prepared,
)
from dovemq.stores.owned.logged.ports import STAMPED, StoredRecord

CATALOGUE_SHELVES: Final = 4
KIND_SHELVES: Final = 16
"""Both numbers are part of the schema: another number needs a migration."""
_CATALOGUE: Final = [f"catalogue {number}" for number in range(CATALOGUE_SHELVES)]
HEAD_KIND: Final = "_head"
SCHEMA_KIND: Final = "_schema"
_ALONE: Final = (HEAD_KIND, SCHEMA_KIND)
ATTEMPTS_MAX: Final = 4
"""Compare-and-sets that are tried before an outcome is left unknown."""
TURNS: Final = 64
"""Locks for all shelves; two shelves that share one wait for each other without need."""
WRITE_SECONDS_MAX: Final = 15.0
"""A write ends within this time, the wait for its turn included."""


class _Swap(Struct, frozen=True):
    """A statement that writes a record if `version` is stored; the record is then `wanted`."""

    statement: Prepared
    values: tuple[object, ...]
    key: tuple[str, str, str]
    version: int
    wanted: StoredRecord | None


class CassandraRecords:
    def __init__(self, session: CassandraSession, statements: CassandraStatements) -> None:
        self._session = session
        self._statements = statements
        self._turns = [asyncio.Lock() for _ in range(TURNS)]

    async def get(self, kind: str, name: str) -> StoredRecord | None:
        key = (shelf_of(kind, name), kind, name)
        found = await self._session.ask(self._statements.get, key)
        return _record(found.first())

    async def all(self, kind: str) -> list[StoredRecord]:
        rows = await self._session.pages(self._statements.all, (shelves_of(kind), kind))
        return sorted((StoredRecord(*row) for row in rows), key=lambda record: record.name)

    async def put(self, kind: str, name: str, value: bytes, version: int) -> bool:
        stamped = kind in STAMPED
        statement = self._statements.put_stamped if stamped else self._statements.put
        shelf = shelf_of(kind, name)
        values = (value, version + 1, shelf, kind, name, version or None)
        wanted = StoredRecord(name, value, version + 1)
        return await self._write(_Swap(statement, values, (shelf, kind, name), version, wanted))

    async def remove(self, kind: str, name: str, version: int) -> bool:
        if not version:
            return False
        shelf = shelf_of(kind, name)
        values: tuple[object, ...] = (shelf, kind, name, version)
        statement = self._statements.remove
        if kind in STAMPED:
            statement, values = self._statements.remove_stamped, (*values, shelf)
        return await self._write(_Swap(statement, values, (shelf, kind, name), version, None))

    async def stamp(self) -> bytes:
        rows = await self._session.ask(self._statements.stamp, (_CATALOGUE,))
        stamps = sorted("{} {}".format(*row.as_tuple()) for row in rows)
        return "\n".join(stamps).encode()

    async def _write(self, swap: _Swap) -> bool:
        """Write in the turn of the record's shelf."""
        turn = self._turns[crc32(swap.key[0].encode()) % TURNS]
        try:
            async with asyncio.timeout(WRITE_SECONDS_MAX), turn:
                return await self._resolved(swap)
        except TimeoutError:
            raise StoreUnreachable(self._session.name, "a compare-and-set took too long") from None

    async def _resolved(self, swap: _Swap) -> bool:
        """Try until the outcome is known.

        When a compare-and-set was not applied, or its answer was lost, the stored record decides.
        A read at `SERIAL` ends an unfinished one, so that it is either seen there or will never be
        done. If others have written after a lost one, nobody can say whether it was done.
        """
        wanted, version = swap.wanted, swap.version
        is_lost = False
        for _ in range(ATTEMPTS_MAX):
            outcome = await self._session.swap(swap.statement, swap.values)
            is_lost |= outcome is None
            if outcome is not None:
                applied, stored = outcome
                if applied:
                    return True
                if not is_lost and (wanted is None or stored != wanted.version):
                    return False
            found = await self._session.ask(self._statements.get, swap.key, consistency=SERIAL)
            record = _record(found.first())
            if record == wanted:
                return True
            stored = record.version if record else 0
            if stored != version:
                if is_lost and stored != version + 1:
                    break
                return False
        raise StoreUnreachable(self._session.name, "others write the same record")


def shelf_of(kind: str, name: str) -> str:
    if kind in _ALONE:
        return f"{kind} {name}"
    shelves = shelves_of(kind)
    return shelves[crc32(name.encode()) % len(shelves)]


def shelves_of(kind: str) -> list[str]:
    if kind in STAMPED:
        return _CATALOGUE
    return [f"{kind} {number}" for number in range(KIND_SHELVES)]


def _record(row: object) -> StoredRecord | None:
    return StoredRecord(*row.as_tuple()) if row is not None else None  # type: ignore[attr-defined]
