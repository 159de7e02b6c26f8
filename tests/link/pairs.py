"""Two front ends with a link, and a queue that the other one owns."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from dovemq.cluster.link.remote import RemotePartition
from dovemq.core.commands import Ask, Draft, Lease
from dovemq.core.ports import Partition, Store
from dovemq.core.queue import Queue, QueueKey, QueueSettings
from dovemq.stores.memory import MemoryStore
from dovemq.testing.clock import ManualClock
from tests.link.linked import LinkedStore
from tests.link.wires import Wire

TURNS_MAX = 20_000


def new_queue() -> Queue:
    return Queue(0, QueueKey("000000000000", "jobs"), QueueSettings(), 1, 1)


class Pair:
    """A caller and an owner; `remote` is what the caller sees of `own`."""

    queue: Queue
    linked: LinkedStore
    wire: Wire
    address: str

    def __init__(self, owner: Store | None = None) -> None:
        self.clock = ManualClock()
        self.owner = owner or MemoryStore(random.Random(1), b"receipt key of the tests")

    async def start(self) -> "Pair":
        self.linked = await LinkedStore(self.owner, self.clock).start()
        self.wire = Wire(self.linked.listener.port)
        self.address = await self.wire.start()
        self.queue = await self.owner.catalogue.create(new_queue())
        self.linked.local.know(self.queue)
        return self

    @property
    def own(self) -> Partition:
        return self.owner.partition(self.queue, 0)

    @property
    def remote(self) -> RemotePartition:
        return self.linked.links.partition(self.address, self.queue, (self.queue.number, 0))

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    async def send(self, *bodies: str) -> None:
        drafts = [Draft(f"id-{body[:20]}", body, "0") for body in bodies]
        await self.own.send(drafts, self.now_ms)

    async def take(self, count_max: int = 1) -> list[Lease]:
        return (await self.remote.lease(Ask(count_max, 30_000), self.now_ms)).messages

    async def counts(self) -> tuple[int, int]:
        """Visible and leased, as the owner counts them."""
        counts = await self.own.counts(self.now_ms)
        return counts.visible, counts.leased

    async def close(self) -> None:
        await self.wire.close()
        await self.linked.close()


async def until(holds: Callable[[], bool]) -> None:
    """Let the event loop run until a condition holds."""
    for _ in range(TURNS_MAX):
        if holds():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came true")


async def until_async(holds: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(TURNS_MAX):
        if await holds():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came true")
