"""The time of each request of a client, and the moment from which its response time counts.

In a closed loop both are when the client sends the request. In an open loop requests have due times
that do not depend on the service: a late client sends at once, and its delay counts.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final, Protocol

from dovemq.load.plan import ArrivalPattern

TIMER_US_MAX: Final = 1_000
"""Timers of the event loop have a resolution of a millisecond; their delay is not the service's."""


class RequestPace(Protocol):
    async def next_us(self) -> int:
        """Waits until the next request is due, and returns the time from which it counts."""
        ...


class ClosedPace:
    def __init__(self, pause_ms: int, now_us: Callable[[], int]) -> None:
        self._pause_seconds = pause_ms / 1_000
        self._now_us = now_us
        self._first = True

    async def next_us(self) -> int:
        if self._pause_seconds and not self._first:
            await asyncio.sleep(self._pause_seconds)
        self._first = False
        return self._now_us()


class OpenPace:
    """Paces requests at a mean interval, from `begins_us` on.

    `punctual`: the client watches the clock during the last moment before a request, which uses a
    whole processor.
    """

    def __init__(
        self,
        interval_us: float,
        arrivals: ArrivalPattern,
        begins_us: float,
        rng: random.Random,
        now_us: Callable[[], int],
        *,
        punctual: bool = False,
    ) -> None:
        self._interval_us = interval_us
        self._spin_us = 2 * TIMER_US_MAX if punctual else 0
        self._drawn = arrivals is ArrivalPattern.POISSON
        self._rng = rng
        self._now_us = now_us
        # Spreads the first requests of many clients.
        self._due_us = begins_us + interval_us * rng.random() * (not self._drawn)

    async def next_us(self) -> int:
        if self._drawn:
            self._due_us += self._rng.expovariate(1 / self._interval_us)
        due_us = int(self._due_us)
        if not self._drawn:
            self._due_us += self._interval_us
        wait_us = due_us - self._now_us()
        if wait_us <= 0:
            return due_us
        await asyncio.sleep(max(0, wait_us - self._spin_us) / 1e6)
        while self._spin_us and self._now_us() < due_us:
            await asyncio.sleep(0)
        return max(due_us, min(self._now_us(), due_us + TIMER_US_MAX))
