"""Sessions of clients: one for each connection, or for each client in this process.

Whoever reads requests puts the session into the context of the task that answers them, so that no
function on the way has to pass it on. Work that no client has asked for has no session. What a
session means for a queue is up to the fabric.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Final

Ended = Callable[["ClientSession"], None]


class ClientSession:
    """The identity of a client from its first request to its end.

    `requests` counts the requests that have begun. `calls` counts those that are under way where
    several may be: a connection has one request at a time, and leaves it at 0.
    """

    __slots__ = ("_ended", "_watchers", "calls", "requests")

    def __init__(self) -> None:
        self.requests = 0
        self.calls = 0
        self._ended = False
        self._watchers: list[Ended] = []

    @property
    def ended(self) -> bool:
        return self._ended

    def when_ended(self, ended: Ended) -> None:
        """Call this function at the end of the session, which has not ended yet."""
        self._watchers.append(ended)

    def end(self) -> None:
        """End the session for good; a second call does nothing."""
        self._ended = True
        watchers, self._watchers = self._watchers, []
        for ended in watchers:
            ended(self)

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """One request of a client in this process, whose requests come from many tasks."""
        self.requests += 1
        self.calls += 1
        token = SESSION.set(self)
        try:
            yield
        finally:
            SESSION.reset(token)
            self.calls -= 1


SESSION: Final[ContextVar[ClientSession | None]] = ContextVar("session", default=None)
"""The session of the client whose request this task answers."""
