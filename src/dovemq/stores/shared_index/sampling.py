"""How often front ends claim the same message, measured on some messages.

Plain claims do not notice each other: that is what makes them cheap. So of one message in
`SAMPLE_ONE_IN`, the same ones on all front ends, each claim leaves a row, and a moment later counts
the rows of the tuple that it has claimed. Nobody waits for it. Queues with an adaptive K sample
every claim: K follows what is found.
"""

import asyncio
import random
import zlib
from collections.abc import Callable, Sequence
from typing import Final

from dovemq.core.errors import DoveError
from dovemq.stores.shared_index.moving import TupleMove
from dovemq.stores.shared_index.ports import IndexTables
from dovemq.stores.shared_index.statistics import IndexStatistics

SAMPLE_ONE_IN: Final = 16
LOOK_SECONDS: Final = 1.0
"""The time until the claims of others have arrived."""
UNDER_WAY_MAX: Final = 100


def is_sampled(sequence: int) -> bool:
    return zlib.crc32(sequence.to_bytes(8)) % SAMPLE_ONE_IN == 0


class Sampling:
    def __init__(
        self, tables: IndexTables, queue: int, rng: random.Random, statistics: IndexStatistics
    ) -> None:
        self._tables = tables
        self._queue = queue
        self._rng = rng
        self._statistics = statistics
        self._tasks: set[asyncio.Task[None]] = set()
        self.checked: Callable[[int], None] | None = None
        """Called with the number of other claims of each claim; with it, every claim is sampled."""

    def claimed(self, moves: Sequence[TupleMove]) -> None:
        for move in moves:
            chosen = self.checked is not None or is_sampled(move.before.sequence)
            if chosen and len(self._tasks) < UNDER_WAY_MAX:
                task = asyncio.get_running_loop().create_task(self._sample(move))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _sample(self, move: TupleMove) -> None:
        try:
            await self._tables.sample(self._queue, move.before, self._rng.getrandbits(62))
            await asyncio.sleep(LOOK_SECONDS)
            before = move.before
            claims = await self._tables.samples(self._queue, before.sequence, before.generation)
        except DoveError:
            # A sample that is lost says nothing.
            return
        self._statistics.sampled += 1
        self._statistics.collided += claims > 1
        if self.checked is not None:
            # The own one may not be seen yet.
            self.checked(max(0, claims - 1))
