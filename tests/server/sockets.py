"""A listener with a fake behind it, and a client that sees every byte."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.answers import StreamedResponse
from dovemq.server.certificates import Certificates
from dovemq.server.limits import HttpLimits
from dovemq.server.listener import Listener
from dovemq.server.proxies import Proxies
from dovemq.server.tls import Handshakes
from dovemq.server.traffic import CheckHead, Traffic
from dovemq.testing.clock import ManualClock

GET = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
ANSWER_BYTES_MAX = 64 << 20

Handle = Callable[[HttpRequest], Awaitable[HttpResponse | StreamedResponse]]


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def post(body: bytes, *headers: str) -> bytes:
    lines = ["POST /b HTTP/1.1", "Host: h", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class Echo:
    """Answers each request with its body, and keeps what was asked."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        return HttpResponse(200, "text/plain", request.body or request.path.encode())


class LongPoll:
    """Answers when told to; tells whether it was cancelled, and what was taken back."""

    def __init__(self, body: bytes = b"message") -> None:
        self.asked = asyncio.Event()
        self.turn = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.taken_back = asyncio.Event()
        self._body = body

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.asked.set()
        try:
            await self.turn.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return HttpResponse(200, "text/plain", self._body, undelivered=self._take_back)

    async def _take_back(self) -> None:
        await asyncio.sleep(0)
        self.taken_back.set()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self, *, bare: bool = False) -> Answer:
        head = await self.reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")[:-2]
        headers = dict(field.lower().split(": ", 1) for field in fields)
        length = 0 if bare else int(headers.get("content-length", "0"))
        return Answer(int(line.split()[1]), headers, await self.reader.readexactly(length))

    async def ask(self, data: bytes) -> Answer:
        self.send(data)
        return await self.answer()

    async def rest(self) -> bytes:
        """All that still comes until the server closes."""
        return await self.reader.read(ANSWER_BYTES_MAX)

    def close(self) -> None:
        self.writer.transport.abort()


class Serving:
    def __init__(self, listener: Listener, trust: ssl.SSLContext | None = None) -> None:
        self.listener = listener
        self.traffic = listener.traffic
        self._trust = trust
        self._clients: list[Client] = []

    @property
    def handshakes(self) -> Handshakes:
        assert self.listener.handshakes is not None
        return self.listener.handshakes

    async def connect(self, *, buffer_bytes: int = 1 << 16, address: str = "127.0.0.1") -> Client:
        """A client that connects from that address."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1",
            self.listener.port,
            limit=buffer_bytes,
            ssl=self._trust,
            local_addr=(address, 0),
        )
        self._clients.append(Client(reader, writer))
        return self._clients[-1]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let the loop turn until it holds; the test's own timeout bounds it."""
        while not condition():
            await asyncio.sleep(0.001)

    def close_clients(self) -> None:
        for client in self._clients:
            client.close()


@asynccontextmanager
async def serving(
    handle: Handle,
    certificates: Certificates | None = None,
    trust: ssl.SSLContext | None = None,
    proxies: Proxies | None = None,
    check_head: CheckHead | None = None,
    /,
    **limits: int,
) -> AsyncIterator[Serving]:
    """Over TLS with certificates, whose clients trust `trust`."""
    known = HttpLimits(**{"sweep_ms": 10, **limits})
    traffic = Traffic(handle, known, ManualClock(), proxies=proxies, check_head=check_head)
    listener = Listener(traffic, certificates)
    await listener.start("127.0.0.1", 0)
    place = Serving(listener, trust)
    try:
        yield place
    finally:
        place.close_clients()
        await listener.close()
