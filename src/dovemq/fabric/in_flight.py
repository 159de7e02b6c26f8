"""The limit of leased messages of a queue, checked on the sum over its partitions.

The sum is known from a count and from what this front end has given and settled since. A new count
is made only if it matters and the last one is old enough. Other front ends give at the same time,
so the limit may be exceeded by what they give between two counts.
"""

from typing import Final

from dovemq.core import limits
from dovemq.core.ports import Clock
from dovemq.fabric.members import Members
from dovemq.fabric.together import counts_by_partition, summed

COUNTED_MS: Final = 1_000
"""The shortest time between two counts."""
NEAR_SHARE: Final = 2
"""Counts matter from this part of the limit on: a half."""
UNCOUNTED_SHARE: Final = 16
"""They also matter when this part of the limit has been given since the last one."""


class InFlight:
    def __init__(self, members: Members, clock: Clock) -> None:
        self._members = members
        self._clock = clock
        self._counted = 0
        self._counted_ms: int | None = None
        self._given = 0

    def gave(self, count: int) -> None:
        """Leases have begun; a negative count means that some have ended."""
        self._given += count

    async def is_full(self, now_ms: int) -> bool:
        if self._matters() and self._is_old(now_ms):
            before = self._given
            counts = await counts_by_partition(self._members, self._clock)
            self._counted, self._counted_ms = summed([*counts.values()]).leased, now_ms
            self._given -= before
        return self._counted + self._given >= limits.LEASED_MAX

    def _matters(self) -> bool:
        if self._counted_ms is None or self._given * UNCOUNTED_SHARE >= limits.LEASED_MAX:
            return True
        return (self._counted + self._given) * NEAR_SHARE >= limits.LEASED_MAX

    def _is_old(self, now_ms: int) -> bool:
        return self._counted_ms is None or now_ms - self._counted_ms >= COUNTED_MS
