"""One keep-alive connection, which carries one request at a time."""

import asyncio
from collections.abc import Callable
from typing import Final, cast

import httptools
from msgspec import Struct

ANSWER_BYTES_MAX: Final = 64 << 20
"""Largest answer that is held in memory. Larger ones need a sink."""
OUTLINE_BYTES_MAX: Final = 200

Sink = Callable[[bytes], None]


class ConnectionBroken(Exception):
    """The connection failed. The pool turns this into a `ClientError`."""


class ClientResponse(Struct, frozen=True):
    status: int
    raw_headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """The headers by lower-case names, decoded on demand, since few callers need them."""
        return {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in self.raw_headers
        }

    @property
    def outline(self) -> str:
        """The status and the first line of a plain text, for answers that cannot be decoded."""
        text = f"HTTP status {self.status}"
        if not self.headers.get("content-type", "").startswith("text/plain"):
            return text
        line = self.body[:OUTLINE_BYTES_MAX].decode("ascii", "replace").partition("\n")[0]
        return f"{text}: {line}" if line.isprintable() else text


class PooledConnection(asyncio.Protocol):
    """Sends requests and parses answers. A broken or cancelled exchange closes it."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[ClientResponse] | None = None
        self._deadline = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._sink: Sink | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self._length = 0

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(
        self, request: bytes, deadline: float, sink: Sink | None = None
    ) -> ClientResponse:
        """The answer to `request`. With a sink, the body of a 200 goes there piece by piece.

        Raises `TimeoutError` if it is not complete at `deadline`, in seconds of the loop's clock.
        """
        if self._transport is None or self._waiter is not None:
            raise ConnectionBroken("the connection is closed")
        self._sink = sink
        self._waiter = self._loop.create_future()
        self._deadline = deadline
        if self._alarm is None or self._alarm.when() > deadline:
            self._set_alarm()
        self._transport.write(request)
        answer = None
        try:
            answer = await self._waiter
        finally:
            self._waiter = None
            if answer is None:
                # The rest of this answer must not be read as the next one.
                self.close()
        return answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        self._drop_alarm()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._drop_alarm()
        self._fail(ConnectionBroken(str(exc) if exc else "the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionBroken(f"not HTTP: {error}"))
            self.close()

    def on_message_begin(self) -> None:
        self._headers = []
        self._parts = []
        self._length = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        if self._sink is not None and self._parser.get_status_code() == 200:
            self._take(body)
            return
        self._length += len(body)
        if self._length > ANSWER_BYTES_MAX:
            self._fail(ConnectionBroken(f"an answer longer than {ANSWER_BYTES_MAX} bytes"))
            self.close()
            return
        self._parts.append(body)

    def on_message_complete(self) -> None:
        if not self._parser.should_keep_alive():
            self.close()
        if self._waiter is not None and not self._waiter.done():
            body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._waiter.set_result(
                ClientResponse(self._parser.get_status_code(), self._headers, body)
            )

    def _set_alarm(self) -> None:
        """One timer serves many requests, since a timer for each would cost more than they do."""
        self._drop_alarm()
        self._alarm = self._loop.call_at(self._deadline, self._look)

    def _drop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _look(self) -> None:
        self._alarm = None
        if self._waiter is None:
            return
        if self._loop.time() < self._deadline:
            self._set_alarm()
        else:
            self._fail(TimeoutError())

    def _take(self, body: bytes) -> None:
        assert self._sink is not None
        try:
            self._sink(body)
        except OSError as error:
            self._fail(error)
            self.close()

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
