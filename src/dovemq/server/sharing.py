"""Reads that many viewers share: at most one each second, whoever asks."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from dovemq.system.outcomes import let_go_unread

INTERVAL_MS: Final = 1_000
REST_FACTOR: Final = 20
"""The pause between two reads is at least this many times what the last one has taken."""

T = TypeVar("T")


class SharedRead(Generic[T]):
    """`read` gets the present time. Its failure is that of all who wait for it, and is not kept."""

    def __init__(
        self,
        read: Callable[[int], Awaitable[T]],
        timer_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._read = read
        self._timer_ns = timer_ns
        self._last: tuple[int, T] | None = None
        self._rest_ms = 0
        self._reading: asyncio.Task[T] | None = None

    async def current(self, now_ms: int) -> T:
        """The last value; a new one if it is too old."""
        if self._last is not None:
            read_ms, value = self._last
            if now_ms - read_ms < max(INTERVAL_MS, self._rest_ms):
                return value
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().create_task(self._renewed(now_ms))
            let_go_unread(self._reading)
        # The read outlives the viewer who has started it: others wait for it too.
        return await asyncio.shield(self._reading)

    async def _renewed(self, now_ms: int) -> T:
        begun_ns = self._timer_ns()
        value = await self._read(now_ms)
        self._last = (now_ms, value)
        self._rest_ms = (self._timer_ns() - begun_ns) * REST_FACTOR // 1_000_000
        return value
