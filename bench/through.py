"""Whether Cassandra stays as quick as at first while many messages go through one queue.

    python -m bench.through [--messages 1000000] [--backlog 60000] [--json]

One front end on a real Cassandra of three nodes, all on this machine. The queue is first filled
with a backlog, which is larger than the front end's cache of bodies: every message that is received
then comes from the log. After that each of 32 connections sends ten messages, receives ten and
deletes ten, over and over, so that the backlog stays as it is. One line for each tenth of the
messages: latencies of the requests in milliseconds (median and 99th percentile), segments of the
log, and what the nodes count of the table `log` (`bench/cassandra_figures.py`).

    segments    those that exist at the end of the tenth
    made        those that were ever made
    reads       reads of all nodes in this tenth
    rows_max    most rows of a read, in the last minutes; `tombstones` likewise, where 1 is none
    disk_mib    size of the table on the fullest node

Bars: in the last tenth no latency is more than twice that of the second tenth, since the first
measures the compiler of the JVM; a read touches at most as many rows as one request may ask for,
and no tombstones to speak of; the segments are not more than the policy of logs allows for the
backlog. At the end all that was not deleted must be counted.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import uvloop

from bench.backlog import Backlog, counted
from bench.cassandra_figures import CassandraFigures, LogFigures, cassandra_figures
from bench.load import Connection, connect, received
from bench.measured import create_queue
from bench.shared_records import only_partition, opened
from bench.shared_stores import StoreUnderTest, store_under_test
from bench.tables import Row, parser_of, show
from dovemq.stores.cassandra.location import parse_cassandra_url
from dovemq.stores.cassandra.log import READ_ROWS_MAX
from dovemq.stores.owned.group import PartitionKey
from dovemq.stores.owned.logged.policy import LogPolicy

BODY_BYTES: Final = 100
MESSAGE_BYTES_MAX: Final = 300
"""The size of such a message in the log, with its delete and its leases, is less than this."""
CONNECTIONS: Final = 32
PARTS: Final = 10
SLOWER_MAX: Final = 2.0
TOMBSTONES_MAX: Final = 10
HISTOGRAM_ERROR: Final = 1.2
"""The nodes' histograms round up by at most this factor."""
SEGMENTS_SPARE: Final = 4
"""Segments that are open, that are being emptied, or that a snapshot under way adds."""
LATENCIES: Final = ("send_p50", "send_p99", "receive_p50", "receive_p99")

Note = Callable[[str], None]
Cells = dict[str, str | int | float | bool | None]


class Latencies(NamedTuple):
    """Milliseconds of each request."""

    send: list[float]
    receive: list[float]


