"""When a client asks next, and from which moment its response time counts.

In a closed loop that is when it asks. In an open loop requests have a time whatever the service
does: a client that is late asks at once, and the waiting counts.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final, Protocol

from dovemq.load.plan import ArrivalPattern

TIMER_US_MAX: Final = 1_000
"""Timers of the loop go by whole milliseconds: what they are late is not the service's."""


class RequestPace(Protocol):
    async def next_us(self) -> int:
        """Waits for the time of the next request; answers from when it counts."""
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
    """`interval_us` is the mean; `begins_us` the earliest time of the first request.

    `punctual`: the last moment before a request is spent looking at the clock, which takes all of
    a processor.
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
        # The first ones of many clients must not come all at once.
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
