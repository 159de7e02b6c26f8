"""TupleMoves of tuples: the only writes that could lose a message, in the only order that cannot.

A move inserts the new tuple, makes sure that it did not come too late, and only then removes the
old one. A crash in between leaves two tuples, which is a second delivery. The tuple of the highest
generation of a message is removed by nothing but its own successor, a settle, or the end of the
message's time: two front ends that move the same tuple leave one of the new ones at least.

`PlainMoves` does no more than that (Coordination=none). `SerialMoves` first changes the claim row
of the message by compare-and-set (Coordination=serial): of several moves of one tuple one succeeds.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from dovemq.core import limits
from dovemq.core.drawing import IndexTuple
from dovemq.core.errors import Busy
from dovemq.stores.shared_index.buckets import Buckets, bucket_of, is_late
from dovemq.stores.shared_index.ports import (
    FINAL,
    ClaimRow,
    IndexTables,
    TupleKey,
    removed_mark,
)
from dovemq.stores.shared_index.statistics import IndexStatistics

INSERTS_MAX: Final = 5
"""Attempts to insert a tuple in time."""
TUPLE_MARGIN_MS: Final = limits.DAY_MS
BODY_MARGIN_MS: Final = 2 * limits.DAY_MS
"""Bodies, and the notes that they are settled, outlive all tuples."""
CLAIM_MARGIN_MS: Final = limits.HOUR_MS
"""The time for which a claim row outlives its lease."""


def tuple_keep_ms(sent_ms: int, now_ms: int) -> int:
    return max(sent_ms + limits.RETENTION_MS.most + TUPLE_MARGIN_MS - now_ms, TUPLE_MARGIN_MS)


def body_keep_ms(sent_ms: int, now_ms: int) -> int:
    return max(sent_ms + limits.RETENTION_MS.most + BODY_MARGIN_MS - now_ms, BODY_MARGIN_MS)


class TupleMove(Struct, frozen=True):
    before: IndexTuple
    after: IndexTuple


class TupleClaims(Struct, frozen=True):
    """`won` are the moves that succeeded, perhaps to a later T. `unclaimed` are tuples that nobody
    has claimed: the database did not decide in time. All others belong to another front end."""

    won: Sequence[TupleMove]
    unclaimed: Sequence[IndexTuple] = ()


class TupleMoves(Protocol):
    async def claim(self, moves: Sequence[TupleMove]) -> TupleClaims:
        """Hide messages that are received."""

    async def change(self, moves: Sequence[TupleMove]) -> list[TupleMove]:
        """Move the tuples of leases that this caller holds; the moves that succeeded."""


class PlainMoves:
    def __init__(
        self,
        tables: IndexTables,
        queue: int,
        buckets: Buckets,
        now_ms: Callable[[], int],
        statistics: IndexStatistics,
    ) -> None:
        self._tables = tables
        self._queue = queue
        self._buckets = buckets
        self._now_ms = now_ms
        self._statistics = statistics

    async def claim(self, moves: Sequence[TupleMove]) -> TupleClaims:
        return TupleClaims(await self.change(moves))

    async def change(self, moves: Sequence[TupleMove]) -> list[TupleMove]:
        after = await self.insert([move.after for move in moves])
        await self.remove([move.before for move in moves])
        pairs = zip(moves, after, strict=True)
        return [msgspec.structs.replace(move, after=each) for move, each in pairs]

    async def insert(self, tuples: Sequence[IndexTuple]) -> list[IndexTuple]:
        """Insert tuples so that they are certain to be found; at a later T if it took too long."""
        inserted: dict[int, IndexTuple] = {}
        replaced: list[IndexTuple] = []
        wanted = list(tuples)
        for _ in range(INSERTS_MAX):
            await self._insert(wanted)
            inserted |= {each.sequence: each for each in wanted}
            now_ms = self._now_ms()
            late = [each for each in wanted if is_late(each.due_ms, now_ms)]
            if not late:
                if replaced:
                    await self.remove(replaced)
                self._buckets.inserted(list(inserted.values()))
                return [inserted[each.sequence] for each in tuples]
            replaced += late
            self._statistics.late += len(late)
            wanted = [
                msgspec.structs.replace(each, due_ms=now_ms, generation=each.generation + 1)
                for each in late
            ]
        raise Busy("The database answers too slowly to place a message")

    async def _insert(self, tuples: Sequence[IndexTuple]) -> None:
        await self._buckets.require([each.due_ms for each in tuples], self._now_ms)
        grouped: dict[int, list[IndexTuple]] = defaultdict(list)
        for each in tuples:
            grouped[bucket_of(each.due_ms)].append(each)
        now_ms = self._now_ms()
        keep_ms = max((tuple_keep_ms(each.sent_ms, now_ms) for each in tuples), default=0)
        insert = self._tables.insert
        await asyncio.gather(
            *(insert(self._queue, bucket, some, keep_ms) for bucket, some in grouped.items())
        )

    async def remove(self, tuples: Sequence[IndexTuple], *, final: bool = False) -> None:
        """Remove tuples that others have replaced; with `final` whatever may follow them."""
        keys = [
            TupleKey(each.due_ms, each.sequence, FINAL if final else removed_mark(each.generation))
            for each in tuples
        ]
        await self.remove_keys(keys)

    async def remove_keys(self, keys: Sequence[TupleKey]) -> None:
        grouped: dict[int, list[TupleKey]] = defaultdict(list)
        for key in keys:
            grouped[bucket_of(key.due_ms)].append(key)
        await asyncio.gather(
            *(self._tables.remove(self._queue, bucket, some) for bucket, some in grouped.items())
        )


class SerialMoves:
    """`new_claim` gives a random number of 63 bits, by which a claim recognises its own row."""

    def __init__(
        self,
        tables: IndexTables,
        queue: int,
        plain: PlainMoves,
        now_ms: Callable[[], int],
        new_claim: Callable[[], int],
        statistics: IndexStatistics,
    ) -> None:
        self._tables = tables
        self._queue = queue
        self._plain = plain
        self._now_ms = now_ms
        self._new_claim = new_claim
        self._statistics = statistics

    async def claim(self, moves: Sequence[TupleMove]) -> TupleClaims:
        outcomes = await asyncio.gather(*(self._claim(move) for move in moves))
        won = await self._follow([each for each in outcomes if isinstance(each, TupleMove)])
        return TupleClaims(won, [each for each in outcomes if isinstance(each, IndexTuple)])

    async def change(self, moves: Sequence[TupleMove]) -> list[TupleMove]:
        won = await asyncio.gather(*(self._swapped(move, _row_of(move.before)) for move in moves))
        pairs = zip(moves, won, strict=True)
        return await self._follow([move for move, row in pairs if row is True])

    async def _follow(self, won: list[TupleMove]) -> list[TupleMove]:
        """Move the tuples after the claim rows. A crash before leaves this to the next reader."""
        return await self._plain.change(won) if won else []

    async def _claim(self, move: TupleMove) -> TupleMove | IndexTuple | None:
        """The move that succeeded, the tuple if nobody has claimed it, or None."""
        before = move.before
        expected = _row_of(before) if before.generation else None
        found = await self._swapped(move, expected)
        if found is None and expected is not None:
            # The row has expired: nobody has claimed the message for long.
            found = await self._swapped(move, None)
        if found is True:
            return move
        if not isinstance(found, ClaimRow):
            return before
        self._statistics.refused += 1
        if found.due_ms > self._now_ms():
            await self._repair(before, found)
            return None
        return await self._claim_from(found, move)

    async def _claim_from(self, found: ClaimRow, move: TupleMove) -> TupleMove | IndexTuple | None:
        """Claim by the row, whose tuple its claimer may not have inserted; that lease is over."""
        after = msgspec.structs.replace(
            move.after,
            due_ms=max(move.after.due_ms, found.due_ms + 1),
            generation=max(found.generation, move.before.generation) + 1,
            receive_count=found.receive_count + 1,
            first_received_ms=found.first_received_ms,
        )
        renewed = TupleMove(move.before, after)
        outcome = await self._swapped(renewed, found)
        if outcome is not True:
            return move.before if outcome in (None, found) else None
        await self._plain.insert([after])
        await self._plain.remove([_tuple_of(found, move.before)])
        return renewed

    async def _repair(self, stale: IndexTuple, found: ClaimRow) -> None:
        """Put the tuple where the claim row says, as its claimer had to, and remove this one."""
        current = _tuple_of(found, stale)
        if current.place == stale.place or found.generation < stale.generation:
            return
        await self._plain.insert([current])
        await self._plain.remove([stale])

    async def _swapped(self, move: TupleMove, expected: ClaimRow | None) -> ClaimRow | bool | None:
        """True if the row was changed, else the row that is there; None if there is none."""
        after = move.after
        wanted = ClaimRow(
            after.generation,
            after.due_ms,
            after.receive_count,
            after.first_received_ms,
            self._new_claim(),
        )
        keep_ms = max(0, after.due_ms - self._now_ms()) + CLAIM_MARGIN_MS
        place = (self._queue, after.sequence)
        outcome = await self._tables.swap(*place, expected, wanted, keep_ms)
        if outcome is not None:
            return True if outcome.applied else outcome.found
        self._statistics.unknown += 1
        found = await self._tables.claim_row(*place)
        return True if found == wanted else found


def _row_of(found: IndexTuple) -> ClaimRow:
    """The claim row that belongs to this tuple. Its last field is not compared."""
    return ClaimRow(found.generation, found.due_ms, found.receive_count, found.first_received_ms, 0)


def _tuple_of(row: ClaimRow, like: IndexTuple) -> IndexTuple:
    return IndexTuple(
        row.due_ms,
        like.sequence,
        row.generation,
        row.receive_count,
        row.first_received_ms,
        like.sent_ms,
        like.units,
    )
