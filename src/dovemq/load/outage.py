"""Waits of a client while the service fails: longer each time, until it gives up."""

import asyncio
import random
from collections.abc import Callable
from typing import Final

from dovemq.core.errors import DoveError

PAUSE_MS_MIN: Final = 20
PAUSE_MS_MAX: Final = 1_000


class GaveUp(DoveError):
    def __init__(self, seconds: float, last: str) -> None:
        super().__init__(f"no success for {seconds:.0f} seconds; last error: {last}")


class Outage:
    """The consecutive failures of one client."""

    def __init__(self, ms_max: int, rng: random.Random, now_us: Callable[[], int]) -> None:
        self._us_max = 1_000 * ms_max
        self._rng = rng
        self._now_us = now_us
        self._began_us: int | None = None
        self._pause_ms = PAUSE_MS_MIN

    def over(self) -> None:
        self._began_us = None
        self._pause_ms = PAUSE_MS_MIN

    async def failed(self, error: Exception) -> None:
        now_us = self._now_us()
        if self._began_us is None:
            self._began_us = now_us
        lasted_us = now_us - self._began_us
        if lasted_us >= self._us_max:
            raise GaveUp(lasted_us / 1e6, str(error))
        pause_ms = self._pause_ms * (0.5 + self._rng.random() / 2)
        self._pause_ms = min(2 * self._pause_ms, PAUSE_MS_MAX)
        await asyncio.sleep(pause_ms / 1_000)
