"""Clients with sessions at a spread queue that sizes itself."""

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from dovemq.core.commands import Draft, Lease
from dovemq.core.partitions import ControlMemory, resized
from dovemq.core.sessions import ClientSession
from dovemq.fabric.session_counts import ClientCount
from tests.fabric.spread import LEASE_MS, SpreadWorld


class AutoWorld(SpreadWorld):
    """A spread queue whose clients have sessions; `client` opens one."""

    async def start(self) -> "AutoWorld":
        await super().start()
        await self.set(auto=True)
        return self

    async def change(self, **changes: Any) -> None:
        """A change by the owner after which the queue still sizes itself."""
        await super().change(auto=True, **changes)

    async def set(self, **fields: Any) -> None:
        """Set fields of the settings that no attribute sets, or not alone."""
        settings = msgspec.structs.replace(self.queue.settings, **fields)
        changed = msgspec.structs.replace(self.queue, settings=settings)
        assert await self.fabric.catalogue.replace(changed)
        await self.refresh()

    async def resize(self, partitions: int) -> None:
        """Change the partitions as the controller does: the queue goes on to size itself."""
        await self.set(layout=resized(self.queue.settings.layout, partitions))

    async def mark(self, number: int | None) -> None:
        await self.set(control=ControlMemory(marked=number))

    def client(self) -> "PinnedClient":
        return PinnedClient(self, ClientSession())

    def sessions(self) -> dict[int, tuple[int, int]]:
        """Producers and consumers by partition."""
        counts = self.fabric.clients.counts(self.queue.number)
        return {number: _pair(counts[number]) for number in sorted(counts)}


class PinnedClient:
    """One client: its requests carry its session, if it has one."""

    def __init__(self, world: AutoWorld, session: ClientSession | None) -> None:
        self._session = session
        self._world = world

    async def send(self, *bodies: str, group: str | None = None) -> None:
        await self.send_drafts([self._world.draft(body, group) for body in bodies])

    async def send_drafts(self, drafts: Sequence[Draft]) -> None:
        with self._request():
            await self._world.whole.send(drafts, self._world.clock.now_ms())

    async def take(
        self, count_max: int = 10, wait_ms: int = 0, lease_ms: int = LEASE_MS
    ) -> list[Lease]:
        with self._request():
            return (await self._world.lease(count_max, wait_ms, lease_ms)).messages

    def leave(self) -> None:
        if self._session is not None:
            self._session.end()

    def _request(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if self._session is None else self._session.call()


def _pair(count: ClientCount) -> tuple[int, int]:
    return count.producers, count.consumers
