"""Look-ups of queues that this front end does not know, kept within bounds.

Requests for unknown queues must not become a way to load the database: each miss is remembered for
a moment, and there are at most so many look-ups in a second.
"""

from typing import Final

from dovemq.cluster.tenure import MonotonicClock
from dovemq.core.queue import QueueKey

MISS_MS: Final = 1_000
"""The time for which an unknown queue is not looked up again."""
MISSES_MAX: Final = 10_000
LOOK_UPS_PER_SECOND_MAX: Final = 200


class Misses:
    def __init__(self, monotonic_ms: MonotonicClock) -> None:
        self._monotonic_ms = monotonic_ms
        self._until_ms: dict[QueueKey, int] = {}
        self._second = 0
        self._look_ups = 0

    def may_look_up(self, key: QueueKey) -> bool:
        """Whether to ask the database now; the answer True counts as a look-up."""
        now_ms = self._monotonic_ms()
        if self._until_ms.get(key, now_ms) > now_ms:
            return False
        if self._second != now_ms // 1_000:
            self._second, self._look_ups = now_ms // 1_000, 0
        self._look_ups += 1
        return self._look_ups <= LOOK_UPS_PER_SECOND_MAX

    def missed(self, key: QueueKey) -> None:
        self._until_ms.pop(key, None)
        self._until_ms[key] = self._monotonic_ms() + MISS_MS
        if len(self._until_ms) > MISSES_MAX:
            del self._until_ms[next(iter(self._until_ms))]

    def clear(self) -> None:
        self._until_ms.clear()
