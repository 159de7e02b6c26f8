"""Inspects a data directory after a crash: every message, every counter, every checksum."""

import asyncio
import random
from pathlib import Path
from typing import Final

from dovemq.core.commands import Ask, Peek
from dovemq.core.ports import Partition, Store
from dovemq.core.queue import Queue
from dovemq.stores.sqlite import open_store
from dovemq.system.clock import SystemClock
from tests.faults.ledger import Ledger, name_in, out_of_order, repeated

_CACHE_BYTES: Final = 1024 * 1024
_LEASES_OVER_MS: Final = 3_600_000
_PAGE: Final = 500
_QUEUES_MAX: Final = 100


def broken_promises(directory: Path, ledger: Ledger) -> list[str]:
    """Empties every queue of the store and returns what is wrong."""
    return asyncio.run(_look(directory, ledger))


async def _look(directory: Path, ledger: Ledger) -> list[str]:
    clock = SystemClock()
    store = await open_store(
        directory, rng=random.Random(0), cache_bytes_max=_CACHE_BYTES, clock=clock
    )
    try:
        verification = await store.verify()
        problems = [] if verification.sound else [f"verify: {verification}"]
        found: dict[str, str] = {}
        for queue in await store.catalogue.page(None, "", "", _QUEUES_MAX):
            bodies, wrong = await _empty(store, queue, clock.now_ms())
            problems += wrong
            found.update((name_in(body), body) for body in bodies)
        return problems + ledger.broken_promises(found)
    finally:
        await store.close()


async def _empty(store: Store, queue: Queue, now_ms: int) -> tuple[list[str], list[str]]:
    """Bodies in order, and what is wrong: counters, order, or messages seen twice."""
    partition = store.partition(queue, 0)
    counts = await partition.counts(now_ms)
    peeked = await _peek_all(partition, now_ms)
    drained = await _drain(partition, now_ms + _LEASES_OVER_MS)
    problems = []
    if counts.visible + counts.leased + counts.delayed != len(drained):
        problems.append(f"{queue.key}: counted {counts}, drained {len(drained)}")
    if sorted(peeked) != sorted(drained):
        problems.append(f"{queue.key}: peeked {len(peeked)}, drained {len(drained)}")
    if twice := repeated(drained):
        problems.append(f"{queue.key}: twice: {[name_in(body) for body in twice[:5]]}")
    if queue.key.fifo and (wrong := out_of_order(name_in(body) for body in drained)):
        problems.append(f"{queue.key}: out of order: {wrong[:5]}")
    return drained, problems


async def _peek_all(partition: Partition, now_ms: int) -> list[str]:
    bodies: list[str] = []
    after = 0
    while page := await partition.peek(Peek(_PAGE, after), now_ms):
        bodies += [peeked.message.body for peeked in page]
        after = page[-1].message.sequence
    return bodies


async def _drain(partition: Partition, now_ms: int) -> list[str]:
    bodies: list[str] = []
    while leases := (await partition.lease(Ask(10, _LEASES_OVER_MS), now_ms)).messages:
        bodies += [lease.message.body for lease in leases]
        await partition.settle([lease.receipt for lease in leases], now_ms)
    return bodies
