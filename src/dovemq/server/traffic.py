"""The state that all connections of a listener share: limits, a coarse clock, counts."""

import asyncio
import email.utils
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from dovemq.core.ports import Clock
from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.answers import SQS_METHODS, StreamedResponse
from dovemq.server.headers import KnownNames
from dovemq.server.limits import HttpLimits
from dovemq.server.proxies import Proxies

if TYPE_CHECKING:
    from dovemq.server.connection import HttpConnection


Handle = Callable[[HttpRequest], Awaitable[HttpResponse | StreamedResponse]]
CheckHead = Callable[[HttpRequest], HttpResponse | None]
"""Takes a request whose body is not read yet; returns a refusal, or None to read the body."""


@dataclass(slots=True, eq=False)
class Traffic:
    """The shared state of a listener's connections. Without proxies every peer is a client.

    `tick` counts sweeps. It is the only clock of a connection, so that none needs a timer.
    `now_ns` is set when requests record the time at which they were read.
    """

    handle: Handle
    limits: HttpLimits
    clock: Clock
    methods: Mapping[bytes, str] = field(default_factory=lambda: SQS_METHODS)
    _: KW_ONLY
    proxies: Proxies | None = None
    now_ns: Callable[[], int] | None = None
    check_head: CheckHead | None = None
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    # Oldest first: among equal holders of memory the oldest gives way.
    connections: "dict[HttpConnection, None]" = field(default_factory=dict)
    _address_connections: dict[str, int] = field(default_factory=dict)
    known_names: KnownNames = field(default_factory=KnownNames)
    held_bytes: int = 0
    unsent_bytes: int = 0
    tick: int = 0
    date: str = ""
    requests: int = 0
    resting: int = 0
    leaving: bool = False
    """Set when the listener will drain soon: each answer then ends its connection."""
    draining: bool = False
    emptied: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the listener drains and its last connection and request have ended."""

    def __post_init__(self) -> None:
        self.advance()

    def advance(self) -> None:
        self.tick += 1
        self.date = email.utils.formatdate(self.clock.now_ms() / 1_000, usegmt=True)

    def join(self, connection: "HttpConnection") -> int:
        """Add a connection. Returns how many there are above a limit, in all or of its address."""
        self.connections[connection] = None
        address, counts = connection.address, self._address_connections
        counts[address] = of_address = counts.get(address, 0) + 1
        limits = self.limits
        return max(
            len(self.connections) - limits.connections_max,
            of_address - limits.address_connections_max,
        )

    def free_bodies(self) -> None:
        """Refuse unfinished requests until the bodies fit, those of the largest holder first.

        The client whose bytes exceed the limit may have sent few of them.
        """
        while self.held_bytes > self.limits.bodies_bytes_max:
            holder = self._largest_holder(lambda each: each.partial_bytes)
            if holder is None:
                return
            holder.refuse_partial()

    def free_answers(self, wanted_bytes: int) -> None:
        """Close connections until an answer fits, the largest holder of unsent answers first."""
        while self.unsent_bytes + wanted_bytes > self.limits.unsent_bytes_max:
            holder = self._largest_holder(lambda each: each.unsent_bytes)
            if holder is None:
                return
            holder.abort()

    def _largest_holder(self, held: Callable[["HttpConnection"], int]) -> "HttpConnection | None":
        """The connection that holds the most, among those of the address that holds the most."""
        totals: dict[str, int] = {}
        for connection in self.connections:
            if bytes_held := held(connection):
                totals[connection.address] = totals.get(connection.address, 0) + bytes_held
        if not totals:
            return None
        address = max(totals, key=totals.__getitem__)
        return max((each for each in self.connections if each.address == address), key=held)

    def leave(self, connection: "HttpConnection") -> None:
        if connection in self.connections:
            del self.connections[connection]
            self._address_connections[connection.address] -= 1
            if not self._address_connections[connection.address]:
                del self._address_connections[connection.address]
        if self.draining and not self.connections:
            self.emptied.set()

    def passed(self, since_tick: int, ms_max: int) -> bool:
        return (self.tick - since_tick) * self.limits.sweep_ms > ms_max
