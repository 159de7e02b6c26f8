"""A listening socket, its connections, and the timer that checks their time limits."""

import asyncio
import contextlib
from typing import Final

from dovemq.server.certificates import Certificates
from dovemq.server.connection import HttpConnection
from dovemq.server.tls import Handshakes
from dovemq.server.traffic import Traffic

_BACKLOG: Final = 1_024
_TAKE_BACK_SECONDS_MAX: Final = 5


class Listener:
    """Uses TLS if it has certificates."""

    def __init__(self, traffic: Traffic, certificates: Certificates | None = None) -> None:
        self.traffic = traffic
        self.handshakes = Handshakes(traffic, certificates) if certificates else None
        self._server: asyncio.Server | None = None
        self._sweep_timer: asyncio.TimerHandle | None = None

    async def start(self, host: str, port: int) -> None:
        def plain() -> asyncio.Protocol:
            return HttpConnection(self.traffic)

        protocol = plain if self.handshakes is None else self.handshakes.transport
        self._server = await self.traffic.loop.create_server(protocol, host, port, backlog=_BACKLOG)
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
        traffic = self.traffic
        self._sweep_timer = traffic.loop.call_later(traffic.limits.sweep_ms / 1_000, self._sweep)

    def _sweep(self) -> None:
        self._sweep_later()
        self.traffic.advance()
        if self.handshakes is not None:
            self.handshakes.sweep()
        for connection in tuple(self.traffic.connections):
            connection.sweep()
