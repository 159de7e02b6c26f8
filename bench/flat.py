"""Whether cost stays flat as a backlog grows: CPU, memory and recovery.

    python -m bench.flat [--messages 1000000] [--rounds 20] [--fifo] [--json]

One server holds a shallow and a deep queue. CPU per receive and delete: 1,000 messages are
drained and topped up again, so that the backlog stays at its level; rounds alternate between the
two. Memory is what the deep backlog adds. Recovery is a start after kill -9 with a cold page
cache (dropping it needs root; the table says whether it was dropped).
"""

import contextlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec
import uvloop

from bench.backlog import Backlog
from bench.load import Access, Connection, Signer, connect
from bench.measured import (
    access_of,
    cpu_seconds,
    create_queue,
    dovemq_server,
    drop_page_cache,
    resident_bytes,
)
from bench.tables import Row, parser_of, show
from dovemq.testing.local_server import LocalServer

BODY_BYTES: Final = 1_024
SHALLOW: Final = 1_000
DRAINED: Final = 1_000
CONNECTIONS: Final = 32
WARM_UP: Final = 40_000
"""More than the server's cache of bodies holds."""
BASE_BYTES_MAX: Final = 150 * 1024 * 1024
MESSAGE_BYTES_MAX: Final = 250
RECOVERY_SECONDS_MAX: Final = 10


class Depth(NamedTuple):
    name: str
    backlog: Backlog


async def drain_cpu(pid: int, connections: list[Connection], depth: Depth, *, tens: bool) -> float:
    """Server CPU in microseconds per message received and deleted."""
    before = cpu_seconds(pid)
    await depth.backlog.drain(connections, DRAINED, tens=tens)
    spent = cpu_seconds(pid) - before
    await depth.backlog.fill(connections, DRAINED)
    return spent / DRAINED * 1e6


async def cpu_rows(
    pid: int, connections: list[Connection], depths: tuple[Depth, Depth], rounds: int
) -> list[Row]:
    rows: list[Row] = []
    for tens in (False, True):
        spent: dict[str, list[float]] = {depth.name: [] for depth in depths}
        for _ in range(rounds):
            for depth in depths:
                spent[depth.name].append(await drain_cpu(pid, connections, depth, tens=tens))
        shallow, deep = (statistics.median(spent[depth.name]) for depth in depths)
        rows.append(
            {
                "measure": f"CPU µs per receive+delete, {'tens' if tens else 'singles'}",
                "shallow": round(shallow, 1),
                "deep": round(deep, 1),
                "ratio": round(deep / shallow, 3),
                "bound": 1.6 if tens else 1.3,
            }
        )
    return rows


def memory_rows(base: int, full: int, messages: int) -> list[Row]:
    """The baseline has a full cache of bodies, so that the added memory is the backlog's own."""
    return [
        {
            "measure": "memory, MiB",
            "shallow": round(base / 2**20, 1),
            "deep": round(full / 2**20, 1),
            "ratio": round(base / BASE_BYTES_MAX, 3),
            "bound": 1,
        },
        {
            "measure": "memory, bytes per message",
            "shallow": None,
            "deep": round((full - base) / messages, 1),
            "ratio": round((full - base) / messages / MESSAGE_BYTES_MAX, 3),
            "bound": 1,
        },
    ]


async def recovery_row(server: LocalServer) -> Row:
    server.kill()
    cold = drop_page_cache()
    begun = time.monotonic()
    server.start()
    access = access_of(server)
    (connection,) = await connect(access.port, 1)
    body = msgspec.json.encode({"QueueName": "deep"})
    await connection.ask(Signer(access).request("GetQueueUrl", body))
    seconds = time.monotonic() - begun
    connection.close()
    return {
        "measure": f"recovery, seconds, page cache {'cold' if cold else 'warm'}",
        "shallow": None,
        "deep": round(seconds, 2),
        "ratio": round(seconds / RECOVERY_SECONDS_MAX, 3),
        "bound": 1,
    }


async def measure(
    messages: int, rounds: int, *, fifo: bool, note: Callable[[str], None]
) -> list[Row]:
    with contextlib.ExitStack() as servers:
        server = servers.enter_context(dovemq_server())
        access = access_of(server)
        connections = await connect(access.port, CONNECTIONS)
        suffix, attributes = (".fifo", {"FifoQueue": "true"}) if fifo else ("", {})
        depths = (
            Depth("shallow", await _backlog(access, "shallow" + suffix, attributes, fifo=fifo)),
            Depth("deep", await _backlog(access, "deep" + suffix, attributes, fifo=fifo)),
        )
        await depths[0].backlog.fill(connections, SHALLOW + WARM_UP)
        await depths[0].backlog.drain(connections, WARM_UP, tens=True)
        base = resident_bytes(server.pid)
        note(f"filling {messages:,} messages")
        await depths[1].backlog.fill(connections, messages)
        full = resident_bytes(server.pid)
        note("draining and topping up")
        rows = await cpu_rows(server.pid, connections, depths, rounds)
        rows += memory_rows(base, full, messages)
        note("recovering")
        for connection in connections:
            connection.close()
        rows.append(await recovery_row(server))
        return rows


async def _backlog(access: Access, name: str, attributes: dict[str, str], *, fifo: bool) -> Backlog:
    url = await create_queue(access, name, **attributes)
    return Backlog(access, url, BODY_BYTES, fifo=fifo)


def main(arguments: list[str]) -> None:
    parser = parser_of("flat", __doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--fifo", action="store_true", help="FIFO, one group per message")
    options = parser.parse_args(arguments)
    rows = uvloop.run(
        measure(
            options.messages,
            options.rounds,
            fifo=options.fifo,
            note=lambda text: print(text, file=sys.stderr, flush=True),
        )
    )
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
