"""The cost of a message under each coordination: CPU of the front end and of the database.

    python -m bench.coordination [--messages 2000] [--rounds 3] [--json]

A front end inside this process (no HTTP) sends, receives and settles messages of 256 bytes, singly
by 16 callers at a time and in batches of ten: on the embedded store, and on a Cassandra cluster of
three nodes on this machine under `lease`, `none` and `serial`. One round of all warms the database
up and is not counted; medians of the others. CPU in µs per message, the whole lifecycle.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import uvloop

from bench.measured import cpu_seconds
from bench.tables import Row, parser_of, show
from dovemq.bootstrap.opening import Opened, open_service
from dovemq.core.commands import Ask, Draft
from dovemq.core.ports import Partition
from dovemq.core.queue import QueueKey
from dovemq.stores.urls import parse_path, parse_store_url
from dovemq.system.clock import SystemClock
from dovemq.testing.local_cassandra import LocalCassandra

CALLERS: Final = 16
LEASE_MS: Final = 60_000
BODY: Final = "x" * 256
ACCOUNT: Final = "000000000000"
SHAPES: Final = {"singles": 1, "tens": 10}


class Cell:
    """One mode and shape."""

    def __init__(self, opened: Opened, store: str, coordination: str, shape: str) -> None:
        self.store = store
        self.coordination = coordination
        self.shape = shape
        self.own: list[float] = []
        self.database: list[float] = []
        self.rate: list[float] = []
        self._opened = opened

    async def run(self, messages: int, pids: Sequence[int]) -> None:
        name = f"{self.coordination}-{self.shape}-{time.time_ns() // 1_000_000}"
        changes = {"coordination": self.coordination}
        queue = await self._opened.service.queues.create(QueueKey(ACCOUNT, name), changes, {})
        partition = self._opened.fabric.partition(queue, 0)
        own, database, began = time.process_time(), _spent(pids), time.monotonic()
        settled = await _lifecycles(partition, messages, SHAPES[self.shape])
        assert settled >= messages, (settled, messages)
        self.own.append((time.process_time() - own) / messages * 1e6)
        self.database.append((_spent(pids) - database) / messages * 1e6)
        self.rate.append(messages / (time.monotonic() - began))

    def forget(self) -> None:
        """The round so far was to warm up."""
        for figures in (self.own, self.database, self.rate):
            figures.clear()

    def row(self) -> Row:
        return {
            "store": self.store,
            "coordination": self.coordination,
            "shape": self.shape,
            "front end": statistics.median(self.own),
            "database": statistics.median(self.database),
            "messages/s": statistics.median(self.rate),
        }


def _spent(pids: Sequence[int]) -> float:
    return sum(map(cpu_seconds, pids))


async def _lifecycles(partition: Partition, messages: int, size: int) -> int:
    """All messages are sent first, then received and settled; both by some callers at a time."""
    now_ms = SystemClock().now_ms
    left = messages
    settled = 0

    async def send() -> None:
        nonlocal left
        while left > 0:
            left -= size
            drafts = [Draft(f"{left}-{number}", BODY, ACCOUNT) for number in range(size)]
            await partition.send(drafts, now_ms())

    async def receive() -> None:
        nonlocal settled
        while True:
            leased = await partition.lease(Ask(size, LEASE_MS), now_ms())
            if not leased.messages:
                return
            settled += len(leased.messages)
            await partition.settle([each.receipt for each in leased.messages], now_ms())

    await asyncio.gather(*(send() for _ in range(CALLERS)))
    while settled < messages:
        await asyncio.gather(*(receive() for _ in range(CALLERS)))
    return settled


async def _measure(place: Path, messages: int, rounds: int) -> list[Row]:
    with LocalCassandra(place / "cassandra") as cluster:
        pids = [each.pid for node in range(cluster.nodes) for each in cluster.processes(node)]
        embedded = await open_service(parse_path(place / "embedded"))
        shared = await open_service(parse_store_url(cluster.url, place))
        try:
            cells = [Cell(embedded, "embedded", "lease", shape) for shape in SHAPES]
            for coordination in ("lease", "none", "serial"):
                cells += [Cell(shared, "cassandra", coordination, shape) for shape in SHAPES]
            for number in range(rounds + 1):
                for cell in cells:
                    await cell.run(messages, pids)
                    if not number:
                        cell.forget()
            return [cell.row() for cell in cells]
        finally:
            await shared.close()
            await embedded.close()


def main() -> int:
    parser = parser_of("coordination", __doc__)
    parser.add_argument("--messages", type=int, default=2_000, help="messages of each cell")
    parser.add_argument("--rounds", type=int, default=3, help="counted rounds")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = uvloop.run(_measure(Path(folder), args.messages, args.rounds))
    show(rows, as_json=args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
