"""Connections of the client: reuse, bounds, timeouts, and what is asked a second time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from dovemq.client.connection import ClientResponse
from dovemq.client.errors import AnswerMalformed, TimedOut, Unconnected, Unreachable
from dovemq.client.pool import ATTEMPTS_MAX, Address, Pool

Reply = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


class FakeServer:
    """Reads the head of each request, then does what the test says."""

    def __init__(self, reply: Reply) -> None:
        self.connections = 0
        self.requests = 0
        self._reply = reply

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                await self._reply(head, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def pool_to(reply: Reply, connections_max: int = 4) -> AsyncIterator[tuple[Pool, FakeServer]]:
    fake = FakeServer(reply)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    pool = Pool(Address.parse(url), connections_max)
    try:
        yield pool, fake
    finally:
        await pool.close()
        server.close()
        await server.wait_closed()


async def ask(pool: Pool, *, repeatable: bool = False, seconds_max: float = 20) -> ClientResponse:
    return await pool.exchange(
        lambda: b"POST / HTTP/1.1\r\nhost: x\r\n\r\n", seconds_max, repeatable=repeatable
    )


def answer(body: bytes, head: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\n%scontent-length: %d\r\n\r\n%s" % (head, len(body), body)


async def ok(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(answer(b"ok"))


async def hang_up(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def test_connection_is_used_again() -> None:
    async with pool_to(ok) as (pool, fake):
        for _ in range(5):
            assert (await ask(pool)).body == b"ok"
        assert (fake.connections, fake.requests) == (1, 5)


async def test_connections_are_bounded_and_the_rest_waits() -> None:
    async with pool_to(ok, connections_max=3) as (pool, fake):
        answers = await asyncio.gather(*(ask(pool) for _ in range(20)))
        assert [each.status for each in answers] == [200] * 20
        assert fake.connections <= 3


async def test_connection_that_the_server_closes_is_not_used_again() -> None:
    async def closing(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"ok", b"connection: close\r\n"))
        writer.close()

    async with pool_to(closing) as (pool, fake):
        await ask(pool)
        await ask(pool)
        assert fake.connections == 2


async def test_chunked_answer_in_pieces_is_put_together() -> None:
    async def chunked(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encod")
        await writer.drain()
        writer.write(b"ing: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")

    async with pool_to(chunked) as (pool, _):
        assert (await ask(pool)).body == b"abcde"
        assert (await ask(pool)).body == b"abcde"


async def test_sink_takes_the_body_of_a_good_answer() -> None:
    taken: list[bytes] = []
    async with pool_to(ok) as (pool, _):
        found = await pool.exchange(
            lambda: b"GET / HTTP/1.1\r\n\r\n", 20, repeatable=True, sink=taken.append
        )
    assert (found.body, b"".join(taken)) == (b"", b"ok")


async def test_sink_gets_nothing_of_a_refusal() -> None:
    async def refuse(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 501 No\r\ncontent-length: 2\r\n\r\nno")

    taken: list[bytes] = []
    async with pool_to(refuse) as (pool, _):
        found = await pool.exchange(
            lambda: b"GET / HTTP/1.1\r\n\r\n", 20, repeatable=True, sink=taken.append
        )
    assert (found.status, found.body, taken) == (501, b"no", [])


async def test_sink_that_cannot_write_ends_the_exchange() -> None:
    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    async with pool_to(ok) as (pool, _):
        with pytest.raises(OSError, match="No space left"):
            await pool.exchange(lambda: b"GET / HTTP/1.1\r\n\r\n", 20, repeatable=True, sink=full)


async def test_broken_exchange_is_not_repeated_unless_it_may_be() -> None:
    async with pool_to(hang_up) as (pool, fake):
        with pytest.raises(Unreachable, match="closed the connection"):
            await ask(pool)
        assert fake.requests == 1
        with pytest.raises(Unreachable):
            await ask(pool, repeatable=True)
        assert fake.requests == 1 + ATTEMPTS_MAX


async def test_repeated_exchange_succeeds_on_a_fresh_connection() -> None:
    async def flaky(head: bytes, writer: asyncio.StreamWriter) -> None:
        if fakes[0].requests < ATTEMPTS_MAX:
            writer.close()
        else:
            await ok(head, writer)

    fakes: list[FakeServer] = []

    async with pool_to(flaky) as (pool, fake):
        fakes.append(fake)
        assert (await ask(pool, repeatable=True)).body == b"ok"


async def test_late_answer_is_a_timeout_and_not_the_answer_to_the_next_request() -> None:
    async def first_never(head: bytes, writer: asyncio.StreamWriter) -> None:
        if fakes[0].requests > 1:
            await ok(head, writer)

    fakes: list[FakeServer] = []

    async with pool_to(first_never) as (pool, fake):
        fakes.append(fake)
        with pytest.raises(TimedOut):
            await ask(pool, seconds_max=0.05)
        assert (await ask(pool)).body == b"ok"
        assert fake.connections == 2


async def test_deadline_of_one_request_is_not_that_of_the_next() -> None:
    async def second_late(head: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2 if fakes[0].requests == 2 else 0)
        await ok(head, writer)

    fakes: list[FakeServer] = []

    async with pool_to(second_late) as (pool, fake):
        fakes.append(fake)
        await ask(pool, seconds_max=0.1)
        assert (await ask(pool, seconds_max=20)).body == b"ok"
        assert fake.connections == 1


async def test_shorter_deadline_than_the_one_before_is_kept() -> None:
    async def second_never(head: bytes, writer: asyncio.StreamWriter) -> None:
        if fakes[0].requests == 1:
            await ok(head, writer)

    fakes: list[FakeServer] = []

    async with pool_to(second_never) as (pool, fake):
        fakes.append(fake)
        await ask(pool, seconds_max=60)
        with pytest.raises(TimedOut):
            await ask(pool, seconds_max=0.05)


async def test_waiting_for_a_connection_counts_as_time() -> None:
    async def silence(_: bytes, writer: asyncio.StreamWriter) -> None:
        pass

    async with pool_to(silence, connections_max=1) as (pool, fake):
        first = asyncio.create_task(ask(pool, seconds_max=60))
        await asyncio.sleep(0)
        with pytest.raises(TimedOut):
            await ask(pool, seconds_max=0.05)
        first.cancel()
        await asyncio.wait([first])
        assert fake.connections == 1


async def test_headers_of_an_answer_are_found_by_lower_case_names() -> None:
    async def reported(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"ok", b"X-Amzn-RequestId: seven\r\n"))

    async with pool_to(reported) as (pool, _):
        assert (await ask(pool)).headers["x-amzn-requestid"] == "seven"


async def test_answer_that_is_no_http_is_an_error() -> None:
    async def garbage(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")

    async with pool_to(garbage) as (pool, _):
        with pytest.raises(Unreachable, match="not HTTP"):
            await ask(pool)


async def test_nobody_listening_is_unreachable_with_a_remedy() -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    pool = Pool(Address.parse(f"http://127.0.0.1:{port}"))
    with pytest.raises(Unconnected, match="dovemq serve"):
        await ask(pool)


@pytest.mark.parametrize(
    "url", ["ftp://x", "localhost:9324", "http://", "http://x:port", "http://[::1", ""]
)
def test_address_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(AnswerMalformed):
        Address.parse(url)


def test_address_knows_default_ports_and_ipv6() -> None:
    assert Address.parse("https://example.test/x").port == 443
    six = Address.parse("http://[::1]:9324")
    assert (six.host, six.authority) == ("::1", "[::1]:9324")
