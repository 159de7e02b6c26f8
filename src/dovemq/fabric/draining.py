"""Empties draining partitions into active ones, and lets the layout forget them.

The leading front end does this. A partition is forgotten when it has been empty for `DRAINED_MS`,
by compare-and-set of the queue: by then every front end knows the layout in which it drains, and
what was sent to it meanwhile has arrived. A front end that stood still for longer may still send to
a forgotten number, so these are looked at now and then, and drain again if they hold messages.
Every step may be repeated and may be the last one of its process.
"""

import logging
from collections.abc import Callable
from typing import Final

import msgspec

from dovemq.core import limits
from dovemq.core.commands import Counts
from dovemq.core.errors import DoveError
from dovemq.core.partitions import Layout, with_draining, without
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue, QueueKey
from dovemq.fabric.exchange import BATCH_COUNT_MAX, Exchange

log = logging.getLogger(__name__)

DRAINED_MS: Final = limits.MINUTE_MS
"""The time for which a partition must be empty: longer than front ends take to learn of a layout
and a verb between them takes after that."""
BATCHES_MAX: Final = 10
"""Batches of one queue in one step. With one step in a second this is the rate of the exchange:
1,000 messages a second."""
QUEUES_AT_A_TIME: Final = 1_000


class DrainingPartitions:
    """`changed` is called with each queue whose layout was changed here."""

    def __init__(
        self, store: Store, exchange: Exchange, clock: Clock, changed: Callable[[Queue], None]
    ) -> None:
        self._store = store
        self._catalogue = store.catalogue
        self._exchange = exchange
        self._clock = clock
        self._changed = changed
        self._queues: dict[int, QueueKey] = {}
        self._empty_ms: dict[tuple[int, int], int] = {}

    def noticed(self, queue: Queue) -> None:
        """A version of a queue was seen; if it drains, the next step takes care of it."""
        if queue.settings.layout.draining:
            self._queues[queue.number] = queue.key

    async def step(self) -> None:
        """Move a bounded number of messages of each queue that is known to drain."""
        for number in list(self._queues):
            queue = await self._found(number)
            if queue is None or not queue.settings.layout.draining:
                del self._queues[number]
                self._empty_ms = {at: ms for at, ms in self._empty_ms.items() if at[0] != number}
                continue
            batches = BATCHES_MAX
            for partition in queue.settings.layout.draining:
                batches -= await self._attempt(number, partition, batches)

    async def find(self, *, look: bool) -> list[Queue]:
        """All queues; notices those that drain.

        With `look`, partitions that were forgotten and hold messages drain again.
        """
        found: list[Queue] = []
        after = ""
        while page := await self._catalogue.page(None, "", after, QUEUES_AT_A_TIME):
            for queue in page:
                found.append(queue)
                self.noticed(queue)
                for partition in queue.settings.layout.forgotten if look else ():
                    await self._attempt_look(queue, partition)
            after = str(page[-1].key)
        return found

    async def _found(self, number: int) -> Queue | None:
        queue = await self._catalogue.find(self._queues[number])
        return queue if queue is not None and queue.number == number else None

    async def _attempt(self, number: int, partition: int, batches: int) -> int:
        """Drain a partition; returns the number of batches that this took."""
        # Read again, since the step before may have changed the layout.
        queue = await self._found(number)
        if queue is None or partition not in queue.settings.layout.draining:
            return 0
        try:
            moved = await self._emptied(queue, partition, batches)
            await self._forget_if_empty(queue, partition)
            return moved
        except DoveError as error:
            log.warning("partition %d of queue %s drains later: %s", partition, queue.key, error)
            return 0

    async def _attempt_look(self, queue: Queue, partition: int) -> None:
        try:
            if not _is_empty(await self._counts(queue, partition)):
                log.warning("partition %d of queue %s drains again", partition, queue.key)
                await self._replace(queue, with_draining(queue.settings.layout, partition))
        except DoveError as error:
            log.warning("partition %d of queue %s is unknown: %s", partition, queue.key, error)

    async def _emptied(self, queue: Queue, partition: int, batches: int) -> int:
        targets = queue.settings.targets
        for batch in range(batches):
            moved = await self._exchange.move(queue, partition, targets, BATCH_COUNT_MAX)
            if moved < BATCH_COUNT_MAX:
                return batch + bool(moved)
        return batches

    async def _forget_if_empty(self, queue: Queue, partition: int) -> None:
        place = (queue.number, partition)
        if not _is_empty(await self._counts(queue, partition)):
            self._empty_ms.pop(place, None)
            return
        now_ms = self._clock.now_ms()
        if now_ms - self._empty_ms.setdefault(place, now_ms) >= DRAINED_MS:
            await self._replace(queue, without(queue.settings.layout, partition))

    async def _counts(self, queue: Queue, partition: int) -> Counts:
        return await self._store.partition(queue, partition).counts(self._clock.now_ms())

    async def _replace(self, queue: Queue, layout: Layout) -> None:
        settings = msgspec.structs.replace(queue.settings, layout=layout)
        if await self._catalogue.replace(msgspec.structs.replace(queue, settings=settings)):
            found = await self._catalogue.find(queue.key)
            if found is not None and found.number == queue.number:
                self.noticed(found)
                self._changed(found)


def _is_empty(counts: Counts) -> bool:
    return not counts.visible + counts.leased + counts.delayed
