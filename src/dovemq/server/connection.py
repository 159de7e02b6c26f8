"""One connection: a single task answers its requests in order, started by the first one.

It does not know what requests mean. If the client goes away, its request is cancelled. A
connection is one session of a client.

    bytes → RequestReader → ready → handle → Outbox → bytes
"""

import asyncio
import logging
import socket
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, cast

from dovemq.core.sessions import SESSION, ClientSession
from dovemq.http import HttpRequest, HttpResponse, client_of
from dovemq.server.answers import CLOSE, CONTINUE, KEEP_ALIVE, StreamedResponse, failure_answer
from dovemq.server.outbox import Outbox
from dovemq.server.reader import RequestReader
from dovemq.server.traffic import Traffic
from dovemq.telemetry.logs import log_failure

log = logging.getLogger(__name__)

REFUSED_MAX: Final = 64
"""Connections above a limit that get a refusal at the same time; more are dropped."""


@dataclass(slots=True, eq=False, repr=False)
class HttpConnection(asyncio.Protocol):
    _traffic: Traffic
    _reader: RequestReader = field(init=False)
    _outbox: Outbox = field(init=False)
    _transport: asyncio.Transport = field(init=False)
    _task: asyncio.Task[None] | None = None
    _waiter: asyncio.Future[None] | None = None
    _resting: asyncio.Future[None] | None = None
    half_closed: bool = False
    _answered: bool = False
    _lingering: bool = False
    _lost: bool = False
    _taking_back: bool = False
    _session: ClientSession = field(default_factory=ClientSession)
    _since_tick: int = field(init=False)
    address: str = ""
    """Connections of one address share its limits."""

    def __post_init__(self) -> None:
        self._since_tick = self._traffic.tick

    @property
    def partial_bytes(self) -> int:
        """Bytes held of a request that is not complete."""
        return self._reader.partial_bytes

    @property
    def unsent_bytes(self) -> int:
        return self._outbox.unsent_bytes

    @property
    def busy(self) -> bool:
        return bool(self._reader.ready) or (self._task is not None and self._waiter is None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        traffic = self._traffic
        self._transport = cast(asyncio.Transport, transport)
        self._outbox = Outbox(traffic, self._transport)
        self._reader, self.address = _reader_of(traffic, transport)
        excess = traffic.join(self)
        if traffic.draining or excess > REFUSED_MAX:
            self._transport.abort()
        elif excess > 0:
            self._reader.refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections; try later.")
            self._wake()

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        reader.feed(data)
        traffic = self._traffic
        if traffic.held_bytes > traffic.limits.bodies_bytes_max:
            traffic.free_bodies()
        if reader.ready:
            self._wake()
            if reader.full:
                self._transport.pause_reading()
        elif reader.continue_owed and not self.busy:
            self._send_continue()

    def eof_received(self) -> bool:
        """Keep the connection for pending answers, if the client still reads."""
        reader = self._reader
        if self._lingering:
            return False
        if self.busy:
            self._probe()
        if reader.partial:
            reader.refuse(HTTPStatus.BAD_REQUEST, "The request ends before it is complete.")
            self._wake()
        reader.ended = True
        reader.refused = False
        self.half_closed = self.busy
        return self.half_closed

    def pause_writing(self) -> None:
        self._outbox.pause()

    def resume_writing(self) -> None:
        self._outbox.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._session.end()
        self._reader.close()
        self._outbox.close()
        if self._task is None:
            self._traffic.leave(self)
        elif not self._taking_back:
            self._task.cancel()

    def close_when_idle(self) -> None:
        """Close the connection once its pending answers are written."""
        reader = self._reader
        if self._resting is not None:
            # The account must wait, so a request that has only started to arrive is not read.
            reader.ended = True
            _end_rest(self._resting)
        elif reader.partial:
            reader.last_wanted = True
        elif self.busy:
            reader.ended = True
        elif not self._lingering:
            self._transport.close()

    def abort(self) -> None:
        self._outbox.close()
        self._transport.abort()

    def refuse_partial(self) -> None:
        reason = "The server has no memory left for unfinished requests; try later."
        self._reader.refuse(HTTPStatus.SERVICE_UNAVAILABLE, reason)
        self._wake()

    def sweep(self) -> None:
        """Close the connection if it takes too long; called once in each tick."""
        traffic, limits, reader = self._traffic, self._traffic.limits, self._reader
        if self._transport.is_closing():
            return
        if self._lingering:
            if traffic.passed(self._since_tick, limits.linger_ms_max):
                self._transport.abort()
        elif self._outbox.paused:
            if traffic.passed(self._outbox.since_tick, limits.write_ms_max):
                self._transport.abort()
        elif self.half_closed:
            if self._peer_is_gone():
                self._transport.abort()
        elif self._resting is not None:
            return
        elif reader.partial:
            if not reader.full and traffic.passed(reader.since_tick, limits.request_ms_max):
                reader.refuse(HTTPStatus.REQUEST_TIMEOUT, "The request took too long to arrive.")
                self._wake()
        elif not self.busy and traffic.passed(self._since_tick, limits.idle_ms_max):
            self._transport.close()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)
        elif self._task is None:
            self._task = self._traffic.loop.create_task(self._serve())
            self._task.add_done_callback(self._served)

    async def _serve(self) -> None:
        reader, traffic = self._reader, self._traffic
        ready = reader.ready
        SESSION.set(self._session)
        try:
            while True:
                while ready:
                    await self._answer(ready.popleft())
                    # Not within `_answer`, which would keep a second copy of the answer alive.
                    if self._outbox.paused:
                        await self._outbox.taken()
                    if not self._transport.is_reading():
                        self._read_on()
                if reader.ended:
                    break
                if reader.continue_owed:
                    self._send_continue()
                self._since_tick = traffic.tick
                self._waiter = traffic.loop.create_future()
                await self._waiter
            self._finish()
        finally:
            if not reader.ended:
                self._transport.abort()
            # Not cancelled from here on: that would lose messages that are being taken back.
            self._taking_back = True
            await self._outbox.take_back()

    def _served(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if self._lost:
            self._traffic.leave(self)
        if not task.cancelled() and (error := task.exception()) is not None:
            log_failure(log, "a connection failed", error)

    async def _answer(self, item: HttpRequest | HttpResponse) -> None:
        self._traffic.requests += 1
        self._session.requests += 1
        bare = False
        response: HttpResponse | StreamedResponse
        if isinstance(item, HttpResponse):
            response = item
        else:
            bare = item.method == "HEAD"
            try:
                response = await self._traffic.handle(item)
            except Exception as error:
                log_failure(log, f"{item.method} of {item.peer} failed", error)
                response = failure_answer()
            self._reader.release(item)
        if self._traffic.leaving and not (self._reader.ready or self._reader.partial):
            self._reader.ended = True
        outbox = self._outbox
        if not isinstance(response, HttpResponse):
            await outbox.stream(response, self._connection_header(), bare=bare)
        elif response.pause_ms:
            await self._answer_and_rest(response, bare)
        else:
            more = bool(self._reader.ready)
            outbox.put(response, self._connection_header(), bare=bare, more=more)
        self._answered = True

    async def _answer_and_rest(self, response: HttpResponse, bare: bool) -> None:
        reader, outbox = self._reader, self._outbox
        # On a new connection the refusal comes after the rest: a client that reconnects after each
        # refusal must gain nothing. Behind a proxy too, whose next request may be another client's.
        late = not self._answered or reader.proxied
        if late:
            await self._rest(response.pause_ms)
        outbox.put(response, self._connection_header(), bare=bare, more=False)
        if not late and (reader.ready or not reader.ended):
            if outbox.paused:
                await outbox.taken()
            await self._rest(response.pause_ms)

    async def _rest(self, pause_ms: int) -> None:
        """Read nothing for a while; requests that were read already wait too."""
        reader, traffic, transport = self._reader, self._traffic, self._transport
        if traffic.draining or transport.is_closing():
            return
        if traffic.resting >= traffic.limits.resting_max:
            # Too many connections rest. This one closes, so that others can connect.
            reader.ended = True
            return
        transport.pause_reading()
        traffic.resting += 1
        self._resting = traffic.loop.create_future()
        timer = traffic.loop.call_later(pause_ms / 1_000, _end_rest, self._resting)
        try:
            await self._resting
        finally:
            timer.cancel()
            traffic.resting -= 1
            self._resting = None
        # A request that was arriving could not be read during the rest.
        reader.since_tick = traffic.tick

    def _read_on(self) -> None:
        reader = self._reader
        reader.read_on()
        if not reader.full and not self.half_closed:
            self._transport.resume_reading()

    def _finish(self) -> None:
        transport = self._transport
        if transport.is_closing():
            return
        if self._reader.refused:
            # Closing while the client still sends would reset the connection, and the client
            # would not see the reason.
            self._lingering = True
            self._since_tick = self._traffic.tick
            transport.write_eof()
        else:
            transport.close()

    def _connection_header(self) -> str:
        reader = self._reader
        if reader.ended and not reader.ready:
            return CLOSE
        return KEEP_ALIVE if reader.keep_alive_asked else ""

    def _send_continue(self) -> None:
        self._reader.continue_owed = False
        self._outbox.write(CONTINUE)

    def _probe(self) -> None:
        """Find out whether the client has closed the connection for good: it then sends a reset.

        An interim response is all that may be written before the answer (RFC 9110 §15.2).
        """
        if self._outbox.clear and self._reader.speaks_http11():
            self._outbox.write(CONTINUE)

    def _peer_is_gone(self) -> bool:
        # Reading has ended, so that a reset shows in no other way.
        connection = self._transport.get_extra_info("socket")
        return bool(connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def _end_rest(resting: asyncio.Future[None]) -> None:
    if not resting.done():
        resting.set_result(None)


def _reader_of(traffic: Traffic, transport: asyncio.BaseTransport) -> tuple[RequestReader, str]:
    """The reader of a connection, and the address whose limits the connection shares.

    A trusted proxy speaks for many clients, so each of its connections counts by itself.
    """
    secure = transport.get_extra_info("ssl_object") is not None
    peer = transport.get_extra_info("peername")
    if not isinstance(peer, tuple):
        return RequestReader(traffic, "", secure), ""
    host = peer[0]
    text = f"[{host}]:{peer[1]}" if ":" in host else f"{host}:{peer[1]}"
    proxies = traffic.proxies
    if proxies is not None and proxies.trusts(host):
        return RequestReader(traffic, text, secure, proxies), text
    return RequestReader(traffic, text, secure), client_of(text)
