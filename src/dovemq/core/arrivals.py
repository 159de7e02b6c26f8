"""The arrivals: all entries of a partition in order of sequence, for retention and look-up.

They take 8 bytes a message. Adopted messages keep the time of their first send, and so may be older
than messages before them in the line: these also stand in a heap by that time.
"""

import heapq
import math
from bisect import bisect_left, bisect_right
from collections import deque
from itertools import islice
from operator import attrgetter
from typing import Final

from dovemq.core.entry import DEAD, Entry

_DEAD_MIN: Final = 1_024
"""Lines with fewer dead entries than this are not compacted."""
_sequence_of = attrgetter("sequence")


class Arrivals:
    __slots__ = ("_hidden_before", "_line", "_newest_ms", "_old", "count")

    def __init__(self) -> None:
        self.count = 0
        self._line: deque[Entry] = deque()
        self._old: list[tuple[int, int, Entry]] = []
        self._newest_ms = 0
        self._hidden_before = 0

    def add(self, entry: Entry) -> None:
        newest_ms, sent_ms = self._newest_ms, entry.sent_ms
        if sent_ms == newest_ms:
            entry.sent_ms = newest_ms
        elif sent_ms > newest_ms:
            self._newest_ms = sent_ms
        else:
            heapq.heappush(self._old, (sent_ms, entry.sequence, entry))
        if entry.visible_ms == sent_ms:
            # Equal times share one int object, which saves 32 bytes for most messages.
            entry.visible_ms = entry.sent_ms
        self._line.append(entry)
        self.count += 1

    def remove(self, entry: Entry) -> None:
        """Mark the entry as dead, here and in every other line that has it."""
        entry.receive_count = DEAD
        self.count -= 1
        line = self._line
        while line and line[0].receive_count < 0:
            line.popleft()
        dead = len(line) - self.count
        if dead > _DEAD_MIN and dead > self.count:
            self._line = deque(entry for entry in line if entry.receive_count >= 0)
            self._compact_old()

    def replace(self, entry: Entry, successor: Entry) -> None:
        """Put another entry in the place of the first, which is dead."""
        self._line[bisect_left(self._line, entry.sequence, key=_sequence_of)] = successor
        entry.receive_count = DEAD
        heapq.heappush(self._old, (successor.sent_ms, successor.sequence, successor))
        if len(self._old) > _DEAD_MIN + 2 * self.count:
            self._compact_old()

    def shown(self, entry: Entry) -> None:
        """A hidden entry is visible again."""
        if entry.sequence < self._hidden_before:
            self._hidden_before = entry.sequence

    def sent_before(self, before_ms: int) -> Entry | None:
        """An entry that was sent before that time; the first to arrive if there are several."""
        line, old = self._line, self._old
        if line and line[0].sent_ms < before_ms:
            return line[0]
        while old and old[0][2].receive_count < 0:
            heapq.heappop(old)
        if old and old[0][0] < before_ms:
            return old[0][2]
        return None

    def sent_ms_min(self) -> float:
        """A time before which no entry was sent."""
        line_ms = self._line[0].sent_ms if self._line else math.inf
        return min(line_ms, self._old[0][0]) if self._old else line_ms

    def find(self, sequence: int) -> Entry | None:
        line = self._line
        if not line or not line[0].sequence <= sequence <= line[-1].sequence:
            return None
        entry = line[bisect_left(line, sequence, key=_sequence_of)]
        return entry if entry.sequence == sequence and entry.receive_count >= 0 else None

    def after(self, sequence: int, count_max: int) -> list[Entry]:
        """The next entries after that sequence, in order."""
        line = self._line
        start = bisect_right(line, sequence, key=_sequence_of)
        living = (entry for entry in islice(line, start, None) if entry.receive_count >= 0)
        return list(islice(living, count_max))

    def entries(self) -> list[Entry]:
        """All entries in order of sequence, and dead ones that still stand in the line."""
        return list(self._line)

    def oldest_visible_ms(self, now_ms: int) -> int | None:
        """The time at which the oldest visible message was sent.

        Every entry before `_hidden_before` in the line is hidden or dead, so they are not looked
        at again; `shown` moves the mark back. The index must have shown all entries that are due.
        """
        line_ms, old_ms = self._line_visible_ms(now_ms), self._old_visible_ms(now_ms)
        if line_ms is None or old_ms is None:
            return old_ms if line_ms is None else line_ms
        return min(line_ms, old_ms)

    def _line_visible_ms(self, now_ms: int) -> int | None:
        line = self._line
        start = bisect_left(line, self._hidden_before, key=_sequence_of)
        for entry in islice(line, start, None):
            if entry.receive_count >= 0 and entry.visible_ms <= now_ms:
                self._hidden_before = entry.sequence
                return entry.sent_ms
        if line:
            self._hidden_before = line[-1].sequence + 1
        return None

    def _old_visible_ms(self, now_ms: int) -> int | None:
        """Search the heap. Entries below a visible one are younger, so only hidden ones lead on."""
        old, least_ms = self._old, None
        places = [0]
        while places:
            place = places.pop()
            if place >= len(old):
                continue
            sent_ms, _, entry = old[place]
            if least_ms is not None and sent_ms >= least_ms:
                continue
            if entry.receive_count >= 0 and entry.visible_ms <= now_ms:
                least_ms = sent_ms
            else:
                places += (2 * place + 1, 2 * place + 2)
        return least_ms

    def _compact_old(self) -> None:
        self._old = [old for old in self._old if old[2].receive_count >= 0]
        heapq.heapify(self._old)
