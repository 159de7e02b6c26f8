"""How soon a partition with a million messages is served again after its front end was killed.

    python -m bench.takeover [--store redis|cassandra|postgres] [--messages 1000000] [--fifo]
                             [--rounds 3] [--json]

Two front ends share a real database on this machine, all of it in processes of their own. One queue
is filled in batches of ten over 32 connections. Then, in each round, the front end that owns it is
killed (SIGKILL) and a client asks the other one for a message until it gets it.

The *end of the lease* is the last heartbeat of the dead front end, and then the lease and the
margin of `LeaseTimes` (7 s): before that nobody may take its partitions. The heartbeat is read from
the database every 50 ms, and the beginning of the interval in which it appeared counts. The moment
of the kill lies at random between two heartbeats. Columns, in seconds:

    killed_s   from the kill to the first message
    dead_s     from the end of the lease until the front end was declared dead
    first_s    from the end of the lease to the first message
    all_s      from the end of the lease until the counters were answered, with all in the index
    opening_s  the time in which the other front end opened the partition: it read `read_mb`
               megabytes of the log, those since the newest snapshot of the index began

`counted` must be all messages. `bytes` is the memory that a message adds to the process that has
taken the queue over, without its body, after the counters were answered. Killed and other front
ends are started again before the next round, so that all have fresh memory. The first line is the
embedded server, killed and started again in the same run: there is no lease, and `first_s` counts
from the start of the process.
"""

import asyncio
import contextlib
import random
import sys
import time
from collections.abc import Callable
from typing import Final

import uvloop

from bench.backlog import Backlog, counted
from bench.load import Connection, connect, received
from bench.measured import access_of, create_queue, resident_bytes
from bench.shared_records import HeartbeatWatch, bytes_to_read, opened, watched
from bench.shared_stores import EMBEDDED, SHARED, StoreUnderTest, store_under_test
from bench.tables import Row, parser_of, show
from dovemq.client.admin import AdminClient
from dovemq.client.admin_session import Document
from dovemq.cluster.sightings import LeaseTimes
from dovemq.testing.local_server import LocalServer

BODY_BYTES: Final = 100
CONNECTIONS: Final = 32
FIRST_SECONDS_MAX: Final = 3.0
MESSAGE_BYTES_MAX: Final = 250
"""The bound of `bench.flat` for the embedded store."""
MEMORY_RATIO_MAX: Final = 1.25
TRIES_MAX: Final = 1_000
"""Requests that are refused before a measurement gives up."""
PAUSE_SECONDS: Final = 0.1
"""A client that was refused asks again after this long."""
WAIT_SECONDS: Final = 20
"""The long poll of the client."""
SETTLE_SECONDS: Final = 2.0
"""Memory is read this long after the counters were answered."""
NOTE_EVERY: Final = 100_000

Note = Callable[[str], None]


class Figures:
    """Times of one takeover on the clock of `time.monotonic`."""

    def __init__(self) -> None:
        self.began_at = time.monotonic()
        self.first_at = 0.0
        self.all_at = 0.0
        self.counted = 0


async def insist(connection: Connection, request: Callable[[], bytes]) -> bytes:
    """Ask until the request is accepted, as a client does that is told to try later."""
    for _ in range(TRIES_MAX):
        answer = await connection.ask(request())
        if answer.status == 200:
            return answer.body
        await asyncio.sleep(PAUSE_SECONDS)
    raise TimeoutError(f"refused {TRIES_MAX} times, at last with {answer}")


async def awaited(server: LocalServer, backlog: Backlog) -> Figures:
    """Ask this server for a message and then for the counters; the times begin now."""
    figures = Figures()
    (connection,) = await connect(access_of(server).port, 1)
    try:
        asked: dict[str, object] = {"WaitTimeSeconds": WAIT_SECONDS, "MaxNumberOfMessages": 1}
        answer = await insist(connection, lambda: backlog.load.request("ReceiveMessage", **asked))
        figures.first_at = time.monotonic()
        if [len(each.Body) for each in received(answer).Messages] != [BODY_BYTES]:
            raise ValueError("the answer is not the message that was sent")
        figures.counted = counted(await insist(connection, backlog.count))
        figures.all_at = time.monotonic()
    finally:
        connection.close()
    return figures


async def backlog_at(server: LocalServer, *, fifo: bool) -> Backlog:
    access = access_of(server)
    name, attributes = ("deep.fifo", {"FifoQueue": "true"}) if fifo else ("deep", {})
    url = await create_queue(access, name, **attributes)
    return Backlog(access, url, BODY_BYTES, fifo=fifo)


async def fill(server: LocalServer, backlog: Backlog, messages: int, note: Note) -> None:
    began = time.monotonic()

    def sent(number: int) -> None:
        if number % NOTE_EVERY == 0:
            note(f"{number:,} messages after {time.monotonic() - began:.0f} s")

    connections = await connect(access_of(server).port, CONNECTIONS)
    await backlog.fill(connections, messages, sent)
    for connection in connections:
        connection.close()


async def settled_memory(server: LocalServer) -> int:
    await asyncio.sleep(SETTLE_SECONDS)
    return resident_bytes(server.pid)


async def embedded_row(
    messages: int, *, fifo: bool, note: Note
) -> dict[str, str | int | float | bool | None]:
    with store_under_test(EMBEDDED) as store:
        (server,) = store.front_ends
        backlog = await backlog_at(server, fifo=fifo)
        base = await settled_memory(server)
        note(f"filling the embedded server with {messages:,} messages")
        await fill(server, backlog, messages, note)
        server.kill()
        began = time.monotonic()
        server.start()
        figures = await awaited(server, await backlog_at(server, fifo=fifo))
        memory = await settled_memory(server) - base
    return {
        "store": EMBEDDED,
        "round": 1,
        "messages": messages,
        "first_s": round(figures.first_at - began, 2),
        "all_s": round(figures.all_at - began, 2),
        "counted": figures.counted,
        "bytes": round(memory / messages, 1),
    }


