"""The callers that watch one partition, kept while the partition's owner changes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

Wake = Callable[[], None]

PEERS_LATER_SECONDS: Final = 0.01
"""The time in which receives of the owner may take what arrived before others hear of it."""


class Watchers:
    def __init__(self) -> None:
        self.changed: Callable[[], None] = lambda: None
        """Called when the first watcher has come or the last one has gone."""
        self._wakes: dict[object, Wake] = {}

    def __bool__(self) -> bool:
        return bool(self._wakes)

    def add(self, wake: Wake) -> Wake:
        """Returns the function that ends the watch, which may be called twice."""
        key = object()
        self._wakes[key] = wake
        if len(self._wakes) == 1:
            self.changed()

        def undo() -> None:
            if self._wakes.pop(key, None) is not None and not self._wakes:
                self.changed()

        return undo

    def wake(self) -> None:
        for wake in list(self._wakes.values()):
            wake()


class OwnFirst:
    """Wakes the watchers of this front end first, then those of others if something is left.

    If the own ones take what has arrived, the others would ask over the link for nothing.
    """

    def __init__(
        self, own: Watchers, peers: Watchers, is_something_left: Callable[[], Awaitable[bool]]
    ) -> None:
        self._own = own
        self._peers = peers
        self._is_something_left = is_something_left
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def arrived(self) -> None:
        self._own.wake()
        if not self._own:
            self._peers.wake()
        elif self._peers and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(PEERS_LATER_SECONDS, self._go_on)

    def _go_on(self) -> None:
        # What arrives from now on needs a time of its own.
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._wake_peers())

    async def _wake_peers(self) -> None:
        if await self._is_something_left():
            self._peers.wake()
