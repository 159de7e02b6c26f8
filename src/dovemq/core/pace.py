"""The pace of message groups: how many leases each had within the last second.

It is kept apart from the messages because it must outlive them: a group that is emptied and filled
again keeps its pace. A group that has used up its rate opens again at a known time.
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
        """Change the rate; returns the groups whose allowance may have changed."""
        self._rate = rate
        self._reopenings.clear()
        for group in self._times:
            self.joined(group)
        return list(self._times)

    def allowance(self, group: str) -> int:
        """The number of further leases that the group may have now."""
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
        """The group has messages now: if it has no allowance, note when it opens again."""
        if self._rate is not None and self.allowance(group) <= 0:
            reopens_ms = self._times[group][-self._rate] + _WINDOW_MS
            heapq.heappush(self._reopenings, (reopens_ms, group))

    def forget(self, now_ms: int) -> list[str]:
        """Drop leases that began a second ago or earlier; returns the groups that opened."""
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
        """The time at which the first of these groups opens; others are dropped from the heap."""
        reopenings = self._reopenings
        while reopenings and reopenings[0][1] not in groups:
            heapq.heappop(reopenings)
        return reopenings[0][0] if reopenings else None
