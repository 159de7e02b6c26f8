"""The throughput of one queue over 1, 2 and 3 front ends with a limited CPU, on one shared store.

    python -m bench.scaling [--rounds 3] [--seconds 15] [--share 0.15] [--partitions 4] [--json]

Each connection sends ten messages, receives up to ten and deletes them, again and again; each front
end has the same number of connections. Every number of front ends has a Redis Cluster and processes
of its own, started anew in each round. Bars: 2 front ends pass on at least 1.8 times as much as
one, and 3 at least 2.5 times. The quota is small, so that front ends, clients and database together
leave room on a machine of two cores.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import uvloop

from bench.load import Access, Connection, Load, Signer, connect, received
from bench.measured import create_queue
from bench.tables import Row, parser_of, show
from dovemq.experiments.limited_service import LimitedService, limited_service

FRONT_ENDS: Final = (1, 2, 3)
BARS: Final[Mapping[int, float]] = {2: 1.8, 3: 2.5}
CONNECTIONS: Final = 8
"""Connections to each front end."""
BODY_BYTES: Final = 1_024
WARM_UP_S: Final = 3.0
SHARE: Final = 0.15
PARTITIONS: Final = 4
"""Partitions for each front end."""


class Passed(NamedTuple):
    """Messages a second, and the share of its quota that the busiest and idlest one used."""

    per_second: float
    used: tuple[float, ...]
    limit: str


class Worker:
    def __init__(self, connection: Connection, load: Load) -> None:
        self.settled = 0
        self._connection = connection
        self._load = load

    async def run(self) -> None:
        while True:
            await self._connection.must(self._load.send_ten)
            found = received(await self._connection.must(self._load.receive_ten)).Messages
            if found:
                receipts = [each.ReceiptHandle for each in found]
                await self._connection.must(self._load.delete_all(receipts))
                self.settled += len(found)


def accesses_of(service: LimitedService) -> list[Access]:
    """The front ends accept any key."""
    return [Access(int(url.rpartition(":")[2]), "any", "any") for url in service.front_ends.urls]


async def measure(service: LimitedService, partitions: int, seconds: float) -> tuple[float, Any]:
    accesses = accesses_of(service)
    url = await create_queue(accesses[0], Partitions=str(partitions))
    path = url.partition("//")[2].partition("/")[2]
    workers = []
    for access in accesses:
        load = Load(Signer(access), f"http://127.0.0.1:{access.port}/{path}", BODY_BYTES)
        workers += [Worker(each, load) for each in await connect(access.port, CONNECTIONS)]
    tasks = [asyncio.create_task(worker.run()) for worker in workers]
    await asyncio.sleep(WARM_UP_S)
    before, cpu, begun = _settled(workers), service.front_ends.cpu_seconds(), time.monotonic()
    await asyncio.sleep(seconds)
    took = time.monotonic() - begun
    passed = (_settled(workers) - before) / took
    after = service.front_ends.cpu_seconds()
    for task in tasks:
        task.cancel()
    done, _ = await asyncio.wait(tasks)
    for task in done:
        if not task.cancelled():
            task.result()
    return passed, [(now - then) / took for now, then in zip(after, cpu, strict=True)]


def _settled(workers: Sequence[Worker]) -> int:
    return sum(worker.settled for worker in workers)


def sample(front_ends: int, partitions: int, seconds: float, share: float) -> Passed:
    with limited_service(front_ends, partitions, share) as service:
        per_second, cpu = uvloop.run(measure(service, partitions, seconds))
        return Passed(per_second, tuple(each / share for each in cpu), service.front_ends.limit)


def rows_of(samples: Mapping[int, Sequence[Passed]], partitions: int) -> list[Row]:
    """A row for each number of front ends; ratios are medians over the rounds."""
    single = samples[1]
    rows: list[Row] = []
    for count, found in samples.items():
        ratios = [each.per_second / one.per_second for each, one in zip(found, single, strict=True)]
        middle = statistics.median(ratios)
        bar = BARS.get(count)
        rows.append(
            {
                "front_ends": count,
                "partitions": count * partitions,
                "per_s": round(statistics.median(each.per_second for each in found)),
                "ratio": round(middle, 2),
                "ratio_min": round(min(ratios), 2),
                "ratio_max": round(max(ratios), 2),
                "bar": bar,
                "quota_used": round(statistics.median(min(each.used) for each in found), 2),
                "limit": found[0].limit,
                "holds": None if bar is None else middle >= bar,
            }
        )
    return rows


def main(arguments: list[str]) -> None:
    parser = parser_of("scaling", __doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--share", type=float, default=SHARE, help="share of a core of a front end")
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help="for each front end")
    options = parser.parse_args(arguments)
    samples: dict[int, list[Passed]] = {count: [] for count in FRONT_ENDS}
    for number in range(options.rounds):
        for count, found in samples.items():
            partitions = count * options.partitions
            found.append(sample(count, partitions, options.seconds, options.share))
            text = f"round {number + 1}, {count} front end(s): {found[-1].per_second:.0f}/s"
            print(text, file=sys.stderr, flush=True)
    show(rows_of(samples, options.partitions), as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
