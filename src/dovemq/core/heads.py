"""The heads of FIFO groups: the first entry of each group that may be served, by sequence.

New groups come in order of sequence and go to the end of a line; groups that come back to an old
place wait in a heap beside it. A record may be overtaken by events: who takes it out must check.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain

from dovemq.core.entry import Entry


class Heads:
    __slots__ = ("_line", "_returned")

    def __init__(self, heads: Iterable[Entry] = ()) -> None:
        self._line = deque(sorted(heads))
        self._returned: list[Entry] = []

    def __len__(self) -> int:
        return len(self._line) + len(self._returned)

    def __iter__(self) -> Iterator[Entry]:
        return chain(self._returned, self._line)

    def push(self, head: Entry) -> None:
        line = self._line
        if not line or line[-1].sequence < head.sequence:
            line.append(head)
        elif head.sequence < line[0].sequence:
            line.appendleft(head)
        else:
            heapq.heappush(self._returned, head)

    def first(self) -> Entry | None:
        line, returned = self._line, self._returned
        if returned and (not line or returned[0].sequence < line[0].sequence):
            return returned[0]
        return line[0] if line else None

    def pop(self) -> None:
        """Take out the first."""
        line, returned = self._line, self._returned
        if returned and (not line or returned[0].sequence < line[0].sequence):
            heapq.heappop(returned)
        else:
            line.popleft()
