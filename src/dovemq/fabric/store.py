"""A store whose queues may have several partitions, over a store of partitions.

Implements `core.ports.Store`. Partition 0 is the whole queue. A queue that never had more than one
partition is answered by the inner store itself and pays nothing for the fabric. One that did stays
with a `LogicalPartition`: its receipts may name other partitions. One that sizes itself has a
`LogicalPartition` from the start, since its clients' sessions count.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from dovemq.core.errors import DoveError
from dovemq.core.hint_meters import HintMeters
from dovemq.core.observing import Observer
from dovemq.core.ports import Catalogue, Clock, Ledger, Partition, Store
from dovemq.core.queue import Queue
from dovemq.fabric.autonomic import ClientRole
from dovemq.fabric.draining import DrainingPartitions
from dovemq.fabric.exchange import Exchange
from dovemq.fabric.explaining import QueueExplanation, explained
from dovemq.fabric.logical import LogicalPartition
from dovemq.fabric.members import Locality, everywhere_local
from dovemq.fabric.session_counts import SessionCounts
from dovemq.fabric.sessions import SessionTable
from dovemq.fabric.sizing import SelfSizing, SizingPorts

log = logging.getLogger(__name__)

STEP_SECONDS: Final = 1
"""The interval at which draining partitions are emptied further."""
SCAN_STEPS: Final = 60
"""After so many steps all queues are looked at."""


class FabricStore:
    """`start` begins the upkeep of partitions, `close` ends it and closes the inner store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        observer: Observer | None = None,
        is_local: Locality = everywhere_local,
        sizing: SizingPorts | None = None,
        clients: SessionCounts | None = None,
        hints: HintMeters | None = None,
    ) -> None:
        self.receipt_key = store.receipt_key
        self.coordinations = store.coordinations
        self._store = store
        self._clock = clock
        self._observer = observer or Observer()
        self._is_local = is_local
        self._logical: dict[int, LogicalPartition] = {}
        self._drained = False
        self._upkeep: asyncio.Task[None] | None = None
        self._leads: Callable[[], bool] = lambda: True
        self.exchange = Exchange(store, clock, self._observer)
        self.draining = DrainingPartitions(store, self.exchange, clock, self._changed)
        ports = sizing or SizingPorts(is_local=is_local)
        self.hints = hints or HintMeters()
        self.clients = clients or SessionCounts()
        self.sizing = SelfSizing(store, self.exchange, clock, self._changed, self.clients, ports)
        self.sessions = SessionTable(
            clock, self.clients, self.sizing.view.observation, is_local=is_local
        )

    def start(self, leads: Callable[[], bool] = lambda: True) -> None:
        """`leads` tells whether this front end takes care of partitions for all, at this moment."""
        self._leads = leads
        self._upkeep = asyncio.get_running_loop().create_task(self._keep_up(leads))

    @property
    def catalogue(self) -> Catalogue:
        return self._store.catalogue

    @property
    def ledger(self) -> Ledger:
        return self._store.ledger

    @property
    def parked(self) -> int:
        """Receives that wait inside queues."""
        return sum(logical.parked for logical in self._logical.values())

    def partition(self, queue: Queue, number: int) -> Partition:
        logical = self._logical.get(queue.number)
        settings = queue.settings
        if number or (logical is None and not settings.layout.highest and not settings.auto):
            return self._store.partition(queue, number)
        if logical is None:
            return self._add(queue)
        if queue.version > logical.queue.version:
            logical.follow(queue)
            self.noticed(queue)
        return logical

    def noticed(self, queue: Queue) -> None:
        """A version of a queue was seen; the next step of the upkeep takes care of it."""
        self.draining.noticed(queue)
        self.sizing.noticed(queue)

    async def explain(self, queue: Queue) -> QueueExplanation:
        """Why the queue has its partitions, and its adaptive K, as this front end sees it."""
        view = self.sizing.view
        found = await explained(queue, view, self._store, self._clock, leads=self._leads())
        return msgspec.structs.replace(
            found, sentences=(*found.sentences, *self.hints.explain(queue))
        )

    async def join(self, queue: Queue, role: ClientRole) -> None:
        """Elect a partition for the client that asks now, before it uses the queue in this role."""
        partition = self.partition(queue, 0)
        if isinstance(partition, LogicalPartition) and queue.settings.auto:
            await partition.join(role)

    def drain(self) -> None:
        """Answer the receives that wait inside queues, now and from now on."""
        self._drained = True
        for logical in self._logical.values():
            logical.drain()

    async def close(self) -> None:
        self.drain()
        if self._upkeep is not None:
            self._upkeep.cancel()
            await asyncio.wait([self._upkeep])
        await self._store.close()

    async def keep_up(self, *, leads: bool, scan: bool) -> None:
        """One step of the upkeep; with `scan`, all queues are looked at."""
        if scan:
            known = list(self._logical)
            numbers = set()
            for queue in await self.draining.find(look=leads):
                numbers.add(queue.number)
                self.sizing.noticed(queue)
            for number in known:
                if number not in numbers:
                    # The queue was removed.
                    self._logical.pop(number, None)
                    self.sessions.end_queue(number)
        if leads:
            await self.draining.step()
        await self.sizing.step(leads=leads)

    async def _keep_up(self, leads: Callable[[], bool]) -> None:
        for step in itertools.count(1):
            await asyncio.sleep(STEP_SECONDS)
            try:
                await self.keep_up(leads=leads(), scan=step % SCAN_STEPS == 1)
            except DoveError as error:
                log.warning("upkeep of partitions: %s", error)

    def _changed(self, queue: Queue) -> None:
        self.partition(queue, 0)

    def _add(self, queue: Queue) -> LogicalPartition:
        logical = LogicalPartition(
            self._store,
            queue,
            self._clock,
            self._observer,
            self._is_local,
            self.sessions,
            self.sizing.controller.make_room,
        )
        if self._drained:
            logical.drain()
        self._logical[queue.number] = logical
        self.noticed(queue)
        return logical
