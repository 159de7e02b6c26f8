"""The pace of groups: how often each was leased from within the last second.

Kept apart from the messages, since it must outlive them: a group that was drained and refilled
goes on at the pace it had. A group without allowance reopens at a time that is known.
"""

import heapq
from collections import deque
from collections.abc import Container
from typing import Final

from dovemq.core import limits

_WINDOW_MS: Final = limits.SECOND_MS


class Pace:
    def __init__(self, rate: int | None) -> None:
        self._rate = rate
        self._leases: deque[tuple[int, str]] = deque()
        self._times: dict[str, list[int]] = {}
        self._reopenings: list[tuple[int, str]] = []

    def follow(self, rate: int | None) -> list[str]:
        """Go by another rate; answers the groups whose allowance may have changed."""
        self._rate = rate
        self._reopenings.clear()
        for group in self._times:
            self.joined(group)
        return list(self._times)

    def allowance(self, group: str) -> int:
        """How many more leases the group may have now."""
        if self._rate is None:
            return limits.TUPLES_INSPECTED_MAX
        times = self._times.get(group)
        return self._rate - len(times) if times else self._rate

    def note(self, group: str, now_ms: int) -> None:
        if self._rate is not None:
            self._leases.append((now_ms, group))
            self._times.setdefault(group, []).append(now_ms)
            self.joined(group)

    def joined(self, group: str) -> None:
        """The group has messages: if it may not be leased from, its reopening is awaited."""
        if self._rate is not None and self.allowance(group) <= 0:
            reopens_ms = self._times[group][-self._rate] + _WINDOW_MS
            heapq.heappush(self._reopenings, (reopens_ms, group))

    def forget(self, now_ms: int) -> list[str]:
        """Let go of leases that began a second ago or earlier; answers who reopened by that."""
        leases, times = self._leases, self._times
        while leases and leases[0][0] <= now_ms - _WINDOW_MS:
            _, group = leases.popleft()
            del times[group][0]
            if not times[group]:
                del times[group]
        reopened = []
        while self._reopenings and self._reopenings[0][0] <= now_ms:
            reopened.append(heapq.heappop(self._reopenings)[1])
        return reopened

    def reopens_ms(self, groups: Container[str]) -> int | None:
        """When the first of these groups reopens; the others must join to be awaited again."""
        reopenings = self._reopenings
        while reopenings and reopenings[0][1] not in groups:
            heapq.heappop(reopenings)
        return reopenings[0][0] if reopenings else None
