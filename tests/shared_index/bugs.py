"""Bugs that are planted into the protocol, to see that the schedules would find them."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from dovemq.core.drawing import IndexTuple
from dovemq.stores.shared_index import moving, partition
from dovemq.stores.shared_index.moving import PlainMoves, SerialMoves, TupleClaims, TupleMove
from dovemq.stores.shared_index.ports import BodyRow, Span
from dovemq.testing import memory_tables
from dovemq.testing.memory_tables import MemoryIndexTables

Plant = Callable[[pytest.MonkeyPatch], None]


def removes_before_it_inserts(patch: pytest.MonkeyPatch) -> None:
    async def change(self: PlainMoves, moves: Sequence[TupleMove]) -> list[TupleMove]:
        await self.remove([move.before for move in moves])
        await self.insert([move.after for move in moves])
        return list(moves)

    patch.setattr(PlainMoves, "change", change)


def marks_do_not_rise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_tables, "inserted_mark", lambda _: 1)
    patch.setattr(moving, "removed_mark", lambda _: 2)


def takes_a_body_that_is_not_seen_for_deleted(patch: pytest.MonkeyPatch) -> None:
    bodies = MemoryIndexTables.bodies

    async def hasty(
        self: MemoryIndexTables, queue: int, sequences: Sequence[int], *, sure: bool = False
    ) -> dict[int, BodyRow]:
        return {} if sure else await bodies(self, queue, sequences)

    patch.setattr(MemoryIndexTables, "bodies", hasty)


def closes_what_one_replica_shows_empty(patch: pytest.MonkeyPatch) -> None:
    read = MemoryIndexTables.read

    async def hasty(
        self: MemoryIndexTables, queue: int, bucket: int, span: Span, *, sure: bool = False
    ) -> list[IndexTuple]:
        return await read(self, queue, bucket, span)

    patch.setattr(MemoryIndexTables, "read", hasty)


def closes_the_current_bucket(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("dovemq.stores.shared_index.buckets.CLOSE_MS", -20_000)


def settles_without_a_note(patch: pytest.MonkeyPatch) -> None:
    async def nothing(
        self: MemoryIndexTables, queue: int, sequences: Sequence[int], keep_ms: int
    ) -> None:
        await asyncio.sleep(0)

    patch.setattr(MemoryIndexTables, "settle", nothing)


def claims_by_plain_writes(patch: pytest.MonkeyPatch) -> None:
    async def claim(self: SerialMoves, moves: Sequence[TupleMove]) -> TupleClaims:
        return await self._plain.claim(moves)

    patch.setattr(SerialMoves, "claim", claim)


def adopts_only_what_it_does_not_know(patch: pytest.MonkeyPatch) -> None:
    async def placed(self: partition.SharedIndexPartition, row: BodyRow, now_ms: int) -> bool:
        return True

    patch.setattr(partition.SharedIndexPartition, "_is_placed", placed)
