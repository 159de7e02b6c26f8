"""Clocks for tests: one that moves only when it is advanced, and an event loop in virtual time.

The virtual loop jumps to the next timer instead of waiting. The same coroutines with the same seeds
do the same in the same order, and hours take milliseconds.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

START_MS: Final = 1_700_000_000_000


class ManualClock:
    def __init__(self, now_ms: int = START_MS) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, ms: int) -> None:
        if ms < 0:
            raise ValueError(f"a clock does not go back: advance({ms})")
        self._now_ms += ms


T = TypeVar("T")


class Stuck(RuntimeError):
    """Every task waits for another, and no timer is set."""


class _Leaps(selectors.SelectSelector):
    """Lets virtual time pass instead of waiting. No file is ever ready."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck("nothing is left to happen, and not everything is done")
        self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that is also the clock; sleeps in whole milliseconds are exact."""

    def __init__(self) -> None:
        self._leaps = _Leaps()
        super().__init__(self._leaps)

    def time(self) -> float:
        return self._leaps.now

    def now_ms(self) -> int:
        return START_MS + round(self._leaps.now * 1_000)


def run_virtually(main: Coroutine[Any, Any, T], loop: VirtualLoop) -> T:
    """Runs without the signal handling of `asyncio.run`, which takes longer than most runs."""
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()
