"""Requests reach the application as they were sent, and answers come back in order."""

import asyncio

from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.answers import StreamedResponse
from tests.server.sockets import GET, Echo, LongPoll, post, serving


async def test_request_reaches_the_handle_as_it_was_sent() -> None:
    echo = Echo()
    async with serving(echo.handle) as place:
        client = await place.connect()
        request = b"POST /1/q%20x?a=%41&b#c HTTP/1.1\r\nHost: h:1\r\nX-A:  one \t\r\n"
        answer = await client.ask(request + b"x-a: two\r\nContent-Length: 3\r\n\r\nabc")
        assert answer.status == 200
        seen = echo.requests[0]
        assert (seen.method, seen.path, seen.query) == ("POST", "/1/q%20x", "a=%41&b")
        assert seen.headers == {"host": "h:1", "x-a": "one,two", "content-length": "3"}
        assert seen.body == b"abc"
        assert seen.peer.startswith("127.0.0.1:")


async def test_header_bytes_beyond_ascii_are_latin1() -> None:
    echo = Echo()
    async with serving(echo.handle) as place:
        client = await place.connect()
        await client.ask(b"GET / HTTP/1.1\r\nX: \xe9\r\n\r\n")
        assert echo.requests[0].headers["x"] == "\xe9"


async def test_absolute_form_is_read_as_its_path() -> None:
    echo = Echo()
    async with serving(echo.handle) as place:
        client = await place.connect()
        await client.ask(b"GET http://h:1/p?q=1 HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.ask(b"GET http://h:1?q=1 HTTP/1.1\r\nHost: h\r\n\r\n")
        found = [(request.path, request.query) for request in echo.requests]
        assert found == [("/p", "q=1"), ("/", "q=1")]


async def test_connection_is_kept_for_the_next_request() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        first = await client.ask(GET)
        second = await client.ask(GET)
        assert (first.body, second.body) == (b"/a", b"/a")
        assert "connection" not in second.headers


async def test_connection_closes_when_the_client_asks_for_it() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        answer = await client.ask(b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        assert answer.headers["connection"] == "close"
        assert await client.rest() == b""


async def test_http10_closes_unless_it_asks_to_be_kept() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        kept = await client.ask(b"GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
        assert kept.headers["connection"] == "keep-alive"
        closed = await client.ask(b"GET /a HTTP/1.0\r\n\r\n")
        assert closed.headers["connection"] == "close"
        assert await client.rest() == b""


async def test_hundred_pipelined_requests_are_answered_in_order() -> None:
    async with serving(Echo().handle, pipelined_max=8) as place:
        client = await place.connect()
        client.send(b"".join(post(b"%d" % number) for number in range(100)))
        bodies = [(await client.answer()).body for _ in range(100)]
        assert bodies == [b"%d" % number for number in range(100)]


async def test_burst_beyond_the_pipeline_limit_is_not_held_all_at_once() -> None:
    poll = LongPoll()
    async with serving(poll.handle, pipelined_max=4) as place:
        client = await place.connect()
        request = post(b"x" * 2_000)
        client.send(request * 200)
        await poll.asked.wait()
        await place.until(lambda: place.traffic.held_bytes > 4 * 2_000)
        assert place.traffic.held_bytes < 12 * 2_000
        poll.turn.set()
        for _ in range(200):
            assert (await client.answer()).body == b"message"
        assert place.traffic.held_bytes == 0


async def test_answer_does_not_wait_for_the_long_poll_behind_it() -> None:
    poll, echo = LongPoll(), Echo()

    async def handle(request: HttpRequest) -> HttpResponse:
        return await (poll if request.method == "POST" else echo).handle(request)

    async with serving(handle) as place:
        client = await place.connect()
        client.send(GET + post(b""))
        assert (await client.answer()).body == b"/a"
        assert not poll.turn.is_set()


async def test_answers_of_one_wake_up_leave_together() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        client.send(GET * 5)
        first = await client.reader.read(4_096)
        assert first.count(b"HTTP/1.1 200 OK") == 5


async def test_request_may_arrive_byte_by_byte() -> None:
    echo = Echo()
    async with serving(echo.handle) as place:
        client = await place.connect()
        for byte in post(b"abc", "X-Long: value"):
            client.send(bytes([byte]))
            await asyncio.sleep(0)
        assert (await client.answer()).body == b"abc"
        assert echo.requests[0].headers["x-long"] == "value"


async def test_chunked_body_is_put_together_and_its_trailers_dropped() -> None:
    echo = Echo()
    async with serving(echo.handle) as place:
        client = await place.connect()
        head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.send(head + b"3\r\nabc\r\n")
        client.send(b"2;name=value\r\nde\r\n0\r\nAuthorization: forged\r\n\r\n")
        assert (await client.answer()).body == b"abcde"
        assert "authorization" not in echo.requests[0].headers
        assert (await client.ask(GET)).body == b"/a"
        assert "authorization" not in echo.requests[1].headers


async def test_large_body_arrives_whole() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        body = bytes(range(256)) * 4_096
        assert (await client.ask(post(body))).body == body


async def test_client_that_expects_it_is_told_to_continue() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        head, body = post(b"abc", "Expect: 100-continue")[:-3], b"abc"
        assert (await client.ask(head)).status == 100
        assert (await client.ask(body)).body == b"abc"


async def test_continue_waits_for_the_answer_before_it() -> None:
    poll = LongPoll()
    async with serving(poll.handle) as place:
        client = await place.connect()
        client.send(GET + post(b"abc", "Expect: 100-continue")[:-3])
        await poll.asked.wait()
        poll.turn.set()
        assert (await client.answer()).status == 200
        assert (await client.answer()).status == 100
        assert (await client.ask(b"abc")).status == 200


async def test_no_continue_once_the_body_has_come() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        assert (await client.ask(post(b"abc", "Expect: 100-continue"))).body == b"abc"


async def test_other_expectations_are_refused() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        assert (await client.ask(post(b"abc", "Expect: a-miracle"))).status == 417


async def test_head_is_answered_without_a_body() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        client.send(b"HEAD /abc HTTP/1.1\r\nHost: h\r\n\r\n")
        answer = await client.answer(bare=True)
        assert (answer.status, answer.headers["content-length"]) == (200, "4")
        assert (await client.ask(GET)).body == b"/a"


async def test_options_lists_the_methods_and_is_not_handled() -> None:
    echo = Echo()
    async with serving(echo.handle) as place:
        client = await place.connect()
        answer = await client.ask(b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (answer.status, answer.headers["allow"]) == (200, "get, head, options, post")
        assert not echo.requests


async def test_wish_to_upgrade_is_ignored() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        upgrade = b"GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
        client.send(upgrade + post(b"next"))
        assert (await client.answer()).body == b"/a"
        assert (await client.answer()).body == b"next"


async def test_many_wishes_to_upgrade_are_no_longer_than_they_are() -> None:
    upgrade = b"GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: a\r\n\r\n"
    async with serving(Echo().handle) as place:
        client = await place.connect()
        client.send(upgrade * 400)
        client.writer.write_eof()
        assert (await client.rest()).count(b"HTTP/1.1 200 OK") == 400


async def test_length_may_be_written_with_any_number_of_zeros() -> None:
    async with serving(Echo().handle) as place:
        client = await place.connect()
        zeros = b"0" * 5_000
        client.send(b"POST /b HTTP/1.1\r\nContent-Length: " + zeros + b"5\r\n\r\nhello")
        assert (await client.answer()).body == b"hello"


async def test_streamed_answer_arrives_whole_and_is_closed() -> None:
    pieces = [bytes([number]) * 300_000 for number in range(5)]
    closed: list[bool] = []

    async def read() -> bytes:
        return pieces.pop(0)

    body = b"".join(pieces)

    async def handle(request: HttpRequest) -> StreamedResponse:
        return StreamedResponse(200, "application/x", len(body), read, lambda: closed.append(True))

    async with serving(handle) as place:
        client = await place.connect()
        assert (await client.ask(GET)).body == body
        assert closed == [True]


async def test_streamed_answer_that_ends_early_breaks_the_connection() -> None:
    closed: list[bool] = []

    async def read() -> bytes:
        return b""

    async def handle(request: HttpRequest) -> StreamedResponse:
        return StreamedResponse(200, "application/x", 10, read, lambda: closed.append(True))

    async with serving(handle) as place:
        client = await place.connect()
        client.send(GET)
        assert (await client.rest()).endswith(b"\r\n\r\n")
        assert closed == [True]
