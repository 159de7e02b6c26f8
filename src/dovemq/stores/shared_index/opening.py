"""The queues without an owner of one front end.

No lease, no link and no word of another front end is needed to serve them: once a front end runs,
it needs only the database.
"""

import random
from collections.abc import Iterable
from typing import Final

from dovemq.core.hint_meters import HintMeters
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock
from dovemq.core.queue import Queue
from dovemq.stores.owned.logged.ports import Records
from dovemq.stores.shared_index.buckets import MonotonicMs
from dovemq.stores.shared_index.partition import IndexContext, SharedIndexPartition
from dovemq.stores.shared_index.ports import IndexTables
from dovemq.stores.shared_index.sequences import Sequences, new_writer
from dovemq.stores.shared_index.statistics import IndexStatistics

LOOK_MS: Final = 500
"""A parked poll looks again after this time, if not too many queues are polled."""
LOOKS_PER_SECOND_MAX: Final = 200
"""Looks of all parked polls of one front end: the cost of idle polls is bounded."""


class SharedIndexes:
    def __init__(
        self,
        tables: IndexTables,
        records: Records,
        *,
        clock: Clock,
        monotonic_ms: MonotonicMs,
        rng: random.Random,
        observer: Observer,
        hints: HintMeters | None = None,
    ) -> None:
        self._partitions: dict[int, SharedIndexPartition] = {}
        self._tables = tables
        self._ended = IndexStatistics()
        self._around = IndexContext(
            tables,
            Sequences(lambda: new_writer(records, rng.getrandbits(62)), monotonic_ms),
            clock,
            monotonic_ms,
            rng,
            observer,
            self._look_ms,
            hints or HintMeters(),
        )

    def partition(self, queue: Queue) -> SharedIndexPartition:
        found = self._partitions.get(queue.number)
        if found is None:
            found = self._partitions[queue.number] = SharedIndexPartition(queue, self._around)
        found.follow(queue)
        return found

    def statistics(self) -> IndexStatistics:
        """The sums over all queues since the start."""
        total = IndexStatistics()
        total.add(self._ended)
        for each in self._partitions.values():
            total.add(each.statistics)
        return total

    def changed(self, queues: Iterable[Queue], removed: Iterable[Queue]) -> None:
        """The catalogue has changed: partitions follow, or refuse everything from now on."""
        for queue in queues:
            if queue.number in self._partitions:
                self._partitions[queue.number].follow(queue)
        for queue in removed:
            found = self._partitions.pop(queue.number, None)
            if found is not None:
                self._ended.add(found.statistics)
                found.end()

    async def forget(self, queue_number: int) -> None:
        """Remove the index of a queue that was removed."""
        await self._tables.forget(queue_number)

    async def close(self) -> None:
        for each in list(self._partitions.values()):
            await each.close()

    def _look_ms(self) -> int:
        polled = sum(each.watched for each in self._partitions.values())
        return max(LOOK_MS, polled * 1_000 // LOOKS_PER_SECOND_MAX)
