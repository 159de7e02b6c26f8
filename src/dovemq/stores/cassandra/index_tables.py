"""The tables of queues without an owner. Implements `shared_index.ports.IndexTables`.

**Consistency.** That of the URL counts for reads and writes:

    one      writes are answered by one node, reads are asked of one: a read may miss what was
             written a moment ago, so that messages are delivered again after they were settled. A
             message that one node alone has taken is lost with that node.
    quorum   reads see what was answered. One node of three may fail.
    all      writes are answered by all nodes, reads are asked of one.

`sure` reads ask as many nodes as it takes to see every answered write. `Coordination=serial` uses
`QUORUM` at least. Compare-and-sets have rows of their own, which no other write touches.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from dovemq.core.drawing import IndexTuple
from dovemq.stores.cassandra.log import TTL_SECONDS_MAX
from dovemq.stores.cassandra.session import (
    ALL,
    ONE,
    QUORUM,
    SERIAL,
    CassandraSession,
    Prepared,
    Rows,
)
from dovemq.stores.shared_index.ports import (
    BodyRow,
    ClaimRow,
    IndexTables,
    Span,
    Swapped,
    TupleKey,
    inserted_mark,
)

TUPLES_AT_ONCE: Final = 500
"""Tuples that are read at a time when the index of a removed queue is removed."""
LAST_MS: Final = (1 << 63) - 1
_STEPS_MAX: Final = 1_000_000


class Levels(Struct, frozen=True):
    read: int
    sure: int
    write: int


LEVELS: Final = {
    "one": Levels(ONE, ALL, ONE),
    "quorum": Levels(QUORUM, QUORUM, QUORUM),
    "all": Levels(ONE, ONE, ALL),
}


class IndexStatements(Struct, frozen=True):
    """The prepared statements, each under its name in `index_statements.cql`."""

    put_body: Prepared
    body: Prepared
    settle: Prepared
    note_move: Prepared
    forget_body: Prepared
    insert: Prepared
    remove: Prepared
    find: Prepared
    read: Prepared
    drop_bucket: Prepared
    list_bucket: Prepared
    buckets: Prepared
    unlist_buckets: Prepared
    bound: Prepared
    raise_bound: Prepared
    claim: Prepared
    claim_row: Prepared
    sample: Prepared
    samples: Prepared
    node_clock: Prepared


async def prepare_index(session: CassandraSession) -> IndexStatements:
    return IndexStatements(**await session.prepare_file("index_statements.cql"))


class CassandraIndexTables:
    def __init__(
        self, session: CassandraSession, statements: IndexStatements, consistency: str | None = None
    ) -> None:
        self._session = session
        self._statements = statements
        self._consistency = consistency or session.location.consistency
        self._levels = LEVELS[self._consistency]

    def at_quorum(self) -> IndexTables:
        if self._consistency != "one":
            return self
        return CassandraIndexTables(self._session, self._statements, "quorum")

    async def node_ms(self) -> int:
        rows = await self._read(self._statements.node_clock, (), ONE)
        at = rows.first().at
        return round(at.timestamp() * 1_000) if isinstance(at, datetime) else int(at)

    async def put_bodies(self, queue: int, rows: Sequence[BodyRow], keep_ms: int) -> None:
        ttl = _ttl(keep_ms)
        await self._write_each(
            self._statements.put_body,
            [(queue, row.sequence, row.checksum, row.record, row.born_ms, ttl) for row in rows],
        )

    async def bodies(
        self, queue: int, sequences: Sequence[int], *, sure: bool = False
    ) -> dict[int, BodyRow]:
        level = self._levels.sure if sure else self._levels.read
        found = await asyncio.gather(
            *(self._read(self._statements.body, (queue, each), level) for each in sequences)
        )
        rows = [_body(row.as_tuple()) for rows in found for row in rows]
        # A note alone says nothing about the body.
        return {row.sequence: row for row in rows if row.settled or row.record is not None}

    async def note_move(self, queue: int, sequence: int, moved: IndexTuple, keep_ms: int) -> None:
        mark = inserted_mark(moved.generation)
        values = (_ttl(keep_ms), mark, moved.due_ms, moved.receive_count, queue, sequence)
        await self._write_each(self._statements.note_move, [values])

    async def settle(self, queue: int, sequences: Sequence[int], keep_ms: int) -> None:
        values = [(_ttl(keep_ms), queue, sequence) for sequence in sequences]
        await self._write_each(self._statements.settle, values)

    async def insert(
        self, queue: int, bucket: int, tuples: Sequence[IndexTuple], keep_ms: int
    ) -> None:
        ttl = _ttl(keep_ms)
        rows = [
            (
                queue,
                bucket,
                each.due_ms,
                each.sequence,
                each.generation,
                each.receive_count,
                each.first_received_ms,
                each.sent_ms,
                each.units,
                inserted_mark(each.generation),
                ttl,
            )
            for each in tuples
        ]
        await self._session.ask_batch(self._statements.insert, rows, self._levels.write)

    async def remove(self, queue: int, bucket: int, keys: Sequence[TupleKey]) -> None:
        rows = [(key.mark, queue, bucket, key.due_ms, key.sequence) for key in keys]
        await self._session.ask_batch(self._statements.remove, rows, self._levels.write)

    async def find(self, queue: int, bucket: int, due_ms: int, sequence: int) -> IndexTuple | None:
        values = (queue, bucket, due_ms, sequence)
        found = (await self._read(self._statements.find, values, self._levels.read)).first()
        return None if found is None else IndexTuple(*found.as_tuple())

    async def read(
        self, queue: int, bucket: int, span: Span, *, sure: bool = False
    ) -> list[IndexTuple]:
        level = self._levels.sure if sure else self._levels.read
        values = (queue, bucket, span.first_ms, span.last_ms, span.count_max)
        rows = await self._read(self._statements.read, values, level)
        return [IndexTuple(*row.as_tuple()) for row in rows]

    async def list_bucket(self, queue: int, bucket: int) -> None:
        await self._write_each(self._statements.list_bucket, [(queue, bucket)])

    async def buckets(self, queue: int, first: int) -> list[int]:
        rows = await self._read(self._statements.buckets, (queue, first), self._levels.read)
        return [row.bucket for row in rows]

    async def lower_bound(self, queue: int) -> int:
        rows = await self._read(self._statements.bound, (queue,), self._levels.read)
        found = rows.first()
        return 0 if found is None else found.bound

    async def raise_lower_bound(self, queue: int, bucket: int) -> None:
        await self._write_each(self._statements.raise_bound, [(bucket, bucket, queue)])

    async def drop_buckets(self, queue: int, buckets: Sequence[int]) -> None:
        values = [(queue, bucket) for bucket in buckets]
        await self._write_each(self._statements.drop_bucket, values)
        if buckets:
            await self._write_each(self._statements.unlist_buckets, [(queue, max(buckets) + 1)])

    async def sample(self, queue: int, claimed: IndexTuple, claim: int) -> None:
        values = (queue, claimed.sequence, claimed.generation, claim)
        await self._write_each(self._statements.sample, [values])

    async def samples(self, queue: int, sequence: int, generation: int) -> int:
        values = (queue, sequence, generation)
        return len(await self._read(self._statements.samples, values, self._levels.read))

    async def swap(
        self, queue: int, sequence: int, expected: ClaimRow | None, wanted: ClaimRow, keep_ms: int
    ) -> Swapped | None:
        before = (expected.generation, expected.due_ms) if expected else (None, None)
        values = (
            _ttl(keep_ms),
            wanted.generation,
            wanted.due_ms,
            wanted.receive_count,
            wanted.first_received_ms,
            wanted.claim,
            queue,
            sequence,
            *before,
        )
        row = await self._session.swap_row(self._statements.claim, values)
        if row is None:
            return None
        if row["[applied]"]:
            return Swapped(True)
        return Swapped(False, await self.claim_row(queue, sequence))

    async def claim_row(self, queue: int, sequence: int) -> ClaimRow | None:
        rows = await self._read(self._statements.claim_row, (queue, sequence), SERIAL)
        found = rows.first()
        return None if found is None else ClaimRow(*found.as_tuple())

    async def forget(self, queue: int) -> None:
        buckets = await self.buckets(queue, 0)
        for bucket in buckets:
            await self._forget_bodies(queue, bucket)
        await self.drop_buckets(queue, buckets)

    async def _forget_bodies(self, queue: int, bucket: int) -> None:
        first_ms = 0
        for _ in range(_STEPS_MAX):
            tuples = await self.read(queue, bucket, Span(first_ms, LAST_MS, TUPLES_AT_ONCE))
            values = [(queue, each.sequence) for each in tuples]
            await self._write_each(self._statements.forget_body, values)
            if len(tuples) < TUPLES_AT_ONCE or tuples[-1].due_ms == first_ms:
                return
            first_ms = tuples[-1].due_ms

    async def _read(self, statement: Prepared, values: Sequence[object], level: int) -> Rows:
        return await self._session.ask(statement, values, consistency=level)

    async def _write_each(self, statement: Prepared, values: Sequence[Sequence[object]]) -> None:
        level = self._levels.write
        await asyncio.gather(
            *(self._session.ask(statement, each, consistency=level) for each in values)
        )


def _ttl(keep_ms: int) -> int:
    return min(-(-keep_ms // 1_000), TTL_SECONDS_MAX)


def _body(row: tuple[Any, ...]) -> BodyRow:
    sequence, checksum, record, settled, born, moved, moved_count = row
    return BodyRow(
        sequence, checksum, record, bool(settled), born or 0, moved or 0, moved_count or 0
    )
