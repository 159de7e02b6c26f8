"""Clients that go away over TLS: the promises are those of HTTP in clear."""

from pathlib import Path

import pytest

from dovemq.http import HttpRequest, HttpResponse
from tests.server.secured import Pair, TlsClient
from tests.server.sockets import GET, LongPoll, serving

LARGE = b"a" * (32 << 20)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


async def leave(client: TlsClient, manner: str) -> None:
    if manner == "said":
        await client.end_tls()
    client.close(reset=manner == "reset")


@pytest.mark.parametrize("manner", ["said", "unsaid", "reset"])
async def test_client_that_goes_away_cancels_its_long_poll(pair: Pair, manner: str) -> None:
    poll = LongPoll()
    async with serving(poll.handle, pair.certificates()) as place:
        client = await TlsClient.connect(place.listener.port, pair.trust())
        await client.send(GET)
        await poll.asked.wait()
        await leave(client, manner)
        assert await poll.cancelled.wait()
        await place.until(lambda: not place.traffic.connections)


@pytest.mark.parametrize("manner", ["said", "unsaid"])
async def test_answer_to_a_client_that_has_just_gone_is_taken_back(pair: Pair, manner: str) -> None:
    poll = LongPoll()
    async with serving(poll.handle, pair.certificates(), sweep_ms=60_000) as place:
        client = await TlsClient.connect(place.listener.port, pair.trust())
        await client.send(GET)
        await poll.asked.wait()
        connection = next(iter(place.traffic.connections))
        await leave(client, manner)
        await place.until(
            lambda: connection.half_closed or connection not in place.traffic.connections
        )
        poll.turn.set()
        await place.until(lambda: not place.traffic.connections)
        assert poll.taken_back.is_set() or poll.cancelled.is_set()


async def test_answer_that_the_system_has_not_taken_is_taken_back(pair: Pair) -> None:
    poll = LongPoll(LARGE)
    async with serving(poll.handle, pair.certificates(), write_ms_max=50) as place:
        client = await TlsClient.connect(place.listener.port, pair.trust())
        await client.send(GET)
        await poll.asked.wait()
        poll.turn.set()
        assert await poll.taken_back.wait()
        await place.until(lambda: not place.traffic.connections)
        client.close()


async def test_small_answer_behind_a_large_one_is_taken_back_too(pair: Pair) -> None:
    large, small = LongPoll(LARGE), LongPoll()
    handles = [large.handle, small.handle]

    async def handle(request: HttpRequest) -> HttpResponse:
        return await handles.pop(0)(request)

    async with serving(handle, pair.certificates(), write_ms_max=50) as place:
        client = await TlsClient.connect(place.listener.port, pair.trust())
        await client.send(GET + GET)
        large.turn.set()
        small.turn.set()
        assert await large.taken_back.wait()
        await place.until(lambda: not place.traffic.connections)
        assert small.taken_back.is_set() or not small.asked.is_set()
        client.close()


async def test_delivered_answer_is_not_taken_back(pair: Pair) -> None:
    poll = LongPoll()
    poll.turn.set()
    async with serving(poll.handle, pair.certificates(), pair.trust()) as place:
        client = await place.connect()
        assert (await client.ask(GET)).body == b"message"
        client.close()
        await place.until(lambda: not place.traffic.connections)
        assert not poll.taken_back.is_set()


@pytest.mark.parametrize("manner", ["tls", "tcp"])
async def test_client_that_only_stops_sending_gets_its_answers(pair: Pair, manner: str) -> None:
    poll = LongPoll()
    async with serving(poll.handle, pair.certificates()) as place:
        client = await TlsClient.connect(place.listener.port, pair.trust())
        await client.send(GET + GET)
        await poll.asked.wait()
        if manner == "tls":
            await client.end_tls()
        else:
            client.end_tcp()
        start = place.traffic.tick
        await place.until(lambda: place.traffic.tick > start + 3)
        poll.turn.set()
        found = await client.rest()
        statuses = [part[:3] for part in found.split(b"HTTP/1.1 ")[1:]]
        assert statuses == [b"100", b"200", b"200"]
        client.close()


async def test_half_a_request_is_refused_when_the_client_stops(pair: Pair) -> None:
    async with serving(LongPoll().handle, pair.certificates()) as place:
        client = await TlsClient.connect(place.listener.port, pair.trust())
        await client.send(GET[:10])
        await client.end_tls()
        assert (await client.rest()).startswith(b"HTTP/1.1 400 ")
        client.close()
        await place.until(lambda: not place.traffic.connections)


async def test_closing_cuts_off_what_is_left_and_takes_it_back(pair: Pair) -> None:
    poll = LongPoll(LARGE)
    async with serving(poll.handle, pair.certificates()) as place:
        slow = await TlsClient.connect(place.listener.port, pair.trust())
        await slow.send(GET)
        poll.turn.set()
        await place.until(lambda: place.traffic.requests == 1)
        await place.listener.close()
        assert poll.taken_back.is_set() or poll.cancelled.is_set()
        slow.close()
