"""Malformed, oversized and slow clients are refused, told why, and cost no more than stated."""

import asyncio
import random
import socket

import pytest

from dovemq.http import HttpRequest, HttpResponse
from tests.server.sockets import GET, Echo, LongPoll, post, serving

CHUNKED = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

MALFORMED = {
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
    "no version": b"GET / \r\n\r\n",
    "unknown version": b"GET / HTTP/1.9\r\n\r\n",
    "bare line feeds": b"GET / HTTP/1.1\nHost: h\n\n",
    "folded header": b"GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
    "space before colon": b"GET / HTTP/1.1\r\nHost : h\r\n\r\n",
    "nul in header": b"GET / HTTP/1.1\r\nHost: \x00\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "negative length": b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "length that overflows": b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "length and chunks": CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "unknown coding": b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nabc",
    "chunk size that is none": CHUNKED + b"zz\r\nabc\r\n",
    "unknown method": b"FROB / HTTP/1.1\r\nHost: h\r\n\r\n",
    "http/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
async def test_malformed_request_is_refused_and_not_handled(data: bytes) -> None:
    echo = Echo()
    async with serving(echo.handle) as place:
        client = await place.connect()
        answer = await client.ask(data)
        assert (answer.status, answer.headers["connection"]) == (400, "close")
        assert b"Traceback" not in answer.body
        assert await client.rest() == b""
        assert not echo.requests


async def test_requests_before_a_malformed_one_are_answered() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        client.send(GET + b"nonsense\r\n\r\n" + GET)
        assert [(await client.answer()).status for _ in range(2)] == [200, 400]
        assert await client.rest() == b""


async def test_half_a_request_is_refused_when_the_client_stops() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        client.send(post(b"abc")[:-1])
        client.writer.write_eof()
        assert (await client.answer()).status == 400
        assert await client.rest() == b""


REFUSED_METHODS = ("DELETE", "PUT", "PATCH", "TRACE", "CONNECT")


@pytest.mark.parametrize("method", REFUSED_METHODS)
async def test_method_that_is_not_used_is_refused(method: str) -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        target = "h:1" if method == "CONNECT" else "/"
        answer = await client.ask(f"{method} {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        assert answer.status == 405
        assert "post" in answer.headers["allow"]


async def test_upgrade_of_a_request_with_a_body_is_refused() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        request = post(b"abc", "Connection: Upgrade", "Upgrade: h2c")
        assert (await client.ask(request)).status == 501


OVERSIZED = {
    "url": (b"GET /" + b"a" * 300 + b" HTTP/1.1\r\n\r\n", 414),
    "headers": (b"GET / HTTP/1.1\r\nX: " + b"a" * 1_100 + b"\r\n\r\n", 431),
    "endless header": (b"GET / HTTP/1.1\r\nX: " + b"a" * 30_000, 431),
    "many headers": (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 9 + b"\r\n", 431),
    "announced body": (b"POST / HTTP/1.1\r\nContent-Length: 2049\r\n\r\n", 413),
    "chunked body": (CHUNKED + b"800\r\n" + b"a" * 2_048 + b"\r\n1\r\na\r\n0\r\n\r\n", 413),
    "endless chunk extension": (CHUNKED + b"1;" + b"a" * 30_000, 431),
    "endless trailers": (CHUNKED + b"0\r\n" + b"a: b\r\n" * 5_000, 431),
}


@pytest.mark.parametrize(("data", "status"), OVERSIZED.values(), ids=OVERSIZED.keys())
async def test_oversized_request_is_refused_and_not_handled(data: bytes, status: int) -> None:
    echo = Echo()
    sizes = {"url_bytes_max": 256, "header_bytes_max": 1_024, "body_bytes_max": 2_048}
    async with serving(echo.handle, header_count_max=8, **sizes) as place:
        client = await place.connect()
        assert (await client.ask(data)).status == status
        assert await client.rest() == b""
        assert not echo.requests


async def test_body_of_exactly_the_limit_is_taken() -> None:
    async with serving(Echo().handle, body_bytes_max=2_048) as place:
        client = await place.connect()
        assert (await client.ask(post(b"a" * 2_048))).status == 200


async def test_client_that_sends_on_still_sees_why_it_was_refused() -> None:
    async with serving(Echo().handle, body_bytes_max=2_048) as place:
        client = await place.connect()
        client.send(post(b"a" * (4 << 20)))
        assert (await client.answer()).status == 413


async def test_too_large_body_is_refused_instead_of_continued() -> None:
    async with serving(Echo().handle, body_bytes_max=2) as place:
        client = await place.connect()
        assert (await client.ask(post(b"abc", "Expect: 100-continue")[:-3])).status == 413


async def test_bodies_of_all_connections_together_are_bounded() -> None:
    async with serving(Echo().handle, bodies_bytes_max=50_000) as place:
        first, second = await place.connect(), await place.connect()
        half = post(b"a" * 80_000)[:40_000]
        first.send(half)
        await place.until(lambda: place.traffic.held_bytes > 30_000)
        second.send(half)
        assert (await first.answer()).status == 503
        assert place.traffic.held_bytes <= 50_000
        second.send(post(b"a" * 80_000)[40_000:])
        assert (await second.answer()).status == 200
        await place.until(lambda: place.traffic.held_bytes == 0)


async def test_connection_above_the_limit_is_told_to_try_later() -> None:
    async with serving(Echo().handle, connections_max=2) as place:
        kept = [await place.connect() for _ in range(2)]
        for client in kept:
            assert (await client.ask(GET)).status == 200
        refused = await place.connect()
        assert (await refused.ask(GET)).status == 503
        assert await refused.rest() == b""
        refused.close()
        kept[0].close()
        await place.until(lambda: len(place.traffic.connections) == 1)
        assert (await (await place.connect()).ask(GET)).status == 200


async def test_slow_request_is_cut_off_though_it_keeps_sending() -> None:
    async with serving(Echo().handle, request_ms_max=50) as place:
        client = await place.connect()
        client.send(b"GET / HTTP/1.1\r\n")

        async def trickle() -> None:
            while True:
                client.send(b"X-Slow: 1\r\n")
                await asyncio.sleep(0.005)

        trickling = asyncio.create_task(trickle())
        assert (await client.answer()).status == 408
        trickling.cancel()


async def test_refused_client_that_never_closes_is_dropped() -> None:
    async with serving(Echo().handle, linger_ms_max=20) as place:
        client = await place.connect()
        assert (await client.ask(b"nonsense\r\n\r\n")).status == 400
        await place.until(lambda: not place.traffic.connections)


async def test_idle_connection_is_closed() -> None:
    async with serving(Echo().handle, idle_ms_max=50) as place:
        client, silent = await place.connect(), await place.connect()
        assert (await client.ask(GET)).status == 200
        assert await client.rest() == b""
        assert await silent.rest() == b""


async def test_parked_request_is_not_idle() -> None:
    poll = LongPoll()
    async with serving(poll.handle, idle_ms_max=10, request_ms_max=10) as place:
        client = await place.connect()
        client.send(GET)
        await poll.asked.wait()
        start = place.traffic.tick
        await place.until(lambda: place.traffic.tick > start + 5)
        poll.turn.set()
        assert (await client.answer()).body == b"message"


async def test_slow_reader_is_cut_off_and_its_answer_taken_back() -> None:
    poll = LongPoll(b"a" * (32 << 20))
    async with serving(poll.handle, write_ms_max=50) as place:
        client = socket.create_connection(("127.0.0.1", place.listener.port))
        client.sendall(GET)
        poll.turn.set()
        assert await poll.taken_back.wait()
        await place.until(lambda: not place.traffic.connections)
        client.close()


async def test_reader_that_takes_its_time_within_the_limit_gets_all() -> None:
    poll = LongPoll(b"a" * (16 << 20))
    async with serving(poll.handle) as place:
        client = await place.connect()
        client.send(GET + GET)
        poll.turn.set()
        for _ in range(2):
            assert len((await client.answer()).body) == 16 << 20
        assert not poll.taken_back.is_set()


async def test_failure_of_the_handle_is_answered_without_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(request: HttpRequest) -> HttpResponse:
        raise ValueError(request.body)

    async with serving(handle) as place:
        client = await place.connect()
        answer = await client.ask(post(b"the secret"))
        assert answer.status == 500
        assert b"secret" not in answer.body
        assert (await client.ask(GET)).status == 500
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_mutated_requests_leave_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(20)
    seeds = [GET, post(b"abc", "Expect: 100-continue"), CHUNKED + b"3\r\nabc\r\n0\r\n\r\n"]

    def mutated() -> bytes:
        data = bytearray(rng.choice(seeds) * rng.randint(1, 3))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            data[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
        return bytes(data)

    async with serving(Echo().handle) as place:
        for _ in range(300):
            client = await place.connect()
            client.send(mutated())
            client.writer.write_eof()
            await client.rest()
            client.close()
        await place.until(lambda: not place.traffic.connections)
        assert place.traffic.held_bytes == 0
        assert len(asyncio.all_tasks()) == 1
    assert not caplog.records
