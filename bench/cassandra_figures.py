"""Figures of the table `log` from the virtual tables of each node of Cassandra.

A node counts for itself: its figures come from a connection to that node, and a read at `QUORUM` is
a read of two nodes. The histograms fade within minutes, so that they show the present. They have no
zero: 1 means one or none.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from dovemq.stores.cassandra.location import CassandraLocation
from dovemq.stores.cassandra.session import CassandraSession, open_session
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.positions import SEGMENT_BITS

TABLE: Final = "log"
_VIEW: Final = (
    "SELECT {} FROM system_views.{} WHERE keyspace_name = '{}' AND table_name = '" + TABLE + "'"
)
_SEGMENTS: Final = "SELECT segment FROM {}.segments WHERE queue = {} AND partition = {}"
_ROWS: Final = (
    "SELECT count(*) AS count FROM {}." + TABLE + " "
    "WHERE queue = {} AND partition = {} AND segment = {}"
)


class LogFigures(Struct, frozen=True):
    """`reads` is a sum over the nodes since their start, all else the highest of any node."""

    reads: int
    rows_p99: float
    rows_max: float
    tombstones_p99: float
    tombstones_max: float
    disk_mib: int


class LogSegments(Struct, frozen=True):
    """Segments that exist, and the number that this owner has made in all."""

    live: Sequence[int]
    made: int


class CassandraFigures:
    def __init__(self, session: CassandraSession, location: CassandraLocation) -> None:
        self._session = session
        self._keyspace = location.keyspace
        self._hosts = location.hosts

    async def figures(self) -> LogFigures:
        reads = await self._view("count", "local_read_latency")
        rows = await self._view("p99th, max", "rows_per_read")
        tombstones = await self._view("p99th, max", "tombstones_per_read")
        disk = await self._view("mebibytes", "disk_usage")
        return LogFigures(
            reads=sum(int(count) for (count,) in reads),
            rows_p99=max(p99 for p99, _ in rows),
            rows_max=max(most for _, most in rows),
            tombstones_p99=max(p99 for p99, _ in tombstones),
            tombstones_max=max(most for _, most in tombstones),
            disk_mib=max(int(mebibytes) for (mebibytes,) in disk),
        )

    async def segments(self, place: PartitionKey) -> LogSegments:
        rows = await self._session.run(_SEGMENTS.format(self._keyspace, *place))
        live = sorted(row.segment for row in rows)
        return LogSegments(live, (live[-1] & ((1 << SEGMENT_BITS) - 1)) + 1)

    async def rows(self, place: PartitionKey, segments: Sequence[int]) -> list[int]:
        """The rows of each segment. This reads them all, which the figures show from then on."""
        asked = [_ROWS.format(self._keyspace, *place, segment) for segment in segments]
        return [int((await self._session.run(text)).first().count) for text in asked]

    async def _view(self, columns: str, view: str) -> list[tuple[float, ...]]:
        """One row for each node."""
        text = _VIEW.format(columns, view, self._keyspace)
        found = [(await self._session.run(text, host)).first() for host in self._hosts]
        return [row.as_tuple() for row in found]


@asynccontextmanager
async def cassandra_figures(location: CassandraLocation) -> AsyncIterator[CassandraFigures]:
    session = await open_session(location, None)
    try:
        yield CassandraFigures(session, location)
    finally:
        await session.close()
