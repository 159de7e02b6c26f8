"""Clients with sessions at a spread queue that sizes itself."""

from typing import Any

import msgspec

from dovemq.core.commands import Lease
from dovemq.core.partitions import ControlMemory
from dovemq.core.sessions import ClientSession
from dovemq.fabric.sessions import ClientCount
from tests.fabric.spread import SpreadWorld


class AutoWorld(SpreadWorld):
    """A spread queue whose clients have sessions; `client` opens one."""

    async def start(self) -> "AutoWorld":
        await super().start()
        await self.set(auto=True)
        return self

    async def set(self, **fields: Any) -> None:
        """Set fields of the settings that no attribute sets, or not alone."""
        settings = msgspec.structs.replace(self.queue.settings, **fields)
        changed = msgspec.structs.replace(self.queue, settings=settings)
        assert await self.fabric.catalogue.replace(changed)
        await self.refresh()

    async def mark(self, number: int | None) -> None:
        await self.set(control=ControlMemory(marked=number))

    def client(self) -> "PinnedClient":
        return PinnedClient(self)

    def sessions(self) -> dict[int, tuple[int, int]]:
        """Producers and consumers by partition."""
        counts = self.fabric.sessions.counts(self.queue.number)
        return {number: _pair(counts[number]) for number in sorted(counts)}


class PinnedClient:
    """One client: its requests carry its session."""

    def __init__(self, world: AutoWorld) -> None:
        self.session = ClientSession()
        self._world = world

    async def send(self, *bodies: str, group: str | None = None) -> None:
        with self.session.call():
            await self._world.send(*bodies, group=group)

    async def take(self, count_max: int = 10, wait_ms: int = 0) -> list[Lease]:
        with self.session.call():
            return (await self._world.lease(count_max, wait_ms)).messages

    def leave(self) -> None:
        self.session.end()


def _pair(count: ClientCount) -> tuple[int, int]:
    return count.producers, count.consumers