class Takeovers:
    """One store with two front ends and a full queue."""

    def __init__(self, store: StoreUnderTest, messages: int, *, fifo: bool, note: Note) -> None:
        assert store.database is not None
        self._store = store
        self._url = store.database.url
        self._messages = messages
        self._fifo = fifo
        self._note = note
        self._rng = random.Random()

    async def fill(self) -> None:
        """Fill the queue at its owner."""
        owner, _ = await self._owner_first()
        self._note(f"filling {self._store.name} with {self._messages:,} messages")
        await fill(owner, await backlog_at(owner, fifo=self._fifo), self._messages, self._note)

    async def round(self, number: int) -> dict[str, str | int | float | bool | None]:
        """Kill the owner and measure the other one; afterwards both are fresh processes."""
        owner, taker = await self._owner_first()
        backlog = await backlog_at(taker, fifo=self._fifo)
        base = resident_bytes(taker.pid)
        self._note(f"round {number}: killing the owner")
        async with (
            opened(self._store.name, self._url) as database,
            watched(database, await incarnation_of(owner)) as watch,
        ):
            to_read = await bytes_to_read(database)
            await watch.await_beat()
            await asyncio.sleep(self._rng.random() * LeaseTimes().heartbeat_ms / 1_000)
            owner.kill()
            figures = await awaited(taker, backlog)
            while watch.dead_at is None:
                await asyncio.sleep(PAUSE_SECONDS)
        memory = await settled_memory(taker) - base
        row = self._row(number, watch, figures, memory)
        row["read_mb"] = round(to_read / 1e6, 1)
        row["opening_s"] = (await cluster_of(taker))["recoveries"]["opening_ms_max"] / 1_000
        self._note(str(row))
        await asyncio.to_thread(self._renew, owner, taker)
        return row

    def _row(
        self, number: int, watch: HeartbeatWatch, figures: Figures, memory: int
    ) -> dict[str, str | int | float | bool | None]:
        end = watch.lease_ends_at
        return {
            "store": self._store.name,
            "round": number,
            "messages": self._messages,
            "killed_s": round(figures.first_at - figures.began_at, 2),
            "dead_s": round((watch.dead_at or end) - end, 2),
            "first_s": round(figures.first_at - end, 2),
            "all_s": round(figures.all_at - end, 2),
            "counted": figures.counted,
            "bytes": round(memory / self._messages, 1),
        }

    async def _owner_first(self) -> tuple[LocalServer, LocalServer]:
        """The front ends, the one that owns the queue first; the index is loaded there."""
        one, other = self._store.front_ends
        (connection,) = await connect(access_of(one).port, 1)
        await insist(connection, (await backlog_at(one, fifo=self._fifo)).count)
        # The owner is the one that is wanted: it may have to be handed over first.
        await asyncio.sleep(LeaseTimes().heartbeat_ms / 1_000)
        await insist(connection, (await backlog_at(one, fifo=self._fifo)).count)
        connection.close()
        (partition,) = (await cluster_of(one))["partitions"]
        own = await incarnation_of(one)
        return (one, other) if partition["front_end"] == own else (other, one)

    def _renew(self, owner: LocalServer, taker: LocalServer) -> None:
        """Start the owner again, which gets its queue back, then the other one."""
        owner.start()
        taker.stop()
        taker.start()


async def cluster_of(server: LocalServer) -> Document:
    async with AdminClient(server.admin_url, server.access_key) as admin:
        return await admin.cluster()


async def incarnation_of(server: LocalServer) -> int:
    return int((await cluster_of(server))["front_end"])


def judged(row: dict[str, str | int | float | bool | None], embedded: Row) -> Row:
    """The row with whether it keeps the bars, and its memory divided by the embedded server's."""
    used, reference = float(row["bytes"] or 0), float(embedded["bytes"] or 1)
    row["ratio"] = round(used / reference, 2)
    row["holds"] = (
        row["counted"] == row["messages"]
        and float(row["first_s"] or 0) <= FIRST_SECONDS_MAX
        and used <= max(MESSAGE_BYTES_MAX, MEMORY_RATIO_MAX * reference)
    )
    return row


async def measure(name: str, messages: int, rounds: int, *, fifo: bool, note: Note) -> list[Row]:
    embedded = await embedded_row(messages, fifo=fifo, note=note)
    rows: list[Row] = [embedded]
    with contextlib.ExitStack() as ending:
        note(f"starting {name}")
        store = ending.enter_context(store_under_test(name))
        store.add_front_end()
        takeovers = Takeovers(store, messages, fifo=fifo, note=note)
        await takeovers.fill()
        rows += [judged(await takeovers.round(number), embedded) for number in range(1, rounds + 1)]
    return rows


def main(arguments: list[str]) -> int:
    parser = parser_of("takeover", __doc__)
    parser.add_argument("--store", choices=SHARED, default=SHARED[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fifo", action="store_true", help="FIFO, one group per message")
    options = parser.parse_args(arguments)
    rows = uvloop.run(
        measure(
            options.store,
            options.messages,
            options.rounds,
            fifo=options.fifo,
            note=lambda text: print(text, file=sys.stderr, flush=True),
        )
    )
    show(rows, as_json=options.json)
    return 0 if all(row.get("holds", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
