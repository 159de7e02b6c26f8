"""A store whose queues may have several partitions, over a store of partitions.

Implements `core.ports.Store`. Partition 0 is the whole queue. A queue that never had more than one
partition is answered by the inner store itself and pays nothing for the fabric. One that did stays
with a `LogicalPartition`: its receipts may name other partitions.
"""

from collections.abc import Iterable

from dovemq.core.observing import Observer
from dovemq.core.ports import Catalogue, Clock, Partition, Store
from dovemq.core.queue import Queue
from dovemq.fabric.logical import LogicalPartition
from dovemq.fabric.members import Locality, everywhere_local


class FabricStore:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        observer: Observer | None = None,
        is_local: Locality = everywhere_local,
    ) -> None:
        self.receipt_key = store.receipt_key
        self._store = store
        self._clock = clock
        self._observer = observer or Observer()
        self._is_local = is_local
        self._logical: dict[int, LogicalPartition] = {}
        self._drained = False

    @property
    def catalogue(self) -> Catalogue:
        return self._store.catalogue

    @property
    def parked(self) -> int:
        """Receives that wait inside queues."""
        return sum(logical.parked for logical in self._logical.values())

    def partition(self, queue: Queue, number: int) -> Partition:
        logical = self._logical.get(queue.number)
        if number or (logical is None and not queue.settings.layout.highest):
            return self._store.partition(queue, number)
        if logical is None:
            return self._add(queue)
        if queue.version > logical.queue.version:
            logical.follow(queue)
        return logical

    def drain(self) -> None:
        """Answer the receives that wait inside queues, now and from now on."""
        self._drained = True
        for logical in self._logical.values():
            logical.drain()

    def keep(self, queue_numbers: Iterable[int]) -> None:
        """Forget queues that were removed."""
        kept = set(queue_numbers)
        self._logical = {each: one for each, one in self._logical.items() if each in kept}

    async def close(self) -> None:
        self.drain()
        await self._store.close()

    def _add(self, queue: Queue) -> LogicalPartition:
        logical = LogicalPartition(self._store, queue, self._clock, self._observer, self._is_local)
        if self._drained:
            logical.drain()
        self._logical[queue.number] = logical
        return logical
