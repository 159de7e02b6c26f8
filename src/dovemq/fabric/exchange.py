"""Exchange: visible messages move from one partition of a queue to others.

A batch is leased at the source, adopted at the target and then settled at the source, in this
order, so that a message is never in none. A crash or a lost answer leaves it in both, which is a
duplicate as every queue may have them. If the move is repeated while the copy is still there, the
target recognises it.

Only messages move that were never received. A message that is leased stays, and so does one that
was: its last receiver may still delete it, and must not find it gone and see it again later. The
lease under which a message moves counts as no receive, unless the process that moves it dies.

Sent times are kept. A moved message is visible from now on, so it stands behind those that were
visible at the target before. FIFO queues are refused: their groups would lose their order.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from dovemq.core import limits
from dovemq.core.commands import Ask, Lease, Transfer
from dovemq.core.errors import InvariantError
from dovemq.core.observing import Observer
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue
from dovemq.fabric.members import hashed

BATCH_COUNT_MAX: Final = 100
EXCHANGE_LEASE_MS: Final = limits.MINUTE_MS
"""The time after which the messages of an interrupted move are visible again at the source."""


class Exchange:
    """`store` is the store of the physical partitions."""

    def __init__(self, store: Store, clock: Clock, observer: Observer) -> None:
        self._store = store
        self._clock = clock
        self._observer = observer

    async def move(
        self,
        queue: Queue,
        source: int,
        targets: Sequence[int],
        count_max: int,
        *,
        grouped: bool = True,
    ) -> int:
        """Move one batch of at most `count_max` messages; returns how many were moved.

        Unless `grouped`, messages with a group stay.

        Each message goes to one of the targets by its group or by its id, so that a repeated move
        takes it to the same one. A started move goes on if its caller is cancelled.
        """
        if queue.settings.fifo or source in targets or not targets:
            raise InvariantError(f"Messages of {queue.key} cannot move from {source} to {targets}")
        partition = self._store.partition(queue, source)
        ask = Ask(min(count_max, BATCH_COUNT_MAX), EXCHANGE_LEASE_MS)
        leases = (await partition.lease(ask, self._clock.now_ms())).messages
        if not leases:
            return 0
        moving = asyncio.ensure_future(self._move(queue, source, targets, leases, grouped))
        return await asyncio.shield(moving)

    async def _move(
        self,
        queue: Queue,
        source: int,
        targets: Sequence[int],
        leases: Sequence[Lease],
        grouped: bool,
    ) -> int:
        left = {lease.receipt.sequence: lease.receipt for lease in leases}
        try:
            for target, some in self._by_target(targets, leases, grouped).items():
                await self._move_to(queue, source, target, some)
                for lease in some:
                    del left[lease.receipt.sequence]
        finally:
            if left:
                partition = self._store.partition(queue, source)
                await partition.release([*left.values()], self._clock.now_ms())
        return len(leases) - len(left)

    def _by_target(
        self, targets: Sequence[int], leases: Sequence[Lease], grouped: bool
    ) -> dict[int, list[Lease]]:
        by_target: dict[int, list[Lease]] = {}
        for lease in leases:
            message = lease.message
            if lease.receive_count == 1 and (grouped or message.group is None):
                text = message.message_id if message.group is None else message.group
                by_target.setdefault(hashed(text, targets), []).append(lease)
        return by_target

    async def _move_to(
        self, queue: Queue, source: int, target: int, leases: Sequence[Lease]
    ) -> None:
        transfers = [Transfer(lease.message) for lease in leases]
        await self._store.partition(queue, target).adopt(transfers, self._clock.now_ms())
        receipts = [lease.receipt for lease in leases]
        partition = self._store.partition(queue, source)
        await partition.settle(receipts, self._clock.now_ms(), moved=True)
        self._observer.exchanged(queue, leases, target)
