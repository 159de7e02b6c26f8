"""Measures what an adaptive K depends on, and keeps the K of one partition at one front end.

Call `began` when a receive begins, `claimed` when it has claimed tuples, and `ended` in any case.
Call `checked` when it is known whether others have claimed the same tuples: at once or later.
"""

import bisect
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from dovemq.core.adaptive_hint import (
    HintDecision,
    HintMemory,
    HintObservation,
    HintSettings,
    decide_hint,
)

PERIOD_MS: Final = 1_000
"""The least time between two decisions."""
RECENT_MAX: Final = 256
"""Messages handed out last, among which those are counted that overtook a message."""

HintKey = tuple[int, int]
"""The place of a message in the order of the queue: when it was sent, and its sequence."""
HintChanged = Callable[[HintDecision, int], None]
"""Called with each decision that changes K, and its time; it returns at once."""


def _ignored(decision: HintDecision, now_ms: int) -> None:
    """Nobody is interested."""


class HintMeter:
    def __init__(
        self, settings: HintSettings | None = None, changed: HintChanged = _ignored
    ) -> None:
        self._settings = settings or HintSettings()
        self._changed = changed
        self._memory = HintMemory(k=self._settings.least)
        self._seen = HintObservation()
        self._under_way = 0
        self._decided_ms: int | None = None
        self._recent: deque[HintKey] = deque()
        self._ordered: list[HintKey] = []
        self.decision: HintDecision | None = None
        """The last decision, whether or not it changed K."""

    @property
    def k(self) -> int:
        return self._memory.k

    def began(self, now_ms: int) -> int:
        """A receive begins; returns the K for it."""
        if self._decided_ms is None:
            self._decided_ms = now_ms
        elif now_ms - self._decided_ms >= PERIOD_MS:
            self._decide(now_ms)
        seen = self._seen
        self._seen = msgspec.structs.replace(
            seen, under_way=seen.under_way + self._under_way, receives=seen.receives + 1
        )
        self._under_way += 1
        return self._memory.k

    def ended(self) -> None:
        """A receive that began has ended, with messages, without any, or by an error."""
        self._under_way -= 1

    def claimed(self, claims: int, first: Sequence[HintKey]) -> None:
        """A receive has claimed tuples; `first` are those that nobody had received before."""
        overtaken = sum(map(self._handed_out, first))
        seen = self._seen
        self._seen = msgspec.structs.replace(
            seen,
            claims=seen.claims + claims,
            first=seen.first + len(first),
            overtaken=seen.overtaken + overtaken,
        )

    def checked(self, claims: int, others: int) -> None:
        """Others have made so many claims of so many tuples that were claimed here."""
        seen = self._seen
        self._seen = msgspec.structs.replace(
            seen, checked=seen.checked + claims, collisions=seen.collisions + others
        )

    def _handed_out(self, key: HintKey) -> int:
        """Notes a message; returns the number of those noted before that belong after it."""
        place = bisect.bisect_right(self._ordered, key)
        after = len(self._ordered) - place
        self._ordered.insert(place, key)
        self._recent.append(key)
        if len(self._recent) > RECENT_MAX:
            oldest = self._recent.popleft()
            del self._ordered[bisect.bisect_left(self._ordered, oldest)]
        return after

    def _decide(self, now_ms: int) -> None:
        if self._seen.claims < self._settings.claims_min:
            return
        decision, self._memory = decide_hint(self._seen, self._memory, self._settings)
        self._seen, self._decided_ms, self.decision = HintObservation(), now_ms, decision
        if decision.changed:
            self._changed(decision, now_ms)
