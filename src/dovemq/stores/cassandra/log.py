"""The log of one partition in the tables `log` and `segments`.

**Timestamps.** A row of the log is written once, or again with the same bytes: no two writes of it
differ, so clocks need not decide anything. Rows are written at timestamp 1 and removed at 2. A
removal thus covers every append to its segment, earlier or later. That is right because an owner
removes only segments that it no longer writes, and `segments` is cut below every position that is
still to be written. A late append of an ended owner into a removed segment is answered and stays
dead. When the removal is forgotten it is garbage until it expires, and no scan finds it: it lies
below the bookmark, and its segment is not listed. Positions as timestamps would do the same, but
ScyllaDB refuses timestamps in the future, and the position of a high epoch is one.

It follows that the positions of a removed log must never be used again: the number of a queue
belongs to one queue for ever.

**Order of writing.** A segment is listed before its first group is appended. A segment's groups are
removed before it is unlisted.

**Consistency.** Appends use that of the URL, everything else `QUORUM`:

    one      an answered group is on one node; it is lost with that node if no other has received
             it, and a new owner may miss it. Faster, and for messages that may be lost.
    quorum   an answered group is on a majority, and a scan reads from a majority: it sees it. One
             node of three may fail.
    all      an answered group is on every node; if one is down, sends fail.

Cassandra cannot refuse the append of an ended epoch. Only `open_log` and the bookmark know epochs.
"""

import asyncio
import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import groupby
from typing import Final

from dovemq.core.errors import OwnerChanged, StoreUnreachable
from dovemq.stores.cassandra.records import HEAD_KIND, CassandraRecords
from dovemq.stores.cassandra.session import CassandraSession, CassandraStatements, Prepared, Rows
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.ports import LogRow
from dovemq.stores.owned.logged.positions import segment_of

TTL_MARGIN_SECONDS: Final = 3_600
"""Added to the time that a group must be kept, since the clocks of nodes differ."""
TTL_SECONDS_MAX: Final = 630_720_000
"""The largest that Cassandra accepts."""
SEGMENT_MAX: Final = (1 << 63) - 1
PAGE_BYTES: Final = 4 << 20
"""The size of a page that a scan aims at, by the sizes of the page before."""
PAGE_ROWS_FIRST: Final = 64
PAGE_ROWS_MIN: Final = 4
PAGE_ROWS_MAX: Final = 10_000
SEGMENTS_ROWS_MAX: Final = 1_000
READ_ROWS_MAX: Final = 16
"""Groups that one request reads by position."""
AT_ONCE_MAX: Final = 16
"""Segments that are dropped, or requests that read, at the same time."""
MOVES_MAX: Final = 20
"""Attempts to change a head that others change."""
_HEAD: Final = struct.Struct(">qq")


