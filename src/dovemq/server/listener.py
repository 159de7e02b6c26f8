"""A listening socket, its connections, and the timer that checks their time limits."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Final

from dovemq.core.ports import Clock
from dovemq.server.answers import SQS_METHODS
from dovemq.server.certificates import Certificates
from dovemq.server.connection import HttpConnection
from dovemq.server.limits import HttpLimits
from dovemq.server.proxies import Proxies
from dovemq.server.tls import Handshakes
from dovemq.server.traffic import CheckHead, Handle, Traffic

_BACKLOG: Final = 1_024
_TAKE_BACK_SECONDS_MAX: Final = 5


class Listener:
    """Uses TLS if it has certificates. Without proxies every peer is a client."""

    def __init__(
        self,
        handle: Handle,
        limits: HttpLimits,
        clock: Clock,
        methods: Mapping[bytes, str] = SQS_METHODS,
        certificates: Certificates | None = None,
        proxies: Proxies | None = None,
        now_ns: Callable[[], int] | None = None,
        check_head: CheckHead | None = None,
    ) -> None:
        self._handle = handle
        self._limits = limits
        self._clock = clock
        self._methods = methods
        self._certificates = certificates
        self._proxies = proxies
        self.handshakes: Handshakes | None = None
        self._now_ns = now_ns
        self._check_head = check_head
        self._server: asyncio.Server | None = None
        self._sweep_timer: asyncio.TimerHandle | None = None
        self.traffic: Traffic

    async def start(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        self.traffic = Traffic(
            self._handle,
            self._limits,
            self._clock,
            loop,
            self._methods,
            self._proxies,
            self._now_ns,
            self._check_head,
        )
        if self._certificates is None:
            self._server = await loop.create_server(
                lambda: HttpConnection(self.traffic), host, port, backlog=_BACKLOG
            )
        else:
            self.handshakes = Handshakes(self.traffic, self._certificates)
            self._server = await loop.create_server(
                self.handshakes.transport, host, port, backlog=_BACKLOG
            )
        self._sweep_later()

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def stop_accepting(self) -> None:
        """Accept no connection; idle ones close now, busy ones after their answers."""
        self.traffic.draining = True
        if self._server is not None:
            self._server.close()
        if self.handshakes is not None:
            self.handshakes.abort()
        for connection in tuple(self.traffic.connections):
            connection.close_when_idle()

    async def emptied(self, seconds: float) -> bool:
        """Wait for all connections and requests to end; False if they do not end in time."""
        if self.traffic.connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.traffic.emptied.wait(), seconds)
        return not self.traffic.connections

    async def close(self) -> None:
        """Close all connections and let them take back the messages that were not delivered."""
        if self._server is None:
            return
        self.stop_accepting()
        for connection in tuple(self.traffic.connections):
            connection.abort()
        await self.emptied(_TAKE_BACK_SECONDS_MAX)
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None

    def _sweep_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep_timer = loop.call_later(self._limits.sweep_ms / 1_000, self._sweep)

    def _sweep(self) -> None:
        self._sweep_later()
        self.traffic.advance()
        if self.handshakes is not None:
            self.handshakes.sweep()
        for connection in tuple(self.traffic.connections):
            connection.sweep()
