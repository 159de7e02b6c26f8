"""Tables of queues without an owner in memory, with replicas that disagree for a while.

Implements `stores.shared_index.ports.IndexTables`. Each write reaches each replica at a time of its
own, and is answered when as many have it as the level asks; a read asks replicas at random. With a
`ReplicaNature` writes are late, answers are lost, and replicas are down: then a majority goes on. A
compare-and-set happens at one moment; its answer may be lost before or after.
"""

import asyncio
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from dovemq.core.drawing import IndexTuple
from dovemq.core.errors import ReplicasMissing, StoreUnreachable
from dovemq.stores.shared_index.ports import (
    FINAL,
    BodyRow,
    ClaimRow,
    Span,
    Swapped,
    TupleKey,
    inserted_mark,
)

REPLICAS: Final = 3
NAME: Final = "the tables in memory"

Cell = tuple[int, object]
"""A mark and a value; None is a removal."""
Partition = tuple[Hashable, ...]
T = TypeVar("T")


class ReplicaNature(Struct, frozen=True):
    """`delay_ms_max`: of each step of a call; `late_ms_max`: of a write to the other replicas."""

    delay_ms_max: int = 0
    late_ms_max: int = 0
    lost: float = 0.0


class TableLevels(Struct, frozen=True):
    """The number of replicas that a read asks, a sure read asks, and a write waits for."""

    read: int = 2
    sure: int = 2
    write: int = 2


QUORUM: Final = TableLevels()
ONE: Final = TableLevels(1, REPLICAS, 1)


class Replica:
    def __init__(self) -> None:
        self.cells: dict[Partition, dict[Hashable, Cell]] = {}
        self.down = False
        self.waiting: list[Callable[[], None]] = []

    def write(self, partition: Partition, key: Hashable, cell: Cell) -> None:
        cells = self.cells.setdefault(partition, {})
        known = cells.get(key)
        if known is None or known[0] < cell[0]:
            cells[key] = cell

    def up(self) -> None:
        """Be up again, and get what was missed."""
        self.down = False
        self.catch_up()

    def catch_up(self) -> None:
        """Get what was missed; a replica that is up again may do so later."""
        waiting, self.waiting = self.waiting, []
        for apply in waiting:
            apply()


class ReplicaSet:
    """The replicas of all tables, shared by the clients of a test."""

    def __init__(self, rng: random.Random, now_ms: Callable[[], int]) -> None:
        self.rng = rng
        self.now_ms = now_ms
        self.nature = ReplicaNature()
        self.replicas = [Replica() for _ in range(REPLICAS)]
        self.claims: dict[tuple[int, int], ClaimRow] = {}
        self.writes = 0