class CassandraLog:
    """The log, for the owner of one epoch."""

    def __init__(
        self,
        session: CassandraSession,
        statements: CassandraStatements,
        records: CassandraRecords,
        place: PartitionKey,
        epoch: int,
    ) -> None:
        self._session = session
        self._statements = statements
        self._head = LogHead(session, records, place)
        self._place = place
        self._epoch = epoch
        self._listed = -1
        self._trimmed = 0

    async def open(self) -> None:
        await self._head.open(self._epoch)

    async def append(self, position: int, group: bytes, keep_ms: int, *, grow: bool = True) -> None:
        """`grow` changes nothing: a full node stops, and the others go on without it."""
        segment = segment_of(position)
        if segment != self._listed:
            await self._session.ask(self._statements.note_segment, (*self._place, segment))
            self._listed = segment
        ttl = min(-(-keep_ms // 1_000) + TTL_MARGIN_SECONDS, TTL_SECONDS_MAX)
        values = (*self._place, segment, position, group, ttl)
        await self._session.ask(self._statements.append, values)

    async def read(self, positions: Sequence[int]) -> dict[int, bytes]:
        parts = [(*self._place, segment, part) for segment, part in _parts(positions)]
        results = await self._ask_all(self._statements.read, parts)
        return dict(row.as_tuple() for rows in results for row in rows)

    async def scan(self, first: int) -> AsyncIterator[list[LogRow]]:
        """The segments are those at the beginning of the scan; each is read to its end."""
        for segment in await self._segments(segment_of(first), SEGMENT_MAX):
            after, rows_max = first, PAGE_ROWS_FIRST
            while True:
                values = (*self._place, segment, after, rows_max)
                rows = await self._session.ask(self._statements.scan, values)
                page: list[LogRow] = [row.as_tuple() for row in rows]
                if page:
                    yield page
                if len(page) < rows_max:
                    break
                after, rows_max = page[-1][0] + 1, _rows_of_next_page(page)

    async def trim(self, before: int) -> None:
        end = segment_of(before)
        if end <= self._trimmed:
            return
        await self._drop(self._trimmed, end)
        self._trimmed = end

    async def bookmark(self) -> int:
        return (await self._head.read())[1]

    async def set_bookmark(self, position: int) -> None:
        await self._head.move(self._epoch, position)

    async def remove(self) -> None:
        """Remove all groups and the head. The range ends at the last segment that is listed."""
        if segments := await self._segments(0, SEGMENT_MAX):
            await self._drop(0, segments[-1] + 1)
        await self._head.remove()

    async def _drop(self, start: int, end: int) -> None:
        segments = await self._segments(start, end)
        places = [(*self._place, segment) for segment in segments]
        await self._ask_all(self._statements.drop_segment, places)
        if segments:
            await self._session.ask(self._statements.forget_segments, (*self._place, end))

    async def _ask_all(
        self, statement: Prepared, values: Sequence[tuple[object, ...]]
    ) -> list[Rows]:
        """Run a statement with each of the values, some at the same time."""
        results: list[Rows] = []
        for first in range(0, len(values), AT_ONCE_MAX):
            some = values[first : first + AT_ONCE_MAX]
            results += await asyncio.gather(*(self._session.ask(statement, each) for each in some))
        return results

    async def _segments(self, start: int, end: int) -> list[int]:
        segments: list[int] = []
        while True:
            values = (*self._place, start, end, SEGMENTS_ROWS_MAX)
            rows = await self._session.ask(self._statements.find_segments, values)
            segments.extend(row.segment for row in rows)
            if len(rows) < SEGMENTS_ROWS_MAX:
                return segments
            start = segments[-1] + 1


class LogHead:
    """The epoch and the bookmark of a log: a record that changes by compare-and-set."""

    def __init__(
        self, session: CassandraSession, records: CassandraRecords, place: PartitionKey
    ) -> None:
        self._session = session
        self._records = records
        self._place = place
        self._name = "{} {}".format(*place)

    async def read(self) -> tuple[int, int, int]:
        """Epoch, bookmark, and the version of the record; zeros if there is none."""
        record = await self._records.get(HEAD_KIND, self._name)
        if record is None:
            return 0, 0, 0
        epoch, bookmark = _HEAD.unpack(record.value)
        return epoch, bookmark, record.version

    async def open(self, epoch: int) -> None:
        for _ in range(MOVES_MAX):
            stored, bookmark, version = await self.read()
            if stored > epoch:
                raise OwnerChanged(*self._place)
            if version and stored == epoch:
                return
            if await self._put(epoch, bookmark, version):
                return
        raise self._contended()

    async def move(self, epoch: int, position: int) -> None:
        for _ in range(MOVES_MAX):
            stored, bookmark, version = await self.read()
            if stored != epoch or bookmark >= position:
                return
            if await self._put(epoch, position, version):
                return
        raise self._contended()

    async def remove(self) -> None:
        for _ in range(MOVES_MAX):
            _, _, version = await self.read()
            if not version or await self._records.remove(HEAD_KIND, self._name, version):
                return
        raise self._contended()

    async def _put(self, epoch: int, bookmark: int, version: int) -> bool:
        value = _HEAD.pack(epoch, bookmark)
        return await self._records.put(HEAD_KIND, self._name, value, version)

    def _contended(self) -> StoreUnreachable:
        return StoreUnreachable(self._session.name, "many front ends open the same partition")


def _parts(positions: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """The positions by segment, in lists of bounded length."""
    for segment, those in groupby(sorted(positions), segment_of):
        some = list(those)
        for first in range(0, len(some), READ_ROWS_MAX):
            yield segment, some[first : first + READ_ROWS_MAX]


def _rows_of_next_page(page: Sequence[LogRow]) -> int:
    mean_bytes = sum(len(group) for _, group in page) // len(page) + 1
    return min(max(PAGE_BYTES // mean_bytes, PAGE_ROWS_MIN), PAGE_ROWS_MAX)
