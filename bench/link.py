"""The CPU that a verb costs when another front end owns the partition, on each side.

    python -m bench.link [--rounds 5] [--plain] [--json]

The owner is a process of its own with a store in memory. The same verbs are asked over the link and
of such a store in this process, in turn, in the same run; medians over the rounds. `caller_us` and
`owner_us` are the CPU of both processes per verb, `local_us` that of a verb without a link,
including the tasks of the benchmark. `within`: neither side spends more than 60 µs on the link.
With one caller at a time a verb has a frame, two system calls and a turn of the loop for itself.
`--plain` uses asyncio's own event loop.
"""

import asyncio
import itertools
import os
import random
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import uvloop

from bench.tables import Row, parser_of, show
from dovemq.cluster.link import ClusterIdentity, Dialling, LinkListener, PeerLinks
from dovemq.core.commands import Ask, Draft, Receipt
from dovemq.core.ports import Partition
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.stores.memory import MemoryStore
from dovemq.system.clock import SystemClock

HOST: Final = "127.0.0.1"
BODY: Final = "x" * 1_024
LEASE_MS: Final = 30_000
PLACE: Final = (1, 0)
VERBS: Final = ("send", "lease", "settle")
BOUND_US: Final = 60
"""CPU that a verb of one message may cost a side."""
WARM_UP_CYCLES: Final = 10


class Shape(NamedTuple):
    """Callers at the same time, messages of a verb, verbs of a caller in a row, repetitions."""

    name: str
    callers: int
    batch: int
    row: int
    cycles: int


SHAPES: Final = (
    Shape("singles_1", 1, 1, 50, 20),
    Shape("singles_32", 32, 1, 2, 30),
    Shape("tens_32", 32, 10, 1, 15),
)


Taken = list[list[Receipt]]
"""The receipts of the leases of one caller."""


class OwnPartitions:
    """The one partition of the owner."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    def partition(self, queue_number: int, partition: int, version: int = 0) -> Partition:
        return self._partition


async def new_partition() -> tuple[Queue, Partition]:
    store = MemoryStore(random.Random(1), b"a key of the benchmark")
    wanted = Queue(0, QueueKey("000000000000", "jobs"), QueueSettings(), 1, 1)
    queue = await store.catalogue.create(wanted)
    return queue, store.partition(queue, 0)


def identity(secret: str) -> ClusterIdentity:
    return ClusterIdentity(lambda: "bench", "bench", lambda: "one", secret.encode())


async def own(secret: str) -> None:
    """Serve as the owner until standard input ends."""
    _, partition = await new_partition()
    listener = LinkListener(OwnPartitions(partition), SystemClock(), identity(secret), _new_nonce)
    await listener.start(HOST, 0)
    print(listener.port, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await listener.close()


def _new_nonce() -> bytes:
    return secrets.token_bytes(32)


def cpu_us(pid: int) -> float:
    """CPU time of a process's main thread; the kernel counts it in nanoseconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1_000


class Contest:
    """Asks verbs of a partition and adds up the CPU of both processes by verb."""

    def __init__(self, partition: Partition, owner_pid: int) -> None:
        self._partition = partition
        self._owner_pid = owner_pid
        self._clock = SystemClock()
        self._ids = itertools.count()

    async def round(self, shape: Shape, cycles: int) -> dict[str, tuple[float, float]]:
        """CPU per verb in microseconds, of the caller and of the owner."""
        spent = {verb: [0.0, 0.0] for verb in VERBS}
        for _ in range(cycles):
            drafts = [self._drafts(shape) for _ in range(shape.callers)]
            await self._spend(spent["send"], [self._send(each) for each in drafts])
            taken = await self._spend(
                spent["lease"], [self._lease(shape) for _ in range(shape.callers)]
            )
            await self._spend(spent["settle"], [self._settle(each) for each in taken])
        asked = shape.callers * shape.row * cycles
        return {verb: (caller / asked, owner / asked) for verb, (caller, owner) in spent.items()}

    async def _spend(self, spent: list[float], callers: Sequence[Awaitable[Taken]]) -> list[Taken]:
        own_before, owner_before = time.process_time_ns(), cpu_us(self._owner_pid)
        answers = await asyncio.gather(*callers)
        spent[0] += (time.process_time_ns() - own_before) / 1_000
        spent[1] += cpu_us(self._owner_pid) - owner_before
        return answers

    def _drafts(self, shape: Shape) -> list[list[Draft]]:
        return [
            [Draft(f"id-{next(self._ids)}", BODY, "bench") for _ in range(shape.batch)]
            for _ in range(shape.row)
        ]

    async def _send(self, row: list[list[Draft]]) -> Taken:
        for drafts in row:
            await self._partition.send(drafts, self._clock.now_ms())
        return []

    async def _lease(self, shape: Shape) -> Taken:
        taken: Taken = []
        for _ in range(shape.row):
            ask = Ask(shape.batch, LEASE_MS)
            leased = await self._partition.lease(ask, self._clock.now_ms())
            taken.append([lease.receipt for lease in leased.messages])
        return taken

    async def _settle(self, row: Taken) -> Taken:
        for receipts in row:
            await self._partition.settle(receipts, self._clock.now_ms())
        return []


async def measure(owner_pid: int, port: int, secret: str, rounds: int) -> list[Row]:
    queue, local = await new_partition()
    links = PeerLinks(Dialling(identity(secret), random.Random(1), _new_nonce))
    remote = links.partition(f"{HOST}:{port}", queue, PLACE)
    contests = {
        "local": Contest(local, os.getpid()),
        "linked": Contest(remote, owner_pid),
    }
    rows: list[Row] = []
    for shape in SHAPES:
        found: dict[str, list[dict[str, tuple[float, float]]]] = {name: [] for name in contests}
        for contest in contests.values():
            await contest.round(shape, WARM_UP_CYCLES)
        for _ in range(rounds):
            for name, contest in contests.items():
                found[name].append(await contest.round(shape, shape.cycles))
        rows += [_row(shape, verb, found["local"], found["linked"]) for verb in VERBS]
    await links.close()
    return rows


Rounds = list[dict[str, tuple[float, float]]]


def _row(shape: Shape, verb: str, local: Rounds, linked: Rounds) -> Row:
    median: Callable[[list[float]], float] = statistics.median
    caller = median([each[verb][0] for each in linked])
    owner = median([each[verb][1] for each in linked])
    alone = median([each[verb][0] for each in local])
    return {
        "shape": shape.name,
        "verb": verb,
        "local_us": round(alone, 1),
        "caller_us": round(caller, 1),
        "owner_us": round(owner, 1),
        "within": max(caller, owner - alone) <= BOUND_US if shape.batch == 1 else None,
    }


def main(arguments: list[str]) -> None:
    parser = parser_of("link", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plain", action="store_true", help="use asyncio's own event loop")
    parser.add_argument("--own", metavar="SECRET", help="serve as the owner")
    options = parser.parse_args(arguments)
    run = asyncio.run if options.plain else uvloop.run
    if options.own:
        run(own(options.own))
        return
    secret = secrets.token_hex()
    command = [sys.executable, "-m", "bench.link", "--own", secret]
    command += ["--plain"] if options.plain else []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        rows = run(measure(owner.pid, int(owner.stdout.readline()), secret, options.rounds))
        assert owner.stdin is not None
        owner.stdin.close()
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
