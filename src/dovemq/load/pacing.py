"""The time of each request of a client, and the moment from which its response time counts.

In a closed loop both are when the client sends the request. In an open loop requests have due times
that do not depend on the service: a late client sends at once, and its delay counts. While the
service fails a client waits longer each time, until it gives up.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final, Protocol

from dovemq.core.errors import DoveError
from dovemq.load.plan import ArrivalPattern

TIMER_US_MAX: Final = 1_000
"""Timers of the event loop have a resolution of a millisecond; their delay is not the service's."""


def absence_us(client: int, clients: int, elapsed_us: int, wave_us: int) -> int:
    """The time until a client of a load in waves is back; 0 while it is there.

    The clients of a queue come one after the other in the first half of a wave, and leave in the
    reverse order in the second. The first one stays, so that nothing waits for the next wave.
    """
    comes_us = wave_us * client // (2 * clients)
    at_us = elapsed_us % wave_us
    if not client or comes_us <= at_us < wave_us - comes_us:
        return 0
    return (comes_us - at_us) % wave_us


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
