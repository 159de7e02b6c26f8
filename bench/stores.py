"""The cost of a lifecycle on each store: CPU of front ends and of the database, rows, and rate.

    python -m bench.stores [--quick] [--rounds 3] [--stores redis cassandra postgres] [--json]

The load of bench.path on the embedded server and, in the same rounds, on real databases on this
machine: three nodes of Cassandra, three masters and three replicas of Redis, one PostgreSQL. With
one front end and with three, on one queue and on twelve, whose partitions are spread over the front
ends; the connections are spread evenly over queues and front ends, so that with three front ends
most requests go over the link. Figures are medians over the rounds; `ratio` is the front ends' CPU
divided by the embedded server's in the same round. Commits are those of the front ends; `rows` are
rows of Cassandra's table `log`, as its nodes count them. All share one machine, so rates are for
orientation only, and a JVM gets quicker for minutes.
"""

import asyncio
import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import uvloop

from bench.load import Load, Signer, connect
from bench.measured import create_queue
from bench.path import BODY_BYTES, Shape
from bench.path import SHAPES as PATH_SHAPES
from bench.shared_stores import EMBEDDED, SHARED, StoreUnderTest, store_under_test
from bench.tables import Row, parser_of, show

SHAPES: Final = tuple(shape for shape in PATH_SHAPES if shape.connections == 32)
FRONT_ENDS: Final = (1, 3)
QUEUES: Final = (1, 12)
RATIO_MAX: Final = 1.5
ROWS_MAX: Final = 0.25
QUICK_SHARE: Final = 0.25
WARM_UP_SHARE: Final = 0.25

Note = Callable[[str], None]


class Setting(NamedTuple):
    front_ends: int
    queues: int
    shape: Shape


class Sample(NamedTuple):
    """Milliseconds of CPU per 1,000 lifecycles; commits and rows per message."""

    per_second: float
    front_ends_ms: float
    store_ms: float
    commits: float
    rows: float | None


async def sample(store: StoreUnderTest, setting: Setting, lifecycles: int) -> Sample:
    loads = await loads_of(store, setting)
    each = lifecycles // setting.shape.connections
    count = each * setting.shape.connections
    accesses = store.accesses
    made = [
        (await connect(accesses[number % len(accesses)].port, 1))[0] for number in range(len(loads))
    ]
    before, begun = await store.used(), time.monotonic()
    work = zip(made, loads, strict=True)
    await asyncio.gather(*(setting.shape.worker(*pair, each) for pair in work))
    seconds, after = time.monotonic() - begun, await store.used()
    for connection in made:
        connection.close()
    earlier = before.store_cpu
    store_cpu = sum(spent - earlier.get(pid, 0.0) for pid, spent in after.store_cpu.items())
    rows = None
    if after.rows is not None and before.rows is not None:
        rows = (after.rows - before.rows) / count
    return Sample(
        count / seconds,
        (after.front_end_cpu - before.front_end_cpu) * 1e6 / count,
        store_cpu * 1e6 / count,
        (after.commits - before.commits) / count,
        rows,
    )


async def loads_of(store: StoreUnderTest, setting: Setting) -> list[Load]:
    """One for each connection: front ends change fastest, then queues."""
    accesses = store.accesses
    made: dict[tuple[int, int], Load] = {}
    loads = []
    for number in range(setting.shape.connections):
        front_end, queue = number % len(accesses), number // len(accesses) % setting.queues
        if (front_end, queue) not in made:
            access = accesses[front_end]
            url = await create_queue(access, f"bench-{queue}")
            made[front_end, queue] = Load(Signer(access), url, BODY_BYTES)
        loads.append(made[front_end, queue])
    return loads


async def compare(
    stores: Sequence[StoreUnderTest], setting: Setting, rounds: int, share: float
) -> list[Row]:
    lifecycles = int(setting.shape.lifecycles * share)
    samples: dict[str, list[Sample]] = {store.name: [] for store in stores}
    for store in stores:
        await sample(store, setting, int(lifecycles * WARM_UP_SHARE))
    for _ in range(rounds):
        for store in stores:
            samples[store.name].append(await sample(store, setting, lifecycles))
    return [row_of(store, setting, samples) for store in stores]


def row_of(
    store: StoreUnderTest, setting: Setting, samples: dict[str, list[Sample]]
) -> dict[str, str | int | float | bool | None]:
    mine = samples[store.name]
    middle = {name: _median([getattr(each, name) for each in mine]) for name in Sample._fields}
    pairs = zip(mine, samples[EMBEDDED], strict=True)
    ratios = [own.front_ends_ms / embedded.front_ends_ms for own, embedded in pairs]
    ratio = None if store.name == EMBEDDED else round(statistics.median(ratios), 2)
    rows = middle["rows"]
    return {
        "shape": setting.shape.name,
        "store": store.name,
        "front_ends": len(store.front_ends),
        "queues": setting.queues,
        "per_s": round(middle["per_second"] or 0),
        "front_ends_ms": round(middle["front_ends_ms"] or 0, 1),
        "ratio": ratio,
        "store_ms": round(middle["store_ms"] or 0, 1),
        "commits": round(middle["commits"] or 0, 3),
        "rows": None if rows is None else round(rows, 3),
        "holds": holds(store, setting, ratio, rows),
    }


def holds(
    store: StoreUnderTest, setting: Setting, ratio: float | None, rows: float | None
) -> bool | None:
    """Whether the bars are kept. They are for one front end; with several the link costs too."""
    if ratio is None or len(store.front_ends) > 1:
        return None
    few_rows = rows is None or setting.shape.name != "tens_32" or rows <= ROWS_MAX
    return ratio <= RATIO_MAX and few_rows


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


async def measure(
    names: Sequence[str], front_ends: Sequence[int], rounds: int, share: float, note: Note
) -> list[Row]:
    rows: list[Row] = []
    with contextlib.ExitStack() as ending:
        stores = []
        for name in (EMBEDDED, *names):
            note(f"starting {name}")
            stores.append(ending.enter_context(store_under_test(name)))
        for count in front_ends:
            for store in stores:
                while store.database is not None and len(store.front_ends) < count:
                    store.add_front_end()
            for queues in QUEUES:
                for shape in SHAPES:
                    note(f"{count} front end(s), {queues} queue(s), {shape.name}")
                    setting = Setting(count, queues, shape)
                    rows += (found := await compare(stores, setting, rounds, share))
                    note("\n".join(map(str, found)))
    return rows


def main(arguments: list[str]) -> None:
    parser = parser_of("stores", __doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a quarter of the load")
    parser.add_argument("--stores", nargs="+", choices=SHARED, default=SHARED)
    parser.add_argument("--front-ends", nargs="+", type=int, choices=(1, 2, 3), default=FRONT_ENDS)
    options = parser.parse_args(arguments)
    rows = uvloop.run(
        measure(
            options.stores,
            sorted(options.front_ends),
            options.rounds,
            QUICK_SHARE if options.quick else 1.0,
            note=lambda text: print(text, file=sys.stderr, flush=True),
        )
    )
    show(rows, as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
