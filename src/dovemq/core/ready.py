"""The ready line: visible entries in order of (T, I).

Nearly all arrive in order and go to the end of a deque, or back to its front; the few that belong
in between wait in a heap beside it. Removed entries are passed over when their turn comes.
"""

import heapq
import random
from collections import deque
from collections.abc import Sequence
from itertools import islice
from operator import attrgetter
from typing import Final

from dovemq.core import choosing
from dovemq.core.entry import Entry

_LATE_MIN: Final = 1_024
_LATE_SHARE: Final = 8
"""The heap is merged into the line when it holds more than one eighth of it, and this many."""
_receive_count_of = attrgetter("receive_count")


class Ready:
    __slots__ = ("_late", "_line")

    def __init__(self) -> None:
        self._line: deque[Entry] = deque()
        self._late: list[tuple[int, int, Entry]] = []

    @property
    def late(self) -> bool:
        """Whether the line is not all: some belong between its first and its last."""
        return bool(self._late)

    def push(self, entry: Entry) -> None:
        line = self._line
        if not line or _before(line[-1], entry):
            line.append(entry)
        elif _before(entry, line[0]):
            line.appendleft(entry)
        else:
            heapq.heappush(self._late, (entry.visible_ms, entry.sequence, entry))
            if len(self._late) > max(_LATE_MIN, len(line) // _LATE_SHARE):
                self.compact()

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Return what was just popped from the front, in order."""
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

    def draw(self, window: int, count: int, rng: random.Random) -> list[Entry]:
        """Take `count` at random out of the first `window`, which must be plain."""
        line = self._line
        positions = choosing.choose(min(window, len(line)), count, rng)
        drawn = [line[position] for position in positions]
        for position in reversed(positions):
            del line[position]
        return drawn

    def plain(self, window: int, receives_max: int | None) -> bool:
        """Whether the first `window` stand in the line, none of them removed or exhausted."""
        if self._late:
            return False
        counts: set[int] = set(map(_receive_count_of, islice(self._line, window)))
        least, most = min(counts, default=0), max(counts, default=0)
        return least >= 0 and (receives_max is None or most < receives_max)

    def ahead(self, count: int) -> list[int]:
        late = (entry for _, _, entry in self._late[:count])
        near = [*late, *islice(self._line, count)]
        return [entry.sequence for entry in near if entry.receive_count >= 0]

    def compact(self) -> None:
        """Let go of removed entries and merge the late ones into the line."""
        entries = [entry for entry in self._line if entry.receive_count >= 0]
        if self._late:
            entries += [entry for _, _, entry in self._late if entry.receive_count >= 0]
            entries.sort(key=place)
        self._line = deque(entries)
        self._late = []


def place(entry: Entry) -> tuple[int, int]:
    return entry.visible_ms, entry.sequence


def _before(entry: Entry, other: Entry) -> bool:
    if entry.visible_ms == other.visible_ms:
        return entry.sequence < other.sequence
    return entry.visible_ms < other.visible_ms
