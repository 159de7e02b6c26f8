"""The cost of idle long polls, and how many polls a send wakes.

    python -m bench.polls [--connections 2000] [--seconds 20] [--json]

All connections poll for 20 seconds again and again, once on one queue and once spread over 200.
The server's CPU is taken over the given time while nothing is sent; then one message is sent and
must be delivered to exactly one of them.
"""

import asyncio
import contextlib
import resource
import sys
import time
from typing import Final

import uvloop

from bench.load import Access, Connection, Load, Signer, connect
from bench.measured import access_of, cpu_seconds, create_queue, dovemq_server
from bench.tables import Row, parser_of, show

WAIT_SECONDS: Final = 20
QUEUES: Final = 200
BOUND_SHARE: Final = 0.02
_SETTLE_SECONDS: Final = 2.0
_BODY_BYTES: Final = 100


class Pollers:
    """Connections that poll until they are stopped and count received messages."""

    def __init__(self) -> None:
        self.answers = 0
        self.messages = 0
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, connection: Connection, load: Load) -> None:
        self._tasks.append(asyncio.create_task(self._poll(connection, load)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _poll(self, connection: Connection, load: Load) -> None:
        while True:
            body = await connection.must(load.receive)
            self.answers += 1
            self.messages += body.count(b'"ReceiptHandle"')


async def measure(access: Access, pid: int, queues: int, connections: int, seconds: float) -> Row:
    signer = Signer(access)
    urls = [await create_queue(access, f"polled-{queues}-{number}") for number in range(queues)]
    loads = [Load(signer, url, _BODY_BYTES, WAIT_SECONDS) for url in urls]
    made = await connect(access.port, connections)
    pollers = Pollers()
    for number, connection in enumerate(made):
        pollers.start(connection, loads[number % queues])
    await asyncio.sleep(_SETTLE_SECONDS)
    before, begun = cpu_seconds(pid), time.monotonic()
    await asyncio.sleep(seconds)
    share = (cpu_seconds(pid) - before) / (time.monotonic() - begun)
    woken = await _woken_by_a_send(access, loads[0], pollers)
    await pollers.stop()
    for connection in made:
        connection.close()
    return {
        "connections": connections,
        "queues": queues,
        "share_of_a_core": round(share, 4),
        "bound": BOUND_SHARE,
        "woken_by_one_send": woken,
    }


async def _woken_by_a_send(access: Access, load: Load, pollers: Pollers) -> int:
    before = pollers.messages
    (sender,) = await connect(access.port, 1)
    await sender.must(load.send)
    await asyncio.sleep(_SETTLE_SECONDS)
    sender.close()
    return pollers.messages - before


async def run(connections: int, seconds: float) -> list[Row]:
    rows = []
    for queues in (1, QUEUES):
        with contextlib.ExitStack() as servers:
            server = servers.enter_context(dovemq_server())
            row = await measure(access_of(server), server.pid, queues, connections, seconds)
            rows.append(row)
    return rows


def main(arguments: list[str]) -> None:
    parser = parser_of("polls", __doc__)
    parser.add_argument("--connections", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows = uvloop.run(run(options.connections, options.seconds))
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
