"""Rounds of a loop until it is stopped, and troubles that are told once until they have passed."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence


async def repeat_rounds(
    one: Callable[[], Awaitable[object]], stopped: Awaitable[object], every_seconds: float
) -> None:
    """Awaits one round after another until `stopped` is done."""
    ending = asyncio.ensure_future(stopped)
    try:
        while not ending.done():
            await one()
            await asyncio.wait([ending], timeout=every_seconds)
    finally:
        ending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ending


class ToldOnce:
    """Reports each trouble of a round, unless the round before had it too."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._troubles: set[str] = set()

    def __call__(self, troubles: Sequence[str]) -> None:
        found = set(troubles)
        for trouble in sorted(found - self._troubles):
            self._report(trouble)
        self._troubles = found
