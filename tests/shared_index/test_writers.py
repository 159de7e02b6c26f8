"""Front ends that start together get different numbers, so that no two sequences are equal."""

import asyncio
import functools

from dovemq.stores.owned.logged.ports import StoredRecord
from dovemq.stores.shared_index.sequences import KIND, Sequences, new_writer
from dovemq.testing.memory_database import (
    MemoryDatabase,
    MemoryDatabaseState,
    MemoryRecords,
)


class TogetherRecords(MemoryRecords):
    """Every reader sees the record as it was before the first of them writes."""

    def __init__(self, readers: int) -> None:
        super().__init__(MemoryDatabase(MemoryDatabaseState()))
        self._readers = asyncio.Barrier(readers)
        self._first = True

    async def get(self, kind: str, name: str) -> StoredRecord | None:
        found = await super().get(kind, name)
        if self._first:
            await self._readers.wait()
            self._first = False
        return found


async def test_writers_that_start_together_have_different_numbers() -> None:
    records = TogetherRecords(3)
    numbers = await asyncio.gather(*(new_writer(records, token) for token in (11, 22, 33)))
    assert len(set(numbers)) == 3
    found = await records.get(KIND, "last")
    assert found is not None
    assert found.version == 3


async def test_messages_of_one_millisecond_have_different_sequences() -> None:
    records = TogetherRecords(2)
    writers = [
        Sequences(functools.partial(new_writer, records, token), lambda: 0) for token in (1, 2)
    ]
    await asyncio.gather(*(each.claim() for each in writers))
    assert len({each.next(2_000_000_000_000) for each in writers for _ in range(3)}) == 6
