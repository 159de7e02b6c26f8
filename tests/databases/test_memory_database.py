"""The database in memory can be full, which the others are in tests of their own."""

import pytest

from dovemq.core.errors import InvariantError, StoreFull
from dovemq.testing.memory_database import MemoryDatabase, MemoryDatabaseState
from tests.databases.world import KEEP_MS, position, rows


async def test_full_database_takes_only_groups_that_free_space() -> None:
    state = MemoryDatabaseState()
    log = await MemoryDatabase(state).open_log((1, 0), 1)
    state.full = True
    with pytest.raises(StoreFull):
        await log.append(position(1, 0, 0), b"sends", KEEP_MS)
    await log.append(position(1, 0, 1), b"settles", KEEP_MS, grow=False)
    assert await rows(log) == [(position(1, 0, 1), b"settles")]


async def test_two_groups_at_one_position_are_a_bug_of_the_caller() -> None:
    log = await MemoryDatabase(MemoryDatabaseState()).open_log((1, 0), 1)
    await log.append(position(1, 0, 0), b"one", KEEP_MS)
    with pytest.raises(InvariantError):
        await log.append(position(1, 0, 0), b"another", KEEP_MS)
