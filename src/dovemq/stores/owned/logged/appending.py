"""Appends groups to the log of one partition, one after the other, as long as the owner owns it.

- One append is under way at most, so every group but the newest is known to be durable.
- An append whose outcome is unknown is repeated with the same bytes at the same position, until it
  is answered: a position is never used for two groups.
- *Answered means owned*: after the database has answered, the owner checks that its lease still
  holds. A taker waits for the end of that lease before it scans, so it has seen this group. Without
  the check the group might lie beyond the taker's seal, and what was answered would be void.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from dovemq.core.errors import OwnerChanged, StoreUnreachable
from dovemq.core.ports import Clock
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.encoding import GroupCodec, LogGroup
from dovemq.stores.owned.logged.policy import KEEP_MS
from dovemq.stores.owned.logged.ports import Log
from dovemq.stores.owned.logged.positions import epoch_of
from dovemq.stores.owned.logged.segments import Segments

RETRY_MS_MIN: Final = 50
RETRY_MS_MAX: Final = 1_000
"""Pauses before an append is repeated; each is twice as long as the one before."""

_log = logging.getLogger(__name__)

Holds = Callable[[], bool]
"""Whether this process holds its lease now, by its monotonic clock."""


class Appending:
    """`unreachable` is set while the newest append has had no answer yet and was repeated."""

    def __init__(
        self, log: Log, place: PartitionKey, epoch: int, segments: Segments, clock: Clock
    ) -> None:
        self._log = log
        self._place = place
        self._epoch = epoch
        self._segments = segments
        self._codec = GroupCodec()
        self._clock = clock
        self.written = 0
        """Bytes that were appended."""
        self.unreachable: StoreUnreachable | None = None

    async def append(self, group: LogGroup, holds: Holds, *, grow: bool = True) -> int:
        """Make the group durable and return its position.

        Raises `StoreFull`, and then nothing was written, or `OwnerChanged`: the group may be in the
        log or not, and nothing more may be appended.
        """
        data = self._codec.encode(group)
        position = self._segments.next_position()
        if epoch_of(position) != self._epoch:
            # The epoch has no further segments: the next owner, perhaps this process, begins anew.
            raise OwnerChanged(*self._place)
        await self._repeat(position, data, holds, grow=grow)
        self.require(holds)
        sequences = [row.sequence for row in group.sends]
        self._segments.appended(position, len(data), sequences)
        self.written += len(data)
        return position

    def require(self, holds: Holds) -> None:
        if not holds():
            raise OwnerChanged(*self._place)

    async def _repeat(self, position: int, data: bytes, holds: Holds, *, grow: bool) -> None:
        pause_ms = RETRY_MS_MIN
        while True:
            self.require(holds)
            try:
                await self._log.append(position, data, KEEP_MS, grow=grow)
            except StoreUnreachable as error:
                if self.unreachable is None:
                    _log.warning("partition %s cannot append: %s", self._place, error.found)
                self.unreachable = error
                await asyncio.sleep(pause_ms / 1_000)
                pause_ms = min(2 * pause_ms, RETRY_MS_MAX)
            else:
                self.unreachable = None
                return

    def now_ms(self) -> int:
        return self._clock.now_ms()
