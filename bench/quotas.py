"""The effect on one account when another floods the server beyond its quota.

    python -m bench.quotas [--rounds 5] [--seconds 12] [--connections 200] [--json]

One account has a quota of requests per second. In each round the other account sends, receives and
deletes at its own calm pace, first alone and then during the flood: requests fall due at ten times
the quota, whatever happens to the earlier ones. They are sent over connections
that stay open ("kept"), or each over a new one, as a client does that gives up a connection when
it is refused ("new"). A request that falls due while every connection waits is held back.

Bounds: the calm account's p99 at most doubles, the server takes less than 0.7 of its core.
"""

import asyncio
import collections
import contextlib
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import uvloop

from bench.load import Access, Answer, Connection, Load, Signer, connect, received
from bench.measured import cpu_seconds, create_queue
from bench.tables import Row, parser_of, show
from dovemq.bootstrap.opening import open_service
from dovemq.core.access import AccessKey
from dovemq.core.accounts import Quotas
from dovemq.stores.urls import EMBEDDED, parse_store_url
from dovemq.testing.local_server import LocalServer

QUOTA: Final = 200
FACTOR: Final = 10
CALM_PER_SECOND: Final = 100
CONNECTIONS: Final = 200
RATIO_BOUND: Final = 2.0
SHARE_BOUND: Final = 0.7
_BODY_BYTES: Final = 1_000
_STEP_SECONDS: Final = 0.005
_KINDS: Final = ("quiet", "kept", "new")


class Phase(NamedTuple):
    latencies: list[float]
    share: float
    flood: collections.Counter[str]

    def percentile(self, share: float) -> float:
        """Milliseconds."""
        ordered = sorted(self.latencies)
        return 1_000 * ordered[min(int(len(ordered) * share), len(ordered) - 1)]


class Flood:
    """Requests fall due at a fixed pace; `ask` sends each, and none waits for another."""

    def __init__(self, ask: Callable[[], Awaitable[Answer] | None]) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self._ask = ask
        self._asking: set[asyncio.Future[None]] = set()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        for task in (self._task, *self._asking):
            task.cancel()
        await asyncio.gather(self._task, *self._asking, return_exceptions=True)

    async def _run(self) -> None:
        begun, done = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - begun) * QUOTA * FACTOR)
            for _ in range(due - done):
                self._send()
            done = due
            await asyncio.sleep(_STEP_SECONDS)

    def _send(self) -> None:
        self.counts["due"] += 1
        asked = self._ask()
        if asked is None:
            self.counts["held back"] += 1
            return
        self.counts["sent"] += 1
        task = asyncio.ensure_future(self._count(asked))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _count(self, asked: Awaitable[Answer]) -> None:
        try:
            status = (await asked).status
        except OSError:
            self.counts["broken"] += 1
            return
        self.counts["passed" if status == 200 else "throttled"] += 1


def kept(connections: list[Connection], request: bytes) -> Callable[[], Awaitable[Answer] | None]:
    idle = collections.deque(connections)

    async def answered(connection: Connection) -> Answer:
        answer = await connection.ask(request)
        idle.append(connection)
        return answer

    return lambda: answered(idle.popleft()) if idle else None


def anew(port: int, request: bytes, connections_max: int) -> Callable[[], Awaitable[Answer] | None]:
    open_now = 0

    async def answered() -> Answer:
        nonlocal open_now
        open_now += 1
        try:
            (connection,) = await connect(port, 1)
            try:
                return await connection.ask(request)
            finally:
                connection.close()
        finally:
            open_now -= 1

    return lambda: answered() if open_now < connections_max else None


async def calm(connection: Connection, load: Load, seconds: float) -> list[float]:
    """The time of each request, at a fixed pace."""
    latencies: list[float] = []
    begun = time.monotonic()

    async def timed(request: bytes) -> bytes:
        due = begun + len(latencies) / CALM_PER_SECOND
        await asyncio.sleep(max(due - time.monotonic(), 0))
        sent = time.perf_counter()
        body = await connection.must(request)
        latencies.append(time.perf_counter() - sent)
        return body

    while time.monotonic() < begun + seconds:
        await timed(load.send)
        for message in received(await timed(load.receive)).Messages:
            await timed(load.delete(message.ReceiptHandle))
    return latencies


