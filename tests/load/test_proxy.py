"""The proxy against a small server: the effect of each fault on a request and its answer."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Final

import pytest

from dovemq.load.faults.decisions import Decision, Mishap
from dovemq.load.faults.fault_log import FaultLog, FaultLogHeader
from dovemq.load.faults.proxy import HOST, Proxy
from dovemq.load.faults.spec import FaultSpec

REQUEST: Final = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_MESSAGE_BYTES: Final = 65_536


class Echo:
    """Answers every complete request and keeps all received bytes."""

    def __init__(self) -> None:
        self.requests = 0
        self.seen = b""
        self.left = asyncio.Event()
        self.tasks: set[asyncio.Task[None] | None] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.current_task())
        while data := await reader.read(_MESSAGE_BYTES):
            self.seen += data
            while self.seen.count(b"hello") > self.requests:
                self.requests += 1
                writer.write(ANSWER)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        self.left.set()


class Way:
    """A connection through the proxy to the server behind it."""

    def __init__(self, url: str, echo: Echo, log: FaultLog) -> None:
        self.echo = echo
        self.log = log
        self._port = int(url.rpartition(":")[2])

    @contextlib.asynccontextmanager
    async def connected(
        self,
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection(HOST, self._port)
        try:
            yield reader, writer
        finally:
            writer.close()

    async def exchanged(self, count: int = 1, request: bytes = REQUEST) -> bytes:
        """Returns the answers of `count` exchanges on one connection, which may end early."""
        got = b""
        async with self.connected() as (reader, writer):
            for _ in range(count):
                writer.write(request)
                data = await reader.read(_MESSAGE_BYTES)
                got += data
                if len(data) < len(ANSWER):
                    break
        return got


def course(*decided: Decision | None) -> Iterator[Decision | None]:
    yield from decided
    while True:
        yield None


@contextlib.asynccontextmanager
async def way(*decided: Decision | None) -> AsyncIterator[Way]:
    echo = Echo()
    server = await asyncio.start_server(echo.serve, HOST, 0)
    log = FaultLog(FaultLogHeader(FaultSpec(), 0))
    proxy = Proxy(HOST, server.sockets[0].getsockname()[1], course(*decided), log)
    try:
        yield Way(await proxy.start(), echo, log)
    finally:
        await proxy.close()
        server.close()
        await asyncio.gather(*filter(None, echo.tasks), return_exceptions=True)


def seed_of(*, in_answer: bool) -> int:
    """Decides whether a cut or a delay affects the answer."""
    return {True: 1, False: 0}[in_answer]


async def after(*decided: Decision | None, count: int = 1) -> tuple[bytes, int, dict[Mishap, int]]:
    """Returns the received bytes, the number of requests that arrived, and the faults."""
    async with way(*decided) as made:
        got = await made.exchanged(count)
        await asyncio.sleep(0)
        return got, made.echo.requests, dict(made.log.fired)


async def test_undisturbed_exchanges_pass_unchanged_on_one_connection() -> None:
    assert await after(count=3) == (3 * ANSWER, 3, {})


async def test_dropped_request_never_arrives() -> None:
    decided = Decision(Mishap.DROP_REQUEST)
    assert await after(decided) == (b"", 0, {Mishap.DROP_REQUEST: 1})


async def test_dropped_answer_is_lost_after_the_request_was_done() -> None:
    decided = Decision(Mishap.DROP_RESPONSE)
    assert await after(decided) == (b"", 1, {Mishap.DROP_RESPONSE: 1})


async def test_decision_is_for_its_exchange_alone() -> None:
    decided = Decision(Mishap.DROP_RESPONSE)
    assert await after(None, None, decided, count=4) == (
        2 * ANSWER,
        3,
        {Mishap.DROP_RESPONSE: 1},
    )


async def test_half_of_a_cut_request_arrives() -> None:
    async with way(Decision(Mishap.CUT, seed=seed_of(in_answer=False))) as made:
        got = await made.exchanged()
        await made.echo.left.wait()
    assert (got, made.echo.requests) == (b"", 0)
    assert made.echo.seen == REQUEST[: len(REQUEST) // 2]
    assert made.log.fired == {Mishap.CUT: 1}


async def test_half_of_a_cut_answer_arrives() -> None:
    decided = Decision(Mishap.CUT, seed=seed_of(in_answer=True))
    assert await after(decided) == (ANSWER[: len(ANSWER) // 2], 1, {Mishap.CUT: 1})


@pytest.mark.parametrize("in_answer", [False, True])
async def test_delayed_exchange_is_whole_and_the_next_one_too(in_answer: bool) -> None:
    decided = Decision(Mishap.DELAY, for_ms=5, seed=seed_of(in_answer=in_answer))
    assert await after(decided, count=2) == (2 * ANSWER, 2, {Mishap.DELAY: 1})


async def test_delayed_request_arrives_although_its_client_has_left() -> None:
    async with way(Decision(Mishap.DELAY, for_ms=20, seed=seed_of(in_answer=False))) as made:
        async with made.connected() as (_, writer):
            writer.write(REQUEST)
            await writer.drain()
        await made.echo.left.wait()
    assert made.echo.requests == 1


async def test_request_that_comes_in_pieces_is_dropped_whole() -> None:
    async with way(Decision(Mishap.DROP_REQUEST)) as made, made.connected() as (reader, writer):
        for at in range(0, len(REQUEST), 7):
            writer.write(REQUEST[at : at + 7])
            await writer.drain()
            await asyncio.sleep(0)
        assert await reader.read() == b""
    assert made.echo.requests == 0


async def test_client_is_cut_off_while_there_is_no_server() -> None:
    proxy = Proxy(HOST, 1, course(), FaultLog(FaultLogHeader(FaultSpec(), 0)))
    made = Way(await proxy.start(), Echo(), FaultLog(FaultLogHeader(FaultSpec(), 0)))
    try:
        with contextlib.suppress(ConnectionError):
            assert await made.exchanged() == b""
    finally:
        await proxy.close()


async def test_request_that_is_not_http_is_cut_off() -> None:
    async with way() as made:
        with contextlib.suppress(ConnectionError):
            assert await made.exchanged(request=b"\x00\x01\r\n\r\n") == b""
