"""A client and a store in one process, to be struck by a power cut.

    python -m tests.faults.power_driver DIRECTORY SEED STEPS [migrate]

Opens the embedded store, makes its queues and loads them with a few workers; with `migrate` as a
later release would, whose schema has one step more. What was asked and what was answered goes to
standard output line by line, out of reach of the power cut.
"""

import asyncio
import contextlib
import itertools
import os
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from unittest.mock import patch

from dovemq.core.commands import Ask, Draft, Lease, Settlement, Transfer
from dovemq.core.ports import Partition, Store
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.stores.sqlite import committer, open_store, recovery
from dovemq.stores.sqlite.schema import load_steps
from dovemq.system.clock import SystemClock
from tests.faults.ledger import (
    MOVED,
    MOVING,
    SENDING,
    SENT,
    SETTLED,
    SETTLING,
    body_of,
    name_in,
)

ACCOUNT: Final = "000000000000"
STANDARD: Final = QueueKey(ACCOUNT, "plain")
FIFO: Final = QueueKey(ACCOUNT, "ordered.fifo")
DEAD: Final = QueueKey(ACCOUNT, "dead")
QUEUES: Final = (STANDARD, FIFO, DEAD)
_WORKERS: Final = 6
_GROUPS: Final = 3
_CACHE_BYTES: Final = 64 * 1024
_LEASE_MS: Final = 60_000
_CHECKPOINT_PAGES: Final = 60
"""Small, so that power cuts of a short run fall into checkpoints too."""

MIGRATION: Final = """
CREATE TABLE body_later (
    sequence INTEGER PRIMARY KEY, crc32 INTEGER NOT NULL, record BLOB NOT NULL) STRICT;
INSERT INTO body_later SELECT * FROM body;
DROP TABLE body;
ALTER TABLE body_later RENAME TO body;
"""


def tell(mark: str, names: Iterable[str]) -> None:
    line = " ".join((mark, *names)) + "\n"
    os.write(1, line.encode())


async def queue_of(store: Store, key: QueueKey, now_ms: int) -> Queue:
    wanted = Queue(0, key, QueueSettings(fifo=key.fifo), now_ms, now_ms)
    return await store.catalogue.create(wanted)


class Client:
    def __init__(self, store: Store, queues: dict[QueueKey, Queue], seed: int) -> None:
        self._clock = SystemClock()
        self._rng = random.Random(seed)
        self._numbers: Iterator[int] = itertools.count(self._clock.now_ms() * 1_000)
        self._seed = seed
        self._partitions = {key: store.partition(queue, 0) for key, queue in queues.items()}
        self._sending_in_order = asyncio.Lock()

    async def work(self, steps: int) -> None:
        for _ in range(steps):
            key = self._rng.choice((STANDARD, FIFO))
            if self._rng.random() < 0.55:
                await self._send(key, self._rng.choice((1, 1, 10)))
            else:
                await self._receive(key)

    async def _send(self, key: QueueKey, count: int) -> None:
        if key.fifo:
            # One sender per group, else nobody knows the order to expect.
            async with self._sending_in_order:
                await self._send_drafts(key, count)
        else:
            await self._send_drafts(key, count)

    async def _send_drafts(self, key: QueueKey, count: int) -> None:
        drafts = [self._draft(key) for _ in range(count)]
        names = [draft.message_id for draft in drafts]
        tell(SENDING, names)
        await self._partitions[key].send(drafts, self._clock.now_ms())
        tell(SENT, names)

    def _draft(self, key: QueueKey) -> Draft:
        group = f"g{self._rng.randrange(_GROUPS)}" if key.fifo else "m"
        name = f"{group}.{next(self._numbers)}.{self._seed}"
        if key.fifo:
            return Draft(name, body_of(name), "me", group=group, deduplication_id=name)
        return Draft(name, body_of(name), "me")

    async def _receive(self, key: QueueKey) -> None:
        partition = self._partitions[key]
        ask = Ask(self._rng.choice((1, 10)), _LEASE_MS)
        leases = (await partition.lease(ask, self._clock.now_ms())).messages
        if not leases:
            return
        fate = self._rng.random()
        if fate < 0.6:
            await self._settle(partition, leases)
        elif fate < 0.8:
            changes = [(lease.receipt, self._rng.choice((0, 1, _LEASE_MS))) for lease in leases]
            await partition.extend(changes, self._clock.now_ms())
        elif not key.fifo:
            await self._move(partition, leases)
        else:
            receipts = [lease.receipt for lease in leases]
            await partition.release(receipts, self._clock.now_ms())

    async def _settle(self, partition: Partition, leases: list[Lease]) -> None:
        names = [name_in(lease.message.body) for lease in leases]
        tell(SETTLING, names)
        receipts = [lease.receipt for lease in leases]
        settled = await partition.settle(receipts, self._clock.now_ms())
        done = zip(names, settled, strict=True)
        tell(SETTLED, [name for name, result in done if result is not Settlement.EXPIRED])

    async def _move(self, partition: Partition, leases: list[Lease]) -> None:
        names = [name_in(lease.message.body) for lease in leases]
        tell(MOVING, names)
        transfers = [Transfer(lease.message, lease.receive_count) for lease in leases]
        await self._partitions[DEAD].adopt(transfers, self._clock.now_ms())
        receipts = [lease.receipt for lease in leases]
        await partition.settle(receipts, self._clock.now_ms())
        tell(MOVED, names)


async def drive(directory: Path, seed: int, steps: int) -> None:
    clock = SystemClock()
    store = await open_store(
        directory, rng=random.Random(seed), cache_bytes_max=_CACHE_BYTES, clock=clock
    )
    queues = {key: await queue_of(store, key, clock.now_ms()) for key in QUEUES}
    client = Client(store, queues, seed)
    await asyncio.gather(*(client.work(steps) for _ in range(_WORKERS)))
    await store.close()


@contextlib.contextmanager
def later_release() -> Iterator[None]:
    """A release whose schema has one step more, which rewrites every message."""
    steps = [*load_steps(), MIGRATION]
    with patch.object(recovery, "load_steps", return_value=steps):
        yield


def main(arguments: list[str]) -> None:
    directory, seed, steps, *rest = arguments
    with (
        patch.object(committer, "CHECKPOINT_PAGES", _CHECKPOINT_PAGES),
        later_release() if rest else contextlib.nullcontext(),
    ):
        asyncio.run(drive(Path(directory), int(seed), int(steps)))


if __name__ == "__main__":
    main(sys.argv[1:])
