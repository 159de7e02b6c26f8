"""The cost of the lifecycle trace: CPU per 1,000 lifecycles with it, divided by that without.

    python -m bench.trace [--rounds 5] [--json]

Two servers run at the same time, one with `--trace`, and are loaded in turns; medians over the
rounds. The writer's thread counts: the CPU is that of the whole process, and a round ends only when
its last file is complete. A round is repeated if other machines on the same hardware took more than
1 % of the time.
"""

import asyncio
import contextlib
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Final

import uvloop

from bench.load import Load, Signer, connect, singles, tens
from bench.measured import access_of, cpu_seconds, create_queue, dovemq_server
from bench.path import BODY_BYTES, WARM_UP_SHARE, Contestant, Shape
from bench.tables import Row, parser_of, show
from bench.undisturbed import Undisturbed
from dovemq.telemetry.folders import PARTIAL
from dovemq.telemetry.trace import TICK_SECONDS

BOUND: Final = 1.10
TURNS: Final = 10
LOOK_SECONDS: Final = 0.2
LOOKS_MAX: Final = 150

SHAPES: Final = (
    Shape("singles_32", singles, 32, 9_600),
    Shape("tens_32", tens, 32, 64_000),
)


class Rows:
    """The trace of one server, which is complete once its growing file has its final name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def whole(self) -> None:
        await asyncio.sleep(2 * TICK_SECONDS)
        for _ in range(LOOKS_MAX):
            if not list(self._folder.glob(f"*{PARTIAL}")):
                return
            await asyncio.sleep(LOOK_SECONDS)
        raise TimeoutError("the trace does not finish its file")


async def drive(contestant: Contestant, shape: Shape, lifecycles: int) -> None:
    load = Load(Signer(contestant.access), contestant.queue_url, BODY_BYTES)
    connections = await connect(contestant.access.port, shape.connections)
    each = lifecycles // shape.connections
    await asyncio.gather(*(shape.worker(connection, load, each) for connection in connections))
    for connection in connections:
        connection.close()


async def cpu_ms(
    off: Contestant, on: Contestant, shape: Shape, lifecycles: int, rows: Rows
) -> tuple[float, float]:
    """CPU of both servers in milliseconds per 1,000 lifecycles, with the work that they postpone.

    They are loaded in short turns, so that other work on the machine affects both alike.
    """
    each = lifecycles // TURNS
    before = [cpu_seconds(contestant.pid) for contestant in (off, on)]
    for _ in range(TURNS):
        await drive(off, shape, each)
        await drive(on, shape, each)
    await rows.whole()
    after = [cpu_seconds(contestant.pid) for contestant in (off, on)]
    done = each // shape.connections * shape.connections * TURNS
    without, traced = ((b - a) * 1_000_000 / done for a, b in zip(before, after, strict=True))
    return without, traced


async def compare(off: Contestant, on: Contestant, shape: Shape, rounds: int, rows: Rows) -> Row:
    await cpu_ms(off, on, shape, int(shape.lifecycles * WARM_UP_SHARE), rows)
    pairs = []
    for _ in range(rounds):
        for _ in Undisturbed():
            pair = await cpu_ms(off, on, shape, shape.lifecycles, rows)
        pairs.append(pair)
    return {
        "shape": shape.name,
        "off_ms": round(statistics.median(without for without, _ in pairs), 1),
        "on_ms": round(statistics.median(traced for _, traced in pairs), 1),
        "ratio": round(statistics.median(traced / without for without, traced in pairs), 3),
        "bound": BOUND,
    }


async def measure(rounds: int) -> list[Row]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        contestants = []
        for name, args in (("off", []), ("on", ["--trace", str(folder)])):
            server = stack.enter_context(dovemq_server(args))
            access = access_of(server)
            contestants.append(Contestant(name, server.pid, access, await create_queue(access)))
        off, on = contestants
        return [await compare(off, on, shape, rounds, Rows(folder)) for shape in SHAPES]


def main(arguments: list[str]) -> None:
    parser = parser_of("trace", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    show(uvloop.run(measure(options.rounds)), as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