class Bench:
    def __init__(
        self, pid: int, accesses: Sequence[Access], seconds: float, connections: int
    ) -> None:
        self._pid = pid
        self._flooded, self._calm = accesses
        self._seconds = seconds
        self._connections = connections
        self._flooded_url = self._calm_url = ""

    async def prepare(self) -> None:
        self._flooded_url = await create_queue(self._flooded, "flooded")
        self._calm_url = await create_queue(self._calm, "calm")

    async def phase(self, kind: str) -> Phase:
        load = Load(Signer(self._calm), self._calm_url, _BODY_BYTES)
        (connection,) = await connect(self._calm.port, 1)
        async with self._flood(kind) as flood:
            await asyncio.sleep(1)
            before, begun = cpu_seconds(self._pid), time.monotonic()
            counted = collections.Counter(flood.counts) if flood else collections.Counter()
            latencies = await calm(connection, load, self._seconds)
            share = (cpu_seconds(self._pid) - before) / (time.monotonic() - begun)
            counts = collections.Counter(flood.counts) if flood else collections.Counter()
        connection.close()
        return Phase(latencies, share, counts - counted)

    @contextlib.asynccontextmanager
    async def _flood(self, kind: str) -> AsyncIterator[Flood | None]:
        if kind == "quiet":
            yield None
            return
        request = Load(Signer(self._flooded), self._flooded_url, _BODY_BYTES).send
        port = self._flooded.port
        count = self._connections
        made = await connect(port, count) if kind == "kept" else []
        flood = Flood(kept(made, request) if made else anew(port, request, count))
        try:
            yield flood
        finally:
            await flood.stop()
            for connection in made:
                connection.close()


async def furnish(data: Path) -> tuple[AccessKey, AccessKey]:
    """Makes keys of the account with the quota and of the calm one, before the server runs."""
    opened = await open_service(parse_store_url(EMBEDDED, data))
    accounts = opened.service.accounts
    try:
        keys = []
        for name, quotas in (
            ("flooded", Quotas(requests_per_second_max=QUOTA)),
            ("calm", Quotas()),
        ):
            account = await accounts.add(name, quotas=quotas)
            made = await accounts.add_credential(account.number)
            keys.append(AccessKey(made.key_id, made.secret, account.number))
        return keys[0], keys[1]
    finally:
        await opened.service.close()


async def run(rounds: int, seconds: float, connections: int = CONNECTIONS) -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory) / "data"
        keys = await furnish(data)
        with LocalServer(data) as server:
            port = int(server.endpoint_url.rpartition(":")[2])
            accesses = [Access(port, key.key_id, key.secret) for key in keys]
            bench = Bench(server.pid, accesses, seconds, connections)
            await bench.prepare()
            phases: dict[str, list[Phase]] = {kind: [] for kind in _KINDS}
            for _ in range(rounds):
                for kind in _KINDS:
                    phases[kind].append(await bench.phase(kind))
    return [_row(kind, phases[kind], phases["quiet"]) for kind in _KINDS]


def _row(kind: str, phases: Sequence[Phase], quiet: Sequence[Phase]) -> Row:
    ratios = [
        each.percentile(0.99) / alone.percentile(0.99)
        for each, alone in zip(phases, quiet, strict=True)
    ]
    flood = sum((each.flood for each in phases), collections.Counter())
    return {
        "flood": kind,
        "samples": sum(len(each.latencies) for each in phases),
        "p50_ms": statistics.median(each.percentile(0.5) for each in phases),
        "p99_ms": statistics.median(each.percentile(0.99) for each in phases),
        "p99_ratio": statistics.median(ratios),
        "ratio_bound": RATIO_BOUND,
        "share_of_a_core": statistics.median(each.share for each in phases),
        "share_bound": SHARE_BOUND,
        **{name: flood[name] for name in ("due", "held back", "sent", "passed", "throttled")},
    }


def main(arguments: list[str]) -> None:
    parser = parser_of("quotas", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument(
        "--connections", type=int, default=CONNECTIONS, help="connections of the flood"
    )
    options = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows = uvloop.run(run(options.rounds, options.seconds, options.connections))
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
