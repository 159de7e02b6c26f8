"""TLS between a connection and its TCP transport, with a bound on handshakes.

    HttpConnection ⇄ TlsTransport ⇄ TCP transport of the loop
                     two memory buffers and OpenSSL

The event loop's own TLS is not used: it counts an answer as written while it is still in a
buffer, closes a connection when the client ends its sending side, and does not bound handshakes
(docs/decisions/0016-tls-of-our-own.md). OpenSSL does the cryptography.
"""

import asyncio
import contextlib
import logging
import ssl
from dataclasses import InitVar, dataclass, field
from http import HTTPStatus
from typing import Any, Final, cast

from dovemq.server.answers import CLOSE, encode_head, refusal
from dovemq.server.certificates import Certificates
from dovemq.server.connection import HttpConnection
from dovemq.server.traffic import Traffic

log = logging.getLogger(__name__)

_RECORD_BYTES_MAX: Final = 16 << 10
_HANDSHAKE_RECORD: Final = 22
"""The first byte that a TLS client sends."""


@dataclass(slots=True, eq=False, repr=False)
class TlsTransport(asyncio.Transport, asyncio.Protocol):
    """A transport for the connection above it, and a protocol for the TCP transport below.

    The client can end its sending side in TLS or in TCP; the connection is told once.
    """

    _handshakes: "Handshakes"
    context: InitVar[ssl.SSLContext]
    _incoming: ssl.MemoryBIO = field(default_factory=ssl.MemoryBIO)
    _outgoing: ssl.MemoryBIO = field(default_factory=ssl.MemoryBIO)
    _session: ssl.SSLObject = field(init=False)
    _tcp: asyncio.Transport = field(init=False)
    _above: HttpConnection | None = None
    _client_ended: bool = False
    _parted: bool = False

    def __post_init__(self, context: ssl.SSLContext) -> None:
        asyncio.Transport.__init__(self)
        self._session = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    # Called by the TCP transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._tcp = cast(asyncio.Transport, transport)
        self._handshakes.begin(self)

    def data_received(self, data: bytes) -> None:
        if self._client_ended or self._parted:
            return
        self._incoming.write(data)
        if self._above is not None or self._shake_hands(data):
            self._read()

    def eof_received(self) -> bool:
        if self._above is None:
            return False
        if self._client_ended:
            return self._above.half_closed
        self._client_ended = True
        return self._above.eof_received()

    def pause_writing(self) -> None:
        if self._above is not None:
            self._above.pause_writing()

    def resume_writing(self) -> None:
        if self._above is not None:
            self._above.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._handshakes.end(self)
        above, self._above = self._above, None
        if above is not None:
            above.connection_lost(exc)

    # Called by the connection.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._parted or self._tcp.is_closing():
            return
        try:
            count = self._session.write(data)
            while count < len(data):
                count += self._session.write(memoryview(data)[count:])
        except ssl.SSLError as error:
            self._fail(error)
            return
        self._tcp.write(self._outgoing.read())

    def write_eof(self) -> None:
        self._part()
        self._tcp.write_eof()

    def close(self) -> None:
        self._part()
        self._tcp.close()

    def abort(self) -> None:
        self._tcp.abort()

    def is_closing(self) -> bool:
        return self._tcp.is_closing()

    def pause_reading(self) -> None:
        self._tcp.pause_reading()

    def resume_reading(self) -> None:
        self._tcp.resume_reading()

    def is_reading(self) -> bool:
        return self._tcp.is_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the limits of TCP's buffer. There is no other: each write is passed on at once."""
        self._tcp.set_write_buffer_limits(high, low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._session if name == "ssl_object" else self._tcp.get_extra_info(name, default)

    def _shake_hands(self, data: bytes) -> bool:
        """Continue the handshake; True once it is complete."""
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        except ssl.SSLError as error:
            if data[0] != _HANDSHAKE_RECORD:
                self._outgoing.read()
                self._tcp.write(self._handshakes.plain_answer())
            log.debug("no handshake with %s: %s", self.get_extra_info("peername"), error.reason)
            self._flush()
            self._tcp.close()
            return False
        self._flush()
        self._above = self._handshakes.finish(self)
        self._above.connection_made(self)
        return True

    def _read(self) -> None:
        session, incoming = self._session, self._incoming
        parts: list[bytes] = []
        try:
            while incoming.pending:
                part = session.read(_RECORD_BYTES_MAX)
                if not part:
                    self._client_ended = True
                    break
                parts.append(part)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self._fail(error)
            return
        if self._outgoing.pending:
            self._flush()
        above = self._above
        if above is None:
            return
        if parts:
            above.data_received(parts[0] if len(parts) == 1 else b"".join(parts))
        if self._client_ended and not above.eof_received():
            self.close()

    def _part(self) -> None:
        """Announce the end of sending, so that the client knows that nothing was cut off."""
        if self._parted or self._above is None or self._tcp.is_closing():
            return
        self._parted = True
        with contextlib.suppress(ssl.SSLError):
            # It raises because the client has not confirmed yet, for which we need not wait.
            self._session.unwrap()
        self._flush()

    def _flush(self) -> None:
        data = self._outgoing.read()
        if data and not self._tcp.is_closing():
            self._tcp.write(data)

    def _fail(self, error: ssl.SSLError) -> None:
        log.debug("TLS with %s broke: %s", self.get_extra_info("peername"), error.reason)
        self._tcp.abort()


class Handshakes:
    """The handshakes in progress, bounded in number and time.

    A new one replaces the oldest, so that slow clients cannot keep others out.
    """

    def __init__(self, traffic: Traffic, certificates: Certificates) -> None:
        self._traffic = traffic
        self._certificates = certificates
        self._since_tick: dict[TlsTransport, int] = {}
        self.begun = 0

    def __len__(self) -> int:
        return len(self._since_tick)

    def transport(self) -> TlsTransport:
        """A transport for the next client."""
        return TlsTransport(self, self._certificates.context)

    def begin(self, transport: TlsTransport) -> None:
        traffic = self._traffic
        if traffic.draining:
            transport.abort()
            return
        if len(self._since_tick) >= traffic.limits.handshakes_max:
            self._abort(next(iter(self._since_tick)))
        self._since_tick[transport] = traffic.tick
        self.begun += 1

    def finish(self, transport: TlsTransport) -> HttpConnection:
        self.end(transport)
        return HttpConnection(self._traffic)

    def end(self, transport: TlsTransport) -> None:
        self._since_tick.pop(transport, None)

    def sweep(self) -> None:
        """Abort the handshakes that take too long; called once in each tick, oldest first."""
        traffic = self._traffic
        for transport, since_tick in tuple(self._since_tick.items()):
            if not traffic.passed(since_tick, traffic.limits.handshake_ms_max):
                break
            self._abort(transport)

    def abort(self) -> None:
        for transport in tuple(self._since_tick):
            self._abort(transport)

    def plain_answer(self) -> bytes:
        """The answer to a client that uses plain HTTP on a TLS port."""
        text = "This port uses TLS: use https://."
        said = refusal(HTTPStatus.BAD_REQUEST, text, self._traffic.methods.values())
        return encode_head(said, len(said.body), CLOSE, self._traffic.date) + said.body

    def _abort(self, transport: TlsTransport) -> None:
        self.end(transport)
        transport.abort()
