"""A log whose faults a test switches on and off."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from dovemq.core.errors import StoreUnreachable
from dovemq.stores.owned.logged.ports import Log, LogRow


class FaultyLog:
    """`fails`: what each append raises, after it was done if `lands`. `waits`: appends hang."""

    def __init__(self, inner: Log) -> None:
        self._inner = inner
        self.fails: Callable[[], Exception] | None = None
        self.lands = False
        self.waits: asyncio.Event | None = None
        self.appends: list[int] = []
        self.reads = 0

    async def append(self, position: int, group: bytes, keep_ms: int, *, grow: bool = True) -> None:
        self.appends.append(position)
        if self.waits is not None:
            await self.waits.wait()
        if self.fails is not None and not self.lands:
            raise self.fails()
        await self._inner.append(position, group, keep_ms, grow=grow)
        if self.fails is not None:
            raise self.fails()

    async def read(self, positions: Sequence[int]) -> dict[int, bytes]:
        self.reads += 1
        return await self._inner.read(positions)

    def scan(self, first: int) -> AsyncIterator[list[LogRow]]:
        return self._inner.scan(first)

    async def trim(self, before: int) -> None:
        await self._inner.trim(before)

    async def bookmark(self) -> int:
        return await self._inner.bookmark()

    async def set_bookmark(self, position: int) -> None:
        await self._inner.set_bookmark(position)


def unreachable() -> Exception:
    return StoreUnreachable("test", "no answer")
