"""Moves messages between queues: `adopt` at the target, then `settle` at the source.

In this order a message is never lost. A crash in between repeats the move, and `adopt` is
idempotent.
"""

from collections.abc import Sequence

import msgspec

from dovemq.core.commands import Lease, Transfer
from dovemq.core.ports import Store
from dovemq.core.queue import Queue


async def dead_letter(
    store: Store, source: Queue, target: Queue, leases: Sequence[Lease], now_ms: int
) -> None:
    """Move messages to a dead-letter queue with their count of receives and their source.

    The lease under which they are moved was never answered, so it does not count.
    """
    transfers = [
        Transfer(
            msgspec.structs.replace(lease.message, source=str(source.key)),
            lease.receive_count - 1,
            lease.first_received_ms if lease.receive_count > 1 else 0,
        )
        for lease in leases
    ]
    await _move(store, source, target, leases, transfers, now_ms)


async def move_back(
    store: Store,
    source: Queue,
    target: Queue,
    leases: Sequence[Lease],
    now_ms: int,
    *,
    forced: bool = False,
) -> None:
    """Move messages back; they start again without receives and without a source.

    With `forced` the receipts need not be those of leases.
    """
    transfers = [Transfer(msgspec.structs.replace(lease.message, source=None)) for lease in leases]
    await _move(store, source, target, leases, transfers, now_ms, forced=forced)


async def _move(
    store: Store,
    source: Queue,
    target: Queue,
    leases: Sequence[Lease],
    transfers: Sequence[Transfer],
    now_ms: int,
    *,
    forced: bool = False,
) -> None:
    await store.partition(target, 0).adopt(transfers, now_ms)
    receipts = [lease.receipt for lease in leases]
    await store.partition(source, 0).settle(receipts, now_ms, moved=True, forced=forced)
