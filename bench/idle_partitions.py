"""The cost of long polls of an empty queue of 16 partitions over 3 front ends.

    python -m bench.idle_partitions [--consumers 1000] [--seconds 40] [--json]

The consumers are spread over the front ends and poll for 20 seconds again and again. Operations are
the calls that the nodes of Redis count, by kind, in two spans of the same length: one without a
poll and one with all of them. The first has the heartbeats and looks of the front ends, and the
second must have nothing more. Then one message is sent and must be delivered to exactly one
consumer. Bars: all front ends together use less than 5 % of a core, and the polls cause no
operation of the store.
"""

import asyncio
import resource
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

import uvloop

from bench.load import Load, Signer, connect
from bench.measured import create_queue
from bench.polls import WAIT_SECONDS, Pollers
from bench.scaling import accesses_of
from bench.tables import Row, parser_of, show
from dovemq.experiments.limited_service import LimitedService, limited_service
from dovemq.testing.local_redis import LocalRedisCluster

FRONT_ENDS: Final = 3
PARTITIONS: Final = 16
SHARE_BAR: Final = 0.05
SPARE_SHARE: Final = 0.02
"""The number of heartbeats in a span varies by so much: a span may begin just before one."""
_OWN: Final = ("info", "replconf", "ping", "cluster", "hello", "client", "command")
"""Calls of this benchmark, of the nodes among themselves, and of drivers that connect."""
_SETTLE_S: Final = 3.0
_BODY_BYTES: Final = 100


def operations(database: LocalRedisCluster) -> Counter[str]:
    """The calls by command that all masters have counted. Replicas repeat those of masters."""
    calls: Counter[str] = Counter()
    for node in database.masters():
        for line in str(database.ask(node, "INFO", "commandstats")).splitlines():
            name, _, figures = line.removeprefix("cmdstat_").partition(":")
            if figures and name.partition("|")[0] not in _OWN:
                calls[name] += int(figures.partition("calls=")[2].partition(",")[0])
    return calls


class IdleBench:
    def __init__(self, service: LimitedService, consumers: int, seconds: float) -> None:
        self._service = service
        self._accesses = accesses_of(service)
        self._consumers = consumers
        self._seconds = seconds

    async def run(self) -> Row:
        url = await create_queue(self._accesses[0], Partitions=str(PARTITIONS))
        path = url.partition("//")[2].partition("/")[2]
        loads = [
            Load(
                Signer(access),
                f"http://127.0.0.1:{access.port}/{path}",
                _BODY_BYTES,
                WAIT_SECONDS,
            )
            for access in self._accesses
        ]
        await self._open_partitions(loads[0])
        quiet, quiet_share = await self._span()
        pollers = Pollers()
        made = []
        for number, load in enumerate(loads):
            share = len(range(number, self._consumers, len(loads)))
            for connection in await connect(self._accesses[number].port, share):
                made.append(connection)
                pollers.start(connection, load)
        await asyncio.sleep(_SETTLE_S)
        polled, share_of_core = await self._span()
        woken = await self._woken(loads[0], pollers)
        await pollers.stop()
        for connection in made:
            connection.close()
        return judged(self._consumers, quiet, polled, quiet_share, share_of_core, woken)

    async def _open_partitions(self, load: Load) -> None:
        """Each partition is looked into, so that its owner has opened it."""
        (connection,) = await connect(self._accesses[0].port, 1)
        receive = load.request("ReceiveMessage", WaitTimeSeconds=1)
        await connection.must(receive)
        connection.close()
        await asyncio.sleep(_SETTLE_S)

    async def _span(self) -> tuple[Counter[str], float]:
        before, cpu = operations(self._service.database), self._cpu()
        begun = time.monotonic()
        await asyncio.sleep(self._seconds)
        share = (self._cpu() - cpu) / (time.monotonic() - begun)
        return operations(self._service.database) - before, share

    def _cpu(self) -> float:
        return sum(self._service.front_ends.cpu_seconds())

    async def _woken(self, load: Load, pollers: Pollers) -> int:
        (sender,) = await connect(self._accesses[0].port, 1)
        await sender.must(load.send)
        await asyncio.sleep(_SETTLE_S)
        sender.close()
        return pollers.messages


def judged(
    consumers: int,
    quiet: Mapping[str, int],
    polled: Mapping[str, int],
    quiet_share: float,
    share: float,
    woken: int,
) -> Row:
    """`more` are the calls in the span with polls beyond those without, by command."""
    more = {
        name: count - quiet.get(name, 0)
        for name, count in polled.items()
        if count - quiet.get(name, 0) > max(2, SPARE_SHARE * quiet.get(name, 0))
    }
    return {
        "consumers": consumers,
        "partitions": PARTITIONS,
        "front_ends": FRONT_ENDS,
        "share_without_polls": round(quiet_share, 4),
        "share_of_a_core": round(share, 4),
        "bar": SHARE_BAR,
        "operations_without_polls": sum(quiet.values()),
        "operations": sum(polled.values()),
        "more": " ".join(f"{name}+{count}" for name, count in sorted(more.items())) or "none",
        "woken_by_one_send": woken,
        "holds": share < SHARE_BAR and not more and woken == 1,
    }


def main(arguments: list[str]) -> None:
    parser = parser_of("idle_partitions", __doc__)
    parser.add_argument("--consumers", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=40.0)
    options = parser.parse_args(arguments)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with limited_service(FRONT_ENDS, PARTITIONS, None) as service:
        row = uvloop.run(IdleBench(service, options.consumers, options.seconds).run())
    show([row], as_json=options.json)


if __name__ == "__main__":
    main(sys.argv[1:])
