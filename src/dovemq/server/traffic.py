"""What the connections of one listener share: limits, a coarse clock and counts."""

import asyncio
import email.utils
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from dovemq.core.ports import Clock
from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.headers import KnownNames
from dovemq.server.limits import HttpLimits
from dovemq.server.proxies import Proxies

if TYPE_CHECKING:
    from dovemq.server.connection import HttpConnection


class StreamedResponse(Struct, frozen=True):
    """A body too large to hold: `read` gives it piece by piece, never more than `length`.

    `close` is called once, whatever happens to the client.
    """

    status: int
    content_type: str
    length: int
    read: Callable[[], Awaitable[bytes]]
    close: Callable[[], None]
    headers: tuple[tuple[str, str], ...] = ()


Handle = Callable[[HttpRequest], Awaitable[HttpResponse | StreamedResponse]]


class Traffic:
    """`tick` counts sweeps: the only time that connections know, so that none needs a timer.

    `now_ns` is there when requests are to tell when they were read.
    """

    def __init__(
        self,
        handle: Handle,
        limits: HttpLimits,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        methods: Mapping[bytes, str],
        proxies: Proxies | None = None,
        now_ns: Callable[[], int] | None = None,
    ) -> None:
        self.handle = handle
        self.now_ns = now_ns
        self.limits = limits
        self.loop = loop
        self.methods = methods
        self.proxies = proxies
        self.connections: set[HttpConnection] = set()
        self.known_names = KnownNames()
        self.held_bytes = 0
        self.tick = 0
        self.date = ""
        self.requests = 0
        self.resting = 0
        self.draining = False
        self.emptied = asyncio.Event()
        """Set once draining has left no connection and no request of one."""
        self._clock = clock
        self.advance()

    def advance(self) -> None:
        self.tick += 1
        self.date = email.utils.formatdate(self._clock.now_ms() / 1_000, usegmt=True)

    def leave(self, connection: "HttpConnection") -> None:
        self.connections.discard(connection)
        if self.draining and not self.connections:
            self.emptied.set()

    def passed(self, since_tick: int, ms_max: int) -> bool:
        return (self.tick - since_tick) * self.limits.sweep_ms > ms_max