def segments_max(backlog: int) -> int:
    """The segments that a log with this backlog may have; `policy.py` gives the reasons."""
    policy = LogPolicy()
    backlog_bytes = backlog * MESSAGE_BYTES_MAX
    settled = max(2 * backlog_bytes, policy.clean_bytes_min)
    return -(-(settled + policy.snapshot_bytes_min) // policy.segment_bytes) + SEGMENTS_SPARE


async def cycles(
    connection: Connection, backlog: Backlog, left: Iterator[int], into: Latencies
) -> None:
    """Send, receive and delete ten messages at a time while there are any left."""
    for _ in left:
        begun = time.perf_counter()
        await connection.must(backlog.load.send_ten)
        sent = time.perf_counter()
        messages = received(await connection.must(backlog.load.receive_ten)).Messages
        into.receive.append((time.perf_counter() - sent) * 1_000)
        into.send.append((sent - begun) * 1_000)
        if len(messages) != 10:
            raise ValueError(f"{len(messages)} messages were received instead of ten")
        receipts = [message.ReceiptHandle for message in messages]
        await connection.must(backlog.load.delete_all(receipts))


def percentiles(name: str, values: Sequence[float]) -> Cells:
    points = statistics.quantiles(values, n=100)
    return {f"{name}_p50": round(points[49], 1), f"{name}_p99": round(points[98], 1)}


class Passage:
    """The messages that go through the queue, and what is seen meanwhile."""

    def __init__(
        self,
        connections: list[Connection],
        backlog: Backlog,
        figures: CassandraFigures,
        place: PartitionKey,
    ) -> None:
        self._connections = connections
        self._backlog = backlog
        self._figures = figures
        self._place = place

    async def part(self, messages: int) -> Cells:
        """One line of the table."""
        before = await self._figures.figures()
        latencies, left = Latencies([], []), iter(range(0, messages, 10))
        begun = time.monotonic()
        await asyncio.gather(
            *(cycles(each, self._backlog, left, latencies) for each in self._connections)
        )
        seconds = time.monotonic() - begun
        return {
            "per_s": round(messages / seconds),
            **percentiles("send", latencies.send),
            **percentiles("receive", latencies.receive),
            **await self._seen(before),
        }

    async def _seen(self, before: LogFigures) -> Cells:
        now = await self._figures.figures()
        segments = await self._figures.segments(self._place)
        return {
            "segments": len(segments.live),
            "made": segments.made,
            "reads": now.reads - before.reads,
            "rows_p99": now.rows_p99,
            "rows_max": now.rows_max,
            "tombstones_p99": now.tombstones_p99,
            "tombstones_max": now.tombstones_max,
            "disk_mib": now.disk_mib,
        }

    async def remaining(self) -> tuple[int, list[int]]:
        """The messages that are counted at the end, and the rows of each segment."""
        count = counted(await self._connections[0].must(self._backlog.count()))
        segments = await self._figures.segments(self._place)
        return count, await self._figures.rows(self._place, segments.live)


def judged(rows: Sequence[Cells], backlog: int) -> list[Row]:
    """Add whether each line keeps the bars; latencies count in the last one alone."""
    for row in rows:
        row["holds"] = (
            _number(row["segments"]) <= segments_max(backlog)
            and _number(row["rows_max"]) <= READ_ROWS_MAX * HISTOGRAM_ERROR
            and _number(row["tombstones_max"]) <= TOMBSTONES_MAX
        )
    second, last = rows[1], rows[-1]
    slower = {name: _number(last[name]) / _number(second[name]) for name in LATENCIES}
    last["holds"] = last["holds"] and max(slower.values()) <= SLOWER_MAX
    ratios: Cells = {"messages": "last/second"}
    ratios |= {name: round(ratio, 2) for name, ratio in slower.items()}
    return [*rows, ratios]


def _number(value: str | float | None) -> float:
    return float(value or 0)


async def measure(store: StoreUnderTest, messages: int, level: int, note: Note) -> list[Row]:
    assert store.database is not None
    (access,) = store.accesses
    url = store.database.url
    backlog = Backlog(access, await create_queue(access), BODY_BYTES)
    connections = await connect(access.port, CONNECTIONS)
    note(f"filling the queue with {level:,} messages")
    await backlog.fill(connections, level)
    async with opened(store.name, url) as database:
        place = await only_partition(database)
    rows: list[Cells] = []
    async with cassandra_figures(parse_cassandra_url(url)) as figures:
        passage = Passage(connections, backlog, figures, place)
        for part in range(1, PARTS + 1):
            rows.append({"messages": part * messages // PARTS})
            rows[-1] |= await passage.part(messages // PARTS)
            note(str(rows[-1]))
        count, of_segments = await passage.remaining()
    for connection in connections:
        connection.close()
    note(f"{count:,} messages are left; rows of the segments: {of_segments}")
    table = judged(rows, level)
    rows[-1]["holds"] = bool(rows[-1]["holds"]) and count == level
    return table


def main(arguments: list[str]) -> int:
    parser = parser_of("through", __doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--backlog", type=int, default=60_000)
    options = parser.parse_args(arguments)

    def note(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    note("starting Cassandra")
    with store_under_test("cassandra") as store:
        rows = uvloop.run(measure(store, options.messages, options.backlog, note))
    show(rows, as_json=options.json)
    return 0 if all(row.get("holds", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
