"""The ready line: visible entries in order of (T, I).

Nearly all entries come in order and go to the end of a deque, or back to its front. The few that
belong in between wait in a heap beside it. Dead entries are skipped when their turn comes.
"""

import heapq
import random
from collections import deque
from collections.abc import Sequence
from itertools import chain, islice
from operator import attrgetter

from dovemq.core import choosing, limits
from dovemq.core.entry import Entry

_receive_count_of = attrgetter("receive_count")


class Ready:
    __slots__ = ("_late", "_line")

    def __init__(self) -> None:
        self._line: deque[Entry] = deque()
        self._late: list[tuple[int, int, Entry]] = []

    @property
    def late(self) -> bool:
        """Whether there are entries in the heap, so that the deque is not the whole line."""
        return bool(self._late)

    def push(self, entry: Entry) -> None:
        line = self._line
        if not line or line[-1].visible_ms < entry.visible_ms or _before(line[-1], entry):
            line.append(entry)
        elif _before(entry, line[0]):
            line.appendleft(entry)
        else:
            heapq.heappush(self._late, (entry.visible_ms, entry.sequence, entry))

    def make_way(self, entry: Entry) -> None:
        """Move entries that belong after this one from the end of the deque to the heap.

        It is for many entries that come in order, but late: without it all of them would go to the
        heap because of a few that came early. If more than `LEASED_MAX` came early, they stay.
        """
        line, moved_max = self._line, limits.LEASED_MAX
        if len(line) > moved_max and _before(entry, line[-1 - moved_max]):
            return
        while line and _before(entry, line[-1]):
            early = line.pop()
            heapq.heappush(self._late, (early.visible_ms, early.sequence, early))

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Put entries back that were just popped from the front, in order."""
        self._line.extendleft(reversed(entries))

    def first(self) -> Entry | None:
        entry = self.pop()
        if entry is not None:
            self._line.appendleft(entry)
        return entry

    def pop(self) -> Entry | None:
        line, late = self._line, self._late
        while True:
            if late and (not line or _before(late[0][2], line[0])):
                entry = heapq.heappop(late)[2]
            elif line:
                entry = line.popleft()
            else:
                return None
            if entry.receive_count >= 0:
                return entry

    def take(self, count: int) -> list[Entry]:
        """Remove and return the first `count` entries, or all if there are fewer."""
        taken: list[Entry] = []
        line = self._line
        if not self._late:
            while line and len(taken) < count:
                entry = line.popleft()
                if entry.receive_count >= 0:
                    taken.append(entry)
            return taken
        while len(taken) < count and (first := self.pop()) is not None:
            taken.append(first)
        return taken

    def draw(self, window: int, count: int, rng: random.Random) -> list[Entry]:
        """Remove and return `count` random entries of the first `window`, which must be plain."""
        line = self._line
        positions = choosing.choose(min(window, len(line)), count, rng)
        drawn = [line[position] for position in positions]
        for position in reversed(positions):
            del line[position]
        return drawn

    def plain(self, window: int, receives_max: int | None) -> bool:
        """Whether the first `window` entries are in the deque, and none is dead or exhausted."""
        if self._late:
            return False
        counts: set[int] = set(map(_receive_count_of, islice(self._line, window)))
        least, most = min(counts, default=0), max(counts, default=0)
        return least >= 0 and (receives_max is None or most < receives_max)

    def near(self, count: int) -> list[Entry]:
        """Roughly the first `count` entries."""
        late = (entry for _, _, entry in self._late[:count])
        entries = islice(chain(late, self._line), count)
        return [entry for entry in entries if entry.receive_count >= 0]

    def shed(self) -> int:
        """Drop dead entries at the front; returns their number."""
        line, late = self._line, self._late
        before = len(line) + len(late)
        while line and line[0].receive_count < 0:
            line.popleft()
        while late and late[0][2].receive_count < 0:
            heapq.heappop(late)
        return before - len(line) - len(late)

    def compact(self) -> None:
        """Drop all dead entries."""
        self._line = deque(entry for entry in self._line if entry.receive_count >= 0)
        self._late = [late for late in self._late if late[2].receive_count >= 0]
        heapq.heapify(self._late)


def place(entry: Entry) -> tuple[int, int]:
    return entry.visible_ms, entry.sequence


def _before(entry: Entry, other: Entry) -> bool:
    if entry.visible_ms == other.visible_ms:
        return entry.sequence < other.sequence
    return entry.visible_ms < other.visible_ms
