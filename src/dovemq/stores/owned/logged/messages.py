"""Messages read back from the log, for receives, for peeks and for cleaning.

Implements `stores.owned.bodies.MessageReader`. A group is read and decoded as a whole, and gives
all messages of it that are wanted now or soon.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from dovemq.core.commands import Peek, Peeked
from dovemq.core.entry import Entry
from dovemq.core.index import Index
from dovemq.core.message import Message
from dovemq.stores.owned.bodies import peeked
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.encoding import GroupCodec, GroupUnreadable, LoggedSend
from dovemq.stores.owned.logged.ports import Log
from dovemq.stores.owned.logged.segments import Segments
from dovemq.stores.owned.records import DamagedRecord, RecordCodec

POSITIONS_MAX: Final = 64
"""Groups of one read; also the bound of groups that are read ahead."""
ROUNDS_MAX: Final = 3
"""Tries to read a message that cleaning moves at the same time."""


class LoggedMessages:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, log: Log, segments: Segments, index: Index
    ) -> None:
        self._loop = loop
        self._log = log
        self._segments = segments
        self._index = index
        self._groups = GroupCodec()
        self._records = RecordCodec()

    def fetch(
        self, wanted: Sequence[int], ahead: Sequence[int], ahead_bytes_max: int
    ) -> asyncio.Future[tuple[dict[int, Message], int]]:
        return self._loop.create_task(self._fetch(wanted, ahead, ahead_bytes_max))

    async def peek(self, place: PartitionKey, page: Peek, now_ms: int) -> list[Peeked]:
        # Copied, since leases go on while the messages are read.
        states = [_state(entry) for entry in self._index.after(page.after_sequence, page.count_max)]
        rows = await self.rows([state[0] for state in states])
        found: dict[int, Message] = {}
        self._decode(rows.values(), found)
        return [
            peeked(found[sequence], visible_ms, receive_count, first_received_ms, now_ms)
            for sequence, visible_ms, receive_count, first_received_ms in states
            if sequence in found
        ]

    async def rows(self, wanted: Sequence[int]) -> dict[int, LoggedSend]:
        """The rows of these messages; missing and damaged ones are left out."""
        found: dict[int, LoggedSend] = {}
        tried: dict[int, int | None] = {}
        for _ in range(ROUNDS_MAX):
            where = {each: self._segments.position_of(each) for each in wanted if each not in found}
            where = {each: position for each, position in where.items() if position}
            if not where or all(tried.get(each) == at for each, at in where.items()):
                break
            tried.update(where)
            positions = sorted({position for position in where.values() if position})
            for begin in range(0, len(positions), POSITIONS_MAX):
                groups = await self._log.read(positions[begin : begin + POSITIONS_MAX])
                self._pick(groups, where.keys(), found)
        return found

    async def _fetch(
        self, wanted: Sequence[int], ahead: Sequence[int], ahead_bytes_max: int
    ) -> tuple[dict[int, Message], int]:
        near = self._near(wanted, ahead)
        rows = await self.rows([*wanted, *near])
        found: dict[int, Message] = {}
        size = self._decode((rows[each] for each in wanted if each in rows), found)
        size += self._decode((rows[each] for each in near if each in rows), found, ahead_bytes_max)
        return found, size

    def _near(self, wanted: Sequence[int], ahead: Sequence[int]) -> list[int]:
        """Select from `ahead` what can be read together with what is wanted."""
        positions = {self._segments.position_of(each) for each in wanted}
        near = []
        for sequence in ahead:
            position = self._segments.position_of(sequence)
            if position not in positions:
                if len(positions) >= POSITIONS_MAX:
                    continue
                positions.add(position)
            near.append(sequence)
        return near

    def _pick(
        self,
        groups: Mapping[int, bytes],
        wanted: Iterable[int],
        found: dict[int, LoggedSend],
    ) -> None:
        sought = set(wanted)
        for data in groups.values():
            try:
                group = self._groups.decode(data)
            except GroupUnreadable:
                continue
            for row in (*group.sends, *group.moved):
                if row.sequence in sought:
                    found[row.sequence] = row

    def _decode(
        self, rows: Iterable[LoggedSend], found: dict[int, Message], bytes_max: int | None = None
    ) -> int:
        size = 0
        for row in rows:
            if bytes_max is not None and size >= bytes_max:
                break
            try:
                message = self._records.message((row.sequence, row.crc32, row.record))
            except DamagedRecord:
                continue
            found[row.sequence] = message
            size += len(row.record)
        return size


def _state(entry: Entry) -> tuple[int, int, int, int]:
    return entry.sequence, entry.visible_ms, entry.receive_count, entry.first_received_ms
