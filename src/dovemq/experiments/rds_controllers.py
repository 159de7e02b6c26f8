"""The enqueue and dequeue controllers of the paper rds, with their clients, in this process.

A controller is a front end of the cluster that owns no partition: it is a member that leaves, for
as long as it runs. It searches the partitions of the owners over the link. Its clients call it by
the Python API, so that they may ask for 100 messages at once.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, Unpack

from dovemq.bootstrap.opening import Opened, open_service
from dovemq.bootstrap.shared import Advertised
from dovemq.core.queue import QueueKey
from dovemq.experiments.limited_service import LimitedService
from dovemq.fabric.dequeue import DequeueCounts
from dovemq.inprocess.asynchronous import AsyncLocalQueue, AsyncLocalQueues
from dovemq.inprocess.options import QueueOptions
from dovemq.settings import ACCOUNT
from dovemq.stores.urls import parse_store_url
from dovemq.system.ports import LOOPBACK, free_ports
from dovemq.telemetry.meter import Meter
from dovemq.testing.local_cluster import generator

PORTS: Final = range(26_000, 27_000)
QUEUE: Final = "figure"
LOOK_S: Final = 0.05
LOOKS_MAX: Final = 200
"""Looks at a controller for a change of the queue."""


class Controllers:
    """`queues` has the queue as each controller sees it."""

    def __init__(self) -> None:
        self.queues: list[AsyncLocalQueue] = []
        self._meters: list[Meter] = []
        self._opened: list[Opened] = []

    async def add(self, service: LimitedService, port: int) -> None:
        meter = Meter()
        opened = await open_service(
            parse_store_url(service.database.url, _data(service.directory)),
            advertised=Advertised(LOOPBACK, port, service.front_ends.secret.encode()),
            observer=meter,
        )
        self._opened.append(opened)
        self._meters.append(meter)
        assert opened.shared is not None, "the store is shared"
        await opened.shared.store.membership.begin_leaving()

    async def create_queue(self, partitions: int) -> None:
        handles = [AsyncLocalQueues(each.service, ACCOUNT, each.new_id) for each in self._opened]
        created = await handles[0].create(QUEUE, partitions=partitions)
        self.queues = [created, *[await each.queue(QUEUE) for each in handles[1:]]]

    async def change(self, **options: Unpack[QueueOptions]) -> None:
        """Changes the queue, and returns when all controllers know it."""
        await self.queues[0].change(**options)
        key = QueueKey(ACCOUNT, QUEUE)
        version = (await self._opened[0].service.queues.find(key)).version
        for opened in self._opened:
            for _ in range(LOOKS_MAX):
                if (await opened.service.queues.find(key)).version >= version:
                    break
                await asyncio.sleep(LOOK_S)

    def parked(self, controller: int) -> int:
        """Receives that a controller holds back at the moment."""
        return self._opened[controller].fabric.parked

    def counts(self) -> DequeueCounts:
        """The counts of all controllers so far, except for the sends."""
        tallies = [tally for meter in self._meters for tally in meter.queues.values()]
        return DequeueCounts(
            hits=sum(each.hits for each in tallies),
            received=sum(each.received for each in tallies),
            misses=sum(each.misses for each in tallies),
        )

    async def close(self) -> None:
        for opened in self._opened:
            await opened.close()


def _data(directory: Path) -> Path:
    return directory / "controllers"


@contextlib.asynccontextmanager
async def controllers(
    service: LimitedService, count: int, partitions: int
) -> AsyncIterator[Controllers]:
    """Controllers with a queue of so many partitions, the first of the store."""
    made = Controllers()
    rng: random.Random = generator()
    try:
        for port in free_ports(count, PORTS, rng):
            await made.add(service, port)
        await made.create_queue(partitions)
        yield made
    finally:
        await made.close()
