"""Decides when a group goes to the writer: at the end of the loop's turn, or a moment later.

Clients that were answered together send their next requests together, but not within one turn of
the loop. A commit for the first of them would make the others wait for the next commit, and a
commit costs the same for one request as for many. So after a commit of `CROWD_MIN` requests or more
the next one waits until as many are there, `GATHER_MS_MAX` at most. A few clients never wait.
"""

import asyncio
from collections.abc import Callable
from typing import Final

GATHER_MS_MAX: Final = 1
CROWD_MIN: Final = 4
"""Requests of a commit from which on the next commit waits for as many."""


class Gathering:
    __slots__ = ("_crowd", "_hand_over", "_handle", "_loop", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, hand_over: Callable[[], None]) -> None:
        self._loop = loop
        self._hand_over = hand_over
        self._handle: asyncio.Handle | None = None
        self._waiting = False
        self._crowd = 0

    def joined(self, requests: int) -> None:
        """Call it for each request while no commit runs. `requests`: how many wait now."""
        if self._handle is None:
            self._waiting = requests < self._crowd
            if self._waiting:
                self._handle = self._loop.call_later(GATHER_MS_MAX / 1_000, self._end)
            else:
                self._handle = self._loop.call_soon(self._end)
        elif self._waiting and requests >= self._crowd:
            self._handle.cancel()
            self._waiting = False
            self._handle = self._loop.call_soon(self._end)

    def committed(self, requests: int) -> None:
        """Call it after a commit. `requests`: how many were in it or wait for the next one."""
        self._crowd = requests if requests >= CROWD_MIN else 0

    def _end(self) -> None:
        self._handle = None
        self._hand_over()
