"""Reads of the first tuples of a queue, which the receives of one front end share.

While `READS_MAX` reads are under way, receives that begin wait, and one read then serves them all.
No receive gets what a read that began before it has found: what was sent and answered before a
receive is seen by it. Two reads at a time, so that one that waits for a dead node holds up no
receive.
"""

import asyncio
from typing import Final

from msgspec import Struct

from dovemq.core import limits
from dovemq.core.drawing import IndexTuple
from dovemq.stores.shared_index.buckets import Buckets
from dovemq.stores.shared_index.memory import OwnDoings
from dovemq.system.outcomes import let_go_unread

READS_MAX: Final = 2
SPARE: Final = 8
"""Tuples that a read asks for beyond the window, in place of those that others claim meanwhile."""
TUPLES_MAX: Final = limits.TUPLES_INSPECTED_MAX + SPARE


class _Round(Struct, eq=False):
    """The receives that share a read: the largest window, and how many messages they want."""

    size: int = 0
    count: int = 0
    now_ms: int = 0
    read: "asyncio.Task[list[IndexTuple]] | None" = None


class SharedWindow:
    def __init__(self, buckets: Buckets, own: OwnDoings) -> None:
        self._buckets = buckets
        self._own = own
        self._reading = asyncio.Semaphore(READS_MAX)
        self._waiting: _Round | None = None
        self._gone = 0

    async def first(self, size: int, count: int, now_ms: int) -> list[IndexTuple]:
        """The first tuples up to now: a window of `size`, and as many more as others may claim."""
        waiting = self._waiting
        if waiting is None:
            waiting = self._waiting = _Round()
            waiting.read = asyncio.get_running_loop().create_task(self._read(waiting))
            let_go_unread(waiting.read)
        waiting.size = max(waiting.size, size)
        waiting.count += count
        waiting.now_ms = max(waiting.now_ms, now_ms)
        assert waiting.read is not None
        return await asyncio.shield(waiting.read)

    async def _read(self, asked: _Round) -> list[IndexTuple]:
        async with self._reading:
            self._waiting = None
            # Tuples that this front end has claimed are read until they are removed.
            wanted = min(asked.size + asked.count + self._gone + SPARE, TUPLES_MAX)
            while True:
                read = await self._buckets.first(wanted, asked.now_ms)
                found = [each for each in read if not self._own.knows_as_gone(each)]
                self._gone = len(read) - len(found)
                enough = len(found) >= asked.size + asked.count
                if enough or len(read) < wanted or wanted == TUPLES_MAX:
                    return found
                wanted = min(2 * wanted, TUPLES_MAX)