class MemoryIndexTables:
    """One client of the replicas."""

    def __init__(self, shared: ReplicaSet, levels: TableLevels = QUORUM) -> None:
        self._shared = shared
        self._levels = levels

    def at_quorum(self) -> "MemoryIndexTables":
        return MemoryIndexTables(self._shared, QUORUM)

    async def node_ms(self) -> int:
        return self._shared.now_ms()

    async def put_bodies(self, queue: int, rows: Sequence[BodyRow], keep_ms: int) -> None:
        for row in rows:
            await self._write([(("body", queue, row.sequence), "body", (1, row))])

    async def bodies(
        self, queue: int, sequences: Sequence[int], *, sure: bool = False
    ) -> dict[int, BodyRow]:
        found: dict[int, BodyRow] = {}
        for sequence in sequences:
            cells = await self._read(("body", queue, sequence), sure=sure)
            body = cells.get("body")
            row = body[1] if body else None
            settled = "settled" in cells
            if not settled and not isinstance(row, BodyRow):
                continue
            blank = BodyRow(sequence, None, None, settled, 0, 0, 0)
            kept = row if isinstance(row, BodyRow) else blank
            _, moved = cells.get("moved", (0, (0, 0)))
            assert isinstance(moved, tuple)
            found[sequence] = msgspec.structs.replace(
                kept, settled=settled, moved_ms=moved[0], moved_count=moved[1]
            )
        return found

    async def note_move(self, queue: int, sequence: int, moved: IndexTuple, keep_ms: int) -> None:
        cell = (inserted_mark(moved.generation), (moved.due_ms, moved.receive_count))
        await self._write([(("body", queue, sequence), "moved", cell)])

    async def settle(self, queue: int, sequences: Sequence[int], keep_ms: int) -> None:
        for sequence in sequences:
            partition = ("body", queue, sequence)
            await self._write([(partition, "settled", (2, True)), (partition, "body", (2, None))])

    async def insert(
        self, queue: int, bucket: int, tuples: Sequence[IndexTuple], keep_ms: int
    ) -> None:
        partition = ("tuples", queue, bucket)
        await self._write(
            [(partition, each.place, (inserted_mark(each.generation), each)) for each in tuples]
        )

    async def remove(self, queue: int, bucket: int, keys: Sequence[TupleKey]) -> None:
        partition = ("tuples", queue, bucket)
        await self._write(
            [(partition, (key.due_ms, key.sequence), (key.mark, None)) for key in keys]
        )

    async def find(self, queue: int, bucket: int, due_ms: int, sequence: int) -> IndexTuple | None:
        found = await self._tuples(queue, bucket, sure=False)
        return next((each for each in found if each.place == (due_ms, sequence)), None)

    async def read(
        self, queue: int, bucket: int, span: Span, *, sure: bool = False
    ) -> list[IndexTuple]:
        found = await self._tuples(queue, bucket, sure=sure)
        within = [each for each in found if span.first_ms <= each.due_ms <= span.last_ms]
        return within[: span.count_max]

    async def list_bucket(self, queue: int, bucket: int) -> None:
        await self._write([(("buckets", queue), bucket, (1, bucket))])

    async def buckets(self, queue: int, first: int) -> list[int]:
        cells = await self._read(("buckets", queue))
        listed = [value for _, value in cells.values() if isinstance(value, int)]
        return sorted(bucket for bucket in listed if bucket >= first)

    async def lower_bound(self, queue: int) -> int:
        _, bound = (await self._read(("bound", queue))).get("bound", (0, 0))
        assert isinstance(bound, int)
        return bound

    async def raise_lower_bound(self, queue: int, bucket: int) -> None:
        await self._write([(("bound", queue), "bound", (bucket, bucket))])

    async def drop_buckets(self, queue: int, buckets: Sequence[int]) -> None:
        for bucket in buckets:
            await self._write([(("tuples", queue, bucket), "dropped", (FINAL, None))])
            await self._write([(("buckets", queue), bucket, (2, None))])

    async def sample(self, queue: int, claimed: IndexTuple, claim: int) -> None:
        partition = ("samples", queue, claimed.sequence, claimed.generation)
        await self._write([(partition, claim, (1, True))])

    async def samples(self, queue: int, sequence: int, generation: int) -> int:
        return len(await self._read(("samples", queue, sequence, generation)))

    async def swap(
        self, queue: int, sequence: int, expected: ClaimRow | None, wanted: ClaimRow, keep_ms: int
    ) -> Swapped | None:
        shared = self._shared
        await self._wait()
        self._require(2)
        if self._is_lost():
            return None
        found = shared.claims.get((queue, sequence))
        applied = _version(found) == _version(expected)
        if applied:
            shared.claims[queue, sequence] = wanted
        await self._wait()
        if self._is_lost():
            return None
        return Swapped(applied, None if applied else found)

    async def claim_row(self, queue: int, sequence: int) -> ClaimRow | None:
        await self._wait()
        self._require(2)
        return self._shared.claims.get((queue, sequence))

    async def forget(self, queue: int) -> None:
        await self.drop_buckets(queue, await self.buckets(queue, 0))

    async def _tuples(self, queue: int, bucket: int, *, sure: bool) -> list[IndexTuple]:
        cells = await self._read(("tuples", queue, bucket), sure=sure)
        if "dropped" in cells:
            return []
        values = [value for _, value in cells.values() if isinstance(value, IndexTuple)]
        return sorted(values, key=lambda each: each.place)

    async def _read(self, partition: Partition, *, sure: bool = False) -> dict[Hashable, Cell]:
        shared = self._shared
        await self._wait()
        wanted = self._levels.sure if sure else self._levels.read
        up = [replica for replica in shared.replicas if not replica.down]
        if len(up) < wanted:
            raise ReplicasMissing(NAME, f"{len(up)} of {wanted} replicas answer")
        merged: dict[Hashable, Cell] = {}
        for replica in shared.rng.sample(up, wanted):
            # Each replica is asked at a moment of its own.
            await self._wait()
            for key, cell in replica.cells.get(partition, {}).items():
                known = merged.get(key)
                if known is None or known[0] < cell[0]:
                    merged[key] = cell
        if self._is_lost():
            raise StoreUnreachable(NAME, "an answer was lost")
        return {
            key: cell for key, cell in merged.items() if cell[1] is not None or key == "dropped"
        }

    async def _write(self, cells: Sequence[tuple[Partition, Hashable, Cell]]) -> None:
        """Write to each replica at its own time; answered when enough of them have it."""
        shared = self._shared
        shared.writes += 1
        await self._wait()
        if self._is_lost():
            raise StoreUnreachable(NAME, "a request was lost")
        loop = asyncio.get_running_loop()
        enough = loop.create_future()
        done = 0

        def apply(replica: Replica) -> None:
            nonlocal done
            if replica.down:
                replica.waiting.append(lambda: apply(replica))
                return
            for partition, key, cell in cells:
                replica.write(partition, key, cell)
            done += 1
            if done >= self._levels.write and not enough.done():
                enough.set_result(None)

        order = shared.rng.sample(shared.replicas, REPLICAS)
        up = sum(not replica.down for replica in order)
        for replica in order:
            late_ms = shared.nature.late_ms_max
            if late_ms:
                loop.call_later(shared.rng.randint(0, late_ms) / 1_000, apply, replica)
            else:
                apply(replica)
        if up < self._levels.write:
            raise ReplicasMissing(NAME, f"{up} of {self._levels.write} replicas answer")
        try:
            async with asyncio.timeout(5):
                await enough
        except TimeoutError:
            raise ReplicasMissing(NAME, "a replica has gone down") from None
        await self._wait()
        if self._is_lost():
            raise StoreUnreachable(NAME, "an answer was lost")

    def _require(self, wanted: int) -> None:
        up = sum(not replica.down for replica in self._shared.replicas)
        if up < wanted:
            raise ReplicasMissing(NAME, f"{up} of {wanted} replicas answer")

    def _is_lost(self) -> bool:
        return self._shared.rng.random() < self._shared.nature.lost

    async def _wait(self) -> None:
        delay_ms = self._shared.nature.delay_ms_max
        if delay_ms:
            await asyncio.sleep(self._shared.rng.randint(0, delay_ms) / 1_000)


def _version(row: ClaimRow | None) -> tuple[int, int] | None:
    return (row.generation, row.due_ms) if row else None
