"""The cost of a lifecycle: our CPU for send, receive and delete, divided by that of the floor.

    python -m bench.path [--rounds 5] [--json] [--no-history]

Both servers run at the same time and are loaded in turn; medians over the rounds. A row goes to
bench/history.csv, which shows changes that make the path slower.
"""

import asyncio
import contextlib
import csv
import datetime
import statistics
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple

import uvloop

from bench.load import Access, Connection, Load, Signer, connect, singles, tens
from bench.measured import access_of, cpu_seconds, create_queue, dovemq_server, floor_server
from bench.tables import Row, parser_of, show

HISTORY: Final = Path(__file__).with_name("history.csv")
BODY_BYTES: Final = 1_024
WARM_UP_SHARE: Final = 0.1

Worker = Callable[[Connection, Load, int], Awaitable[None]]


class Shape(NamedTuple):
    name: str
    worker: Worker
    connections: int
    lifecycles: int


SHAPES: Final = (
    Shape("singles_32", singles, 32, 6_400),
    Shape("singles_128", singles, 128, 6_400),
    Shape("tens_32", tens, 32, 32_000),
)


class Contestant(NamedTuple):
    name: str
    pid: int
    access: Access
    queue_url: str


async def cpu_ms(contestant: Contestant, shape: Shape, lifecycles: int) -> float:
    """Server CPU in milliseconds per 1,000 lifecycles."""
    load = Load(Signer(contestant.access), contestant.queue_url, BODY_BYTES)
    connections = await connect(contestant.access.port, shape.connections)
    each = lifecycles // shape.connections
    before = cpu_seconds(contestant.pid)
    await asyncio.gather(*(shape.worker(connection, load, each) for connection in connections))
    spent = cpu_seconds(contestant.pid) - before
    for connection in connections:
        connection.close()
    return spent * 1_000 / (each * shape.connections) * 1_000


async def compare(contestants: list[Contestant], shape: Shape, rounds: int) -> Row:
    spent: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for contestant in contestants:
        await cpu_ms(contestant, shape, int(shape.lifecycles * WARM_UP_SHARE))
    for _ in range(rounds):
        for contestant in contestants:
            spent[contestant.name].append(await cpu_ms(contestant, shape, shape.lifecycles))
    medians = {name: statistics.median(values) for name, values in spent.items()}
    ratios = [ours / theirs for ours, theirs in zip(spent["dovemq"], spent["floor"], strict=True)]
    return {
        "shape": shape.name,
        "dovemq_ms": round(medians["dovemq"], 1),
        "floor_ms": round(medians["floor"], 1),
        "ratio": round(statistics.median(ratios), 3),
    }


async def measure(rounds: int) -> list[Row]:
    with contextlib.ExitStack() as servers:
        floor_pid, floor_access = servers.enter_context(floor_server())
        server = servers.enter_context(dovemq_server())
        access = access_of(server)
        contestants = [
            Contestant("floor", floor_pid, floor_access, ""),
            Contestant("dovemq", server.pid, access, await create_queue(access)),
        ]
        return [await compare(contestants, shape, rounds) for shape in SHAPES]


def commit() -> str:
    """The short hash, with a + if the tree has uncommitted changes."""
    here = Path(__file__).parent
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "none"


def remember(rows: list[Row]) -> None:
    columns = [
        f"{row['shape']}_{part}" for row in rows for part in ("dovemq_ms", "floor_ms", "ratio")
    ]
    values = [row[part] for row in rows for part in ("dovemq_ms", "floor_ms", "ratio")]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    fresh = not HISTORY.exists()
    with HISTORY.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(["date", "commit", *columns])
        writer.writerow([today, commit(), *values])


def main(arguments: list[str]) -> None:
    parser = parser_of("path", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-history", action="store_true", help="leave bench/history.csv alone")
    options = parser.parse_args(arguments)
    rows = uvloop.run(measure(options.rounds))
    if not options.no_history:
        remember(rows)
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
