"""Merges the messages of several partitions for a peek, in order of sequence and partition.

It reads small pages of each partition and another one only where the first is used up, so that a
long page of a queue with many partitions does not read all of them in full.
"""

import heapq
from collections import deque

import msgspec

from dovemq.core.commands import Peek, Peeked
from dovemq.core.ports import Clock
from dovemq.fabric.members import Members
from dovemq.fabric.together import all_of


class _Source:
    def __init__(self, members: Members, clock: Clock, number: int, page: Peek, step: int) -> None:
        self.number = number
        self._members = members
        self._clock = clock
        self._step = step
        self._after = page.after_sequence
        if page.after_partition is not None and number > page.after_partition:
            self._after -= 1
        self._left = True
        self._read: deque[Peeked] = deque()

    async def fill(self) -> None:
        """Read the next page if the last one is used up."""
        if self._read or not self._left:
            return
        page = Peek(self._step, self._after)
        found = await self._members[self.number].peek(page, self._clock.now_ms())
        self._left = len(found) == self._step
        self._read.extend(found)
        if found:
            self._after = found[-1].message.sequence

    @property
    def sequence(self) -> int | None:
        return self._read[0].message.sequence if self._read else None

    def take(self) -> Peeked:
        return msgspec.structs.replace(self._read.popleft(), partition=self.number)


async def merged_peek(members: Members, clock: Clock, page: Peek) -> list[Peeked]:
    numbers = sorted(members.numbers)
    step = page.count_max // len(numbers) + 1
    sources = [_Source(members, clock, number, page, step) for number in numbers]
    await all_of([source.fill() for source in sources])
    heads = [(source.sequence, at) for at, source in enumerate(sources) if source.sequence]
    heapq.heapify(heads)
    merged: list[Peeked] = []
    while heads and len(merged) < page.count_max:
        _, at = heads[0]
        source = sources[at]
        merged.append(source.take())
        await source.fill()
        if source.sequence is None:
            heapq.heappop(heads)
        else:
            heapq.heapreplace(heads, (source.sequence, at))
    return merged
