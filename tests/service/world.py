"""A service over the memory store and a manual clock, with short ways to say what tests say."""

import itertools
import random
from collections.abc import Sequence
from typing import Any

from dovemq.core.commands import Duplicate, Sent
from dovemq.core.observing import Observer
from dovemq.core.ports import Store
from dovemq.core.queue import Queue, QueueKey, Redrive
from dovemq.core.sending import new_draft
from dovemq.service import build_service
from dovemq.service.attempts import Delivery
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import ManualClock

ACCOUNT = "000000000000"
LONG_MS = 20_000


def key(name: str) -> QueueKey:
    return QueueKey(ACCOUNT, name)


class World:
    def __init__(
        self,
        *,
        strict: bool = False,
        store: Store | None = None,
        clock: ManualClock | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._numbers = itertools.count(1)
        self.clock = clock or ManualClock()
        self.store: Store = store or MemoryStore(random.Random(1), b"k" * 32)
        self.service = build_service(
            self.store, self.clock, self.new_id, strict_aws=strict, observer=observer
        )
        self.queues = self.service.queues
        self.messages = self.service.messages
        self.moves = self.service.moves

    def new_id(self) -> str:
        return f"id-{next(self._numbers)}"

    async def queue(self, name: str, **changes: Any) -> Queue:
        if name.endswith(".fifo"):
            changes = {"fifo": True, "content_deduplication": True, **changes}
        return await self.queues.create(key(name), changes, {})

    async def with_dead_letters(self, receives_max: int) -> tuple[Queue, Queue]:
        dead = await self.queue("dead")
        redrive = Redrive(dead.key, receives_max)
        return await self.queue("work", redrive=redrive, lease_ms=1_000), dead

    async def send(
        self, queue: Queue, *bodies: str, group: str | None = None, delay_ms: int | None = None
    ) -> list[Sent | Duplicate]:
        drafts = [
            new_draft(
                queue,
                message_id=self.new_id(),
                body=body,
                sender=ACCOUNT,
                group=group,
                delay_ms=delay_ms,
            )
            for body in bodies
        ]
        return await self.messages.send(queue, drafts)


def bodies(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.lease.message.body for delivery in deliveries]
