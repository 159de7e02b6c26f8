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

from typing import Final
from zlib import crc32

from dovemq.stores.cassandra.session import CassandraSession, CassandraStatements, Prepared
from dovemq.stores.cassandra.swaps import Swap, Swaps
from dovemq.stores.owned.logged.ports import STAMPED, StoredRecord

CATALOGUE_SHELVES: Final = 4
KIND_SHELVES: Final = 16
"""Both numbers are part of the schema: another number needs a migration."""
_CATALOGUE: Final = [f"catalogue {number}" for number in range(CATALOGUE_SHELVES)]
HEAD_KIND: Final = "_head"
SCHEMA_KIND: Final = "_schema"
_ALONE: Final = (HEAD_KIND, SCHEMA_KIND)


class CassandraRecords:
    def __init__(self, session: CassandraSession, statements: CassandraStatements) -> None:
        self._session = session
        self._statements = statements
        self._swaps = Swaps(session)

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
        return await self._write(statement, values, (shelf, kind, name), version, wanted)

    async def remove(self, kind: str, name: str, version: int) -> bool:
        if not version:
            return False
        shelf = shelf_of(kind, name)
        values: tuple[object, ...] = (shelf, kind, name, version)
        statement = self._statements.remove
        if kind in STAMPED:
            statement, values = self._statements.remove_stamped, (*values, shelf)
        return await self._write(statement, values, (shelf, kind, name), version, None)

    async def stamp(self) -> bytes:
        rows = await self._session.ask(self._statements.stamp, (_CATALOGUE,))
        stamps = sorted("{} {}".format(*row.as_tuple()) for row in rows)
        return "\n".join(stamps).encode()

    async def _write(
        self,
        statement: Prepared,
        values: tuple[object, ...],
        key: tuple[str, str, str],
        version: int,
        wanted: StoredRecord | None,
    ) -> bool:
        find = self._statements.get
        return await self._swaps.write(
            Swap(key[0], statement, values, version, wanted, find, key, _record)
        )


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
