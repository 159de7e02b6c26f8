"""The enqueue and dequeue controllers of the paper rds, with their clients, in this process.

A controller is a front end of the cluster that owns no partition: it is a member that leaves, for
as long as it runs. It searches the partitions of the owners over the link. Its clients call it by
the Python API, so that they may ask for 100 messages at once.
"""

import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from dovemq.bootstrap.opening import Opened, open_service
from dovemq.bootstrap.shared import Advertised
from dovemq.experiments.limited_service import LimitedService
from dovemq.fabric.dequeue import DequeueCounts
from dovemq.inprocess.asynchronous import AsyncLocalQueue, AsyncLocalQueues
from dovemq.settings import ACCOUNT
from dovemq.stores.urls import parse_store_url
from dovemq.system.ports import LOOPBACK, free_ports
from dovemq.telemetry.meter import Meter
from dovemq.testing.local_cluster import generator

PORTS: Final = range(26_000, 27_000)
QUEUE: Final = "figure"


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

    def counts(self) -> DequeueCounts:
        """What all controllers have counted so far, except for the sends."""
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
