"""The CPU that one message costs the servers of bdqs, measured on one to three without a limit.

The processes' CPU time is read before the senders start, when the receivers start, and at the end;
what they use while nothing happens is taken off.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Final

from dovemq.experiments.bdqs_runs import BdqsWorkload, run_bdqs
from dovemq.experiments.bdqs_service import BdqsServers
from dovemq.load.run import Live
from dovemq.models.simulation.servers import RequestCost, ServersModel

LOOK_SECONDS: Final = 0.02
IDLE_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class PhaseCosts:
    """CPU of one message in each phase: a send; a receive and its delete."""

    send: RequestCost
    receive: RequestCost


@dataclass(frozen=True, slots=True)
class _Reading:
    at_s: float
    front_ends: float
    database: float

    def since(self, earlier: "_Reading", idle: "_Reading", messages: int) -> RequestCost:
        """`idle` has the CPU of an idle second."""
        seconds = self.at_s - earlier.at_s
        front_ends = self.front_ends - earlier.front_ends - seconds * idle.front_ends
        database = self.database - earlier.database - seconds * idle.database
        # Noise of an idle machine may exceed the cost of very few messages.
        return RequestCost(max(front_ends, 1e-6) / messages, max(database, 1e-6) / messages)


def _read(servers: BdqsServers) -> _Reading:
    return _Reading(time.monotonic(), servers.front_end_cpu_s(), servers.database_cpu_s())


async def measured_costs(
    servers: BdqsServers, name: str, workload: BdqsWorkload, seed: int
) -> PhaseCosts:
    before = _read(servers)
    await asyncio.sleep(IDLE_SECONDS)
    after = _read(servers)
    idle = _Reading(
        1.0,
        (after.front_ends - before.front_ends) / IDLE_SECONDS,
        (after.database - before.database) / IDLE_SECONDS,
    )
    live = Live()
    running = asyncio.create_task(run_bdqs(servers.endpoints, name, workload, seed, live))
    readings = {live.phase: after}
    while not running.done():
        readings.setdefault(live.phase, _read(servers))
        await asyncio.sleep(LOOK_SECONDS)
    await running
    messages = workload.queues * workload.senders * workload.messages
    sending, receiving, ended = list(readings.values())[1:4]
    return PhaseCosts(
        receiving.since(sending, idle, messages), ended.since(receiving, idle, messages)
    )


def model_of(
    cost: RequestCost, nodes: int, queues: int, threads: int, share: float, delay_s: float = 0.0
) -> ServersModel:
    """Servers with that share of a core, and the clients of so many queues."""
    return ServersModel(
        nodes, queues * threads, (cost,), replicas=min(3, nodes), delay=delay_s, speed=share
    )
