"""The unit costs of eq. 4 and 5 of the paper rds, measured as CPU of the owners of partitions."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dovemq.experiments.rds_clients import BODY_BYTES
from dovemq.experiments.rds_controllers import Controllers
from dovemq.fabric.dequeue import DequeueCounts
from dovemq.fabric.dequeue.costs import DequeueUnitCosts

IDLE_S: Final = 2.0
MISSES: Final = 3_000
SENDS: Final = 1_500
HITS: Final = 600
LARGE_HITS: Final = 100
LARGE: Final = 20
"""The messages that each of the larger receives asks for."""
LANES: Final = 20
"""Requests under way at the same time."""


@dataclass(frozen=True, slots=True)
class CostSample:
    """Known numbers of accesses and the CPU that they took, without that of idle owners."""

    counts: DequeueCounts
    cpu_s: float


def fitted(samples: Sequence[CostSample]) -> DequeueUnitCosts:
    """The unit costs by least squares; one that comes out below 0 is 0."""
    rows = [
        (each.counts.sent, each.counts.hits, each.counts.received, each.counts.misses)
        for each in samples
    ]
    solved = np.linalg.lstsq(
        np.array(rows, dtype=float), np.array([each.cpu_s for each in samples]), rcond=None
    )[0]
    send, hit, message, miss = (max(0.0, float(value)) for value in solved)
    return DequeueUnitCosts(send, hit, message, miss)


async def measured_unit_costs(
    controllers: Controllers, owners_cpu_s: Callable[[], float], share: float = 1.0
) -> DequeueUnitCosts:
    """Runs each kind of access alone; `share` is that of the usual numbers of accesses."""
    meter = _CostMeter(controllers, owners_cpu_s)
    await meter.look_at_idle_owners()
    queues, body = controllers.queues, "x" * BODY_BYTES
    await queues[0].change(dequeue_strategy="conventional")

    async def miss(lane: int) -> None:
        await queues[lane % len(queues)].receive(LARGE)

    async def send(lane: int) -> int:
        await queues[lane % len(queues)].send(body)
        return 1

    async def hit(lane: int, count: int = 1) -> None:
        queue = queues[lane % len(queues)]
        if messages := await queue.receive(count):
            await queue.settle([each.receipt for each in messages])

    async def large_hit(lane: int) -> None:
        await hit(lane, LARGE)

    samples = [
        await meter.sample(miss, int(MISSES * share) // 3),
        await meter.sample(send, int(SENDS * share)),
        await meter.sample(hit, int(HITS * share)),
        await meter.sample(send, int(LARGE * LARGE_HITS * share)),
        await meter.sample(large_hit, int(LARGE_HITS * share)),
    ]
    await queues[0].purge()
    return fitted(samples)


class _CostMeter:
    def __init__(self, controllers: Controllers, owners_cpu_s: Callable[[], float]) -> None:
        self._controllers = controllers
        self._owners_cpu_s = owners_cpu_s
        self._idle_share = 0.0

    async def look_at_idle_owners(self) -> None:
        began_s, before_s = time.monotonic(), self._owners_cpu_s()
        await asyncio.sleep(IDLE_S)
        self._idle_share = (self._owners_cpu_s() - before_s) / (time.monotonic() - began_s)

    async def sample(self, act: Callable[[int], Awaitable[int | None]], times: int) -> CostSample:
        """Acts so often, in several lanes; an action returns the messages that it has sent."""
        before, cpu_s, began_s = self._controllers.counts(), self._owners_cpu_s(), time.monotonic()
        left, sent = iter(range(times)), 0

        async def lane(number: int) -> None:
            nonlocal sent
            for _ in left:
                more = await act(number)
                sent += more or 0

        await asyncio.gather(*(lane(number) for number in range(LANES)))
        took_s = time.monotonic() - began_s
        after = self._controllers.counts()
        counts = DequeueCounts(
            sent,
            after.hits - before.hits,
            after.received - before.received,
            after.misses - before.misses,
        )
        idle_s = self._idle_share * took_s
        return CostSample(counts, max(0.0, self._owners_cpu_s() - cpu_s - idle_s))
