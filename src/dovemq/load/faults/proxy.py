"""A proxy on the loopback interface that drops, delays and cuts exchanges.

It parses HTTP only to find the end of requests and answers; bytes pass unchanged. Each exchange has
one decision, taken when its request starts. Each client connection has its own connection to the
server and one exchange at a time, which bounds the memory.
"""

import asyncio
import random
from collections.abc import Callable, Iterator
from typing import Final, cast

import httptools

from dovemq.load.faults.decisions import NETWORK, Decision, Mishap
from dovemq.load.faults.fault_log import FaultLog

HOST: Final = "127.0.0.1"
CONNECTIONS_MAX: Final = 10_000
CONNECT_SECONDS_MAX: Final = 5.0
BACKLOG: Final = 1_024


class Proxy:
    def __init__(
        self,
        host: str,
        port: int,
        course: Iterator[Decision | None],
        log: FaultLog,
        course_name: str = NETWORK,
    ) -> None:
        """`host` and `port` are those of the server."""
        self.server = (host, port)
        self._course = course
        self._log = log
        self._course_name = course_name
        self._number = 0
        self._closed = False
        self._links: set[_Link] = set()
        self._openings: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    async def start(self) -> str:
        """Starts to listen and returns the URL for clients."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: _Link(self), HOST, 0, backlog=BACKLOG)
        port = self._listener.sockets[0].getsockname()[1]
        return f"http://{HOST}:{port}"

    async def close(self) -> None:
        self._closed = True
        if self._listener is not None:
            self._listener.close()
        for opening in list(self._openings):
            opening.cancel()
        await asyncio.gather(*self._openings, return_exceptions=True)
        for link in list(self._links):
            link.cut()
        # Lets the loop release the closed transports before it is closed.
        await asyncio.sleep(0)

    def decide(self) -> tuple[int, Decision | None]:
        number = self._number
        self._number += 1
        return number, next(self._course)

    def note(self, number: int, decision: Decision) -> None:
        if not self._closed:
            self._log.note(self._course_name, number, decision)

    def admits(self, link: "_Link") -> bool:
        if len(self._links) >= CONNECTIONS_MAX:
            return False
        self._links.add(link)
        opening = asyncio.get_running_loop().create_task(link.open())
        self._openings.add(opening)
        opening.add_done_callback(self._openings.discard)
        return True

    def forget(self, link: "_Link") -> None:
        self._links.discard(link)


class _Exchange:
    """One request with its answer, and its fault."""

    def __init__(self, number: int, decision: Decision | None) -> None:
        self.number = number
        self.decision = decision
        self.mishap = decision.mishap if decision else None
        rng = random.Random(decision.seed) if decision else None
        self.in_answer = bool(rng and rng.random() < 0.5)
        """A cut or a delay affects the answer, or else the request."""
        self.held: list[bytes] = []
        self.due = False
        """The message is complete, and held back until its time."""
        self.answered = False


class _Messages:
    """Finds the start and end of HTTP messages in a stream of bytes."""

    def __init__(self, parser: type) -> None:
        self._parser = parser(self)
        self.begun = False
        self.complete = False

    def feed(self, data: bytes) -> bool:
        """Returns False if the bytes are not HTTP."""
        self.begun = self.complete = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            return False
        return True

    def on_message_begin(self) -> None:
        self.begun = True

    def on_message_complete(self) -> None:
        self.complete = True


class _Link(asyncio.Protocol):
    """A client connection, with the connection to the server behind it."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._client: asyncio.Transport | None = None
        self._upstream = _Upstream(self)
        self._requests = _Messages(httptools.HttpRequestParser)
        self._answers = _Messages(httptools.HttpResponseParser)
        self._exchange = _Exchange(0, None)
        self._struck = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._client = cast(asyncio.Transport, transport)
        if not self._proxy.admits(self):
            self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        self._client = None
        if not (self._struck or self._request_is_under_way):
            self.cut()

    def data_received(self, data: bytes) -> None:
        if not self._requests.feed(data):
            self.cut()
            return
        if self._requests.begun:
            self._exchange = _Exchange(*self._proxy.decide())
        self._forward(data, self._requests, Mishap.DROP_REQUEST, self._upstream.write)

    def answer_received(self, data: bytes) -> None:
        valid = self._answers.feed(data)
        self._exchange.answered = True
        if not valid or self._client is None:
            self.cut()
            return
        self._forward(data, self._answers, Mishap.DROP_RESPONSE, self._answer)

    def _forward(
        self, data: bytes, messages: _Messages, drop: Mishap, write: Callable[[bytes], None]
    ) -> None:
        """Forwards bytes of a request or an answer, unless the fault of the exchange is there."""
        exchange = self._exchange
        affected = exchange.in_answer == (messages is self._answers)
        if exchange.mishap is drop:
            if messages.complete:
                self._strike()
        elif exchange.mishap is Mishap.CUT and affected:
            write(data[: len(data) // 2])
            self._strike()
        elif exchange.mishap is Mishap.DELAY and affected:
            self._hold(data, complete=messages.complete)
        else:
            write(data)

    def cut(self) -> None:
        self._proxy.forget(self)
        self._upstream.cut()
        if self._client is not None:
            self._client.abort()
            self._client = None

    def server_left(self) -> None:
        """Closes the connection after all pending bytes are written, as a kernel does."""
        self._proxy.forget(self)
        if self._client is not None:
            self._client.close()
            self._client = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                await loop.create_connection(lambda: self._upstream, *self._proxy.server)
        except (OSError, TimeoutError):
            self.cut()

    def _strike(self) -> None:
        """Breaks the connection after the bytes that were let through have arrived."""
        self._note()
        self._struck = True
        self._upstream.close()
        self.server_left()

    @property
    def _request_is_under_way(self) -> bool:
        """A request that was held back arrives, even if its client has gone."""
        exchange = self._exchange
        return exchange.due and not exchange.in_answer and not exchange.answered

    def _hold(self, data: bytes, *, complete: bool) -> None:
        exchange = self._exchange
        exchange.held.append(data)
        if complete and exchange.decision is not None:
            exchange.due = True
            loop = asyncio.get_running_loop()
            loop.call_later(exchange.decision.for_ms / 1_000, self._let_go, exchange)

    def _let_go(self, exchange: _Exchange) -> None:
        self._note()
        data = b"".join(exchange.held)
        if exchange.in_answer:
            self._answer(data)
        else:
            self._upstream.write(data)

    def _answer(self, data: bytes) -> None:
        if self._client is not None:
            self._client.write(data)

    def _note(self) -> None:
        exchange = self._exchange
        if exchange.decision is not None:
            self._proxy.note(exchange.number, exchange.decision)


class _Upstream(asyncio.Protocol):
    """The connection to the server; keeps bytes until it is established."""

    def __init__(self, link: _Link) -> None:
        self._link = link
        self._transport: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self._ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.writelines(self._early)
        self._early.clear()
        if self._ended:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._link.server_left()

    def data_received(self, data: bytes) -> None:
        self._link.answer_received(data)

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)
        elif not self._ended:
            self._early.append(data)

    def close(self) -> None:
        self._ended = True
        if self._transport is not None:
            self._transport.close()

    def cut(self) -> None:
        self._ended = True
        self._early.clear()
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
