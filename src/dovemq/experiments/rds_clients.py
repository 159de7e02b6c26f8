"""Senders and consumers of rds-fig14, and what they and the owners did in a span of time."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from dovemq.core.errors import DoveError
from dovemq.experiments.rds_controllers import Controllers
from dovemq.fabric.dequeue import DequeueCounts

BODY_BYTES: Final = 1_024
MESSAGES_MAX: Final = 100
"""N_max of the paper: the messages of one receive."""
FAILURE_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class RdsLoad:
    """`senders` send one message after the other. Requests of a consumer are a Poisson process with
    `rate`; one that comes while `connections` others are under way is not sent. With
    `parked_blocks` none is sent while the consumer's controller holds one back. The warm-up is
    longer than the longest sleep."""

    rate: float
    connections: int
    parked_blocks: bool = False
    consumers: int = 10
    senders: int = 20
    warm_up_s: float = 3.0
    seconds: float = 6.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RdsRun:
    """Counts in the span that was measured. `settled` messages were received and deleted.

    `requests` were sent, `refused` came while too many were under way; `failures` are requests
    that the service refused or did not answer.
    """

    seconds: float
    counts: DequeueCounts
    settled: int
    requests: int
    refused: int
    failures: int
    owners_cpu_s: float

    @property
    def throughput(self) -> float:
        return self.settled / self.seconds


@dataclass(slots=True)
class _Tally:
    sent: int = 0
    settled: int = 0
    requests: int = 0
    refused: int = 0
    failures: int = 0


class _Clients:
    def __init__(self, controllers: Controllers, load: RdsLoad) -> None:
        self.tally = _Tally()
        self._controllers = controllers
        self._queues = controllers.queues
        self._load = load
        self._body = "x" * BODY_BYTES
        self._stopping = False
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self, measured: Awaitable[None]) -> None:
        """Runs until the measurement has ended; answers that are due are awaited."""
        load, queues = self._load, self._queues
        tasks = [
            *(asyncio.create_task(self._send(n % len(queues))) for n in range(load.senders)),
            *(asyncio.create_task(self._consume(n)) for n in range(load.consumers)),
        ]
        try:
            await measured
        finally:
            self._stopping = True
            await asyncio.gather(*tasks)
            await asyncio.gather(*self._under_way)

    async def _send(self, controller: int) -> None:
        queue = self._queues[controller]
        while not self._stopping:
            try:
                await queue.send(self._body)
                self.tally.sent += 1
            except DoveError:
                await self._failed()

    async def _consume(self, number: int) -> None:
        rng = random.Random(f"{self._load.seed}/{number}")
        mine: set[asyncio.Task[None]] = set()
        due_s = time.monotonic()
        while not self._stopping:
            due_s += rng.expovariate(self._load.rate)
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            controller = number % len(self._queues)
            blocked = self._load.parked_blocks and self._controllers.parked(controller) > 0
            if blocked or len(mine) >= self._load.connections:
                self.tally.refused += 1
                continue
            self.tally.requests += 1
            task = asyncio.create_task(self._receive(controller))
            mine.add(task)
            self._under_way.add(task)
            task.add_done_callback(mine.discard)
            task.add_done_callback(self._under_way.discard)

    async def _receive(self, controller: int) -> None:
        queue = self._queues[controller]
        try:
            messages = await queue.receive(MESSAGES_MAX)
            if messages:
                await queue.settle([message.receipt for message in messages])
                self.tally.settled += len(messages)
        except DoveError:
            await self._failed()

    async def _failed(self) -> None:
        self.tally.failures += 1
        await asyncio.sleep(FAILURE_PAUSE_S)


async def run_load(
    controllers: Controllers, load: RdsLoad, owners_cpu_s: Callable[[], float]
) -> RdsRun:
    clients = _Clients(controllers, load)
    found: list[RdsRun] = []

    async def measured() -> None:
        await asyncio.sleep(load.warm_up_s)
        began_s, tally, counts = time.monotonic(), _copied(clients.tally), controllers.counts()
        cpu_s = owners_cpu_s()
        await asyncio.sleep(load.seconds)
        now, after = clients.tally, controllers.counts()
        found.append(
            RdsRun(
                time.monotonic() - began_s,
                DequeueCounts(
                    now.sent - tally.sent,
                    after.hits - counts.hits,
                    after.received - counts.received,
                    after.misses - counts.misses,
                ),
                now.settled - tally.settled,
                now.requests - tally.requests,
                now.refused - tally.refused,
                now.failures - tally.failures,
                owners_cpu_s() - cpu_s,
            )
        )

    await clients.run(measured())
    return found[0]


def _copied(tally: _Tally) -> _Tally:
    return _Tally(tally.sent, tally.settled, tally.requests, tally.refused, tally.failures)
