"""Connections that are not read from for a while: what waits, and what does not wait for them."""

import asyncio
import ipaddress

import pytest

from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.proxies import Proxies
from tests.server.conftest import CountingLoop
from tests.server.sockets import GET, Client, LongPoll, Serving, post, serving

LONG_MS = 3_600_000
SHORT_MS = 1


class Throttling:
    """Answers each request, and wishes for the rests that it is told; then for none."""

    def __init__(self, *pauses: int) -> None:
        self.asked: list[str] = []
        self._pauses = list(pauses)

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(request.path)
        pause_ms = self._pauses.pop(0) if self._pauses else 0
        return HttpResponse(403 if pause_ms else 200, "text/plain", b"said", pause_ms=pause_ms)


async def ticks(place: Serving, count: int = 5) -> None:
    start = place.traffic.tick
    await place.until(lambda: place.traffic.tick > start + count)


async def rested(place: Serving) -> Client:
    """Served once, then refused, and known to rest."""
    client = await place.connect()
    assert (await client.ask(GET)).status == 200
    assert (await client.ask(GET)).status == 403
    await place.until(lambda: place.traffic.resting == 1)
    return client


async def test_refused_client_is_answered_and_then_not_read_from() -> None:
    throttling = Throttling(0, LONG_MS)
    async with serving(throttling.handle) as place:
        client = await rested(place)
        client.send(GET)
        await ticks(place)
        assert len(throttling.asked) == 2


async def test_refusal_on_a_new_connection_is_told_after_the_rest() -> None:
    async with serving(Throttling(LONG_MS, 20).handle) as place:
        waiting, soon = await place.connect(), await place.connect()
        waiting.send(GET)
        await place.until(lambda: place.traffic.resting == 1)
        assert (await soon.ask(GET)).status == 403
        await ticks(place)
        assert place.traffic.resting == 1
        place.listener.stop_accepting()
        answer = await waiting.answer()
        assert (answer.status, answer.headers["connection"]) == (403, "close")


async def test_refusal_through_a_proxy_is_late_and_delays_no_other_client() -> None:
    throttling = Throttling(0, 20)
    proxies = Proxies([ipaddress.ip_network("127.0.0.0/8")])
    async with serving(throttling.handle, None, None, proxies, sweep_ms=60_000) as place:
        client = await place.connect()
        assert (await client.ask(GET)).status == 200
        client.send(GET)
        await place.until(lambda: place.traffic.resting == 1)
        assert (await client.answer()).status == 403
        assert place.traffic.resting == 0
        assert (await client.ask(GET)).status == 200


async def test_rest_ends_and_what_was_sent_meanwhile_is_answered() -> None:
    async with serving(Throttling(SHORT_MS, SHORT_MS, SHORT_MS).handle) as place:
        client = await place.connect()
        client.send(GET * 3)
        assert [(await client.answer()).status for _ in range(3)] == [403] * 3
        assert (await client.ask(GET)).status == 200
        assert place.traffic.resting == 0


async def test_what_was_read_already_waits_too() -> None:
    throttling = Throttling(0, LONG_MS)
    async with serving(throttling.handle) as place:
        client = await place.connect()
        client.send(GET * 10)
        assert [(await client.answer()).status for _ in range(2)] == [200, 403]
        await ticks(place)
        assert (len(throttling.asked), place.traffic.resting) == (2, 1)


async def test_others_are_read_from_meanwhile() -> None:
    async with serving(Throttling(0, LONG_MS).handle) as place:
        await rested(place)
        other = await place.connect()
        for _ in range(3):
            assert (await other.ask(GET)).status == 200


async def test_resting_connection_is_neither_idle_nor_late() -> None:
    throttling = Throttling(200)
    async with serving(throttling.handle, idle_ms_max=20, request_ms_max=20) as place:
        client = await place.connect()
        client.send(GET + post(b"whole")[:-2])
        assert (await client.answer()).status == 403
        client.send(b"le")
        assert (await client.answer()).status == 200
        assert throttling.asked == ["/a", "/b"]


async def test_draining_does_not_wait_for_resting_connections() -> None:
    throttling = Throttling(0, 0, 0, LONG_MS, LONG_MS, LONG_MS)
    async with serving(throttling.handle, sweep_ms=60_000) as place:
        clients = [await place.connect() for _ in range(3)]
        for client in clients:
            assert (await client.ask(GET)).status == 200
        for client, data in zip(clients, (GET, GET * 3, GET + GET[:10]), strict=True):
            client.send(data)
            assert (await client.answer()).status == 403
        await place.until(lambda: place.traffic.resting == 3)
        place.listener.stop_accepting()
        assert await place.listener.emptied(10)
        silent, behind, begun = clients
        assert await silent.rest() == b""
        assert [(await behind.answer()).status for _ in range(2)] == [200, 200]
        assert await begun.rest() == b""


async def test_answer_given_while_draining_asks_for_no_rest() -> None:
    poll = LongPoll()

    async def handle(request: HttpRequest) -> HttpResponse:
        await poll.handle(request)
        return HttpResponse(403, "text/plain", b"wait", pause_ms=LONG_MS)

    async with serving(handle, sweep_ms=60_000) as place:
        client = await place.connect()
        client.send(GET)
        await poll.asked.wait()
        place.listener.stop_accepting()
        poll.turn.set()
        assert (await client.answer()).status == 403
        assert await place.listener.emptied(10)


async def test_closing_cuts_off_who_rests() -> None:
    async with serving(Throttling(0, LONG_MS).handle, sweep_ms=60_000) as place:
        await rested(place)
        await place.listener.close()
        assert not place.traffic.connections
        assert place.traffic.resting == 0


async def test_client_that_only_stopped_sending_gets_its_answers_after_the_rest() -> None:
    async with serving(Throttling(50, 50, 50).handle) as place:
        client = await place.connect()
        client.send(GET * 3)
        client.writer.write_eof()
        assert (await client.reader.read()).count(b"HTTP/1.1 403") == 3


async def test_client_that_leaves_while_it_rests_is_forgotten_after_it() -> None:
    async with serving(Throttling(0, 50).handle) as place:
        (await rested(place)).close()
        await place.until(lambda: not place.traffic.connections)
        assert place.traffic.resting == 0


async def test_last_answer_of_a_connection_asks_for_no_rest() -> None:
    async with serving(Throttling(0, LONG_MS).handle) as place:
        client = await place.connect()
        await client.ask(GET)
        client.send(b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        assert (await client.reader.read()).startswith(b"HTTP/1.1 403")


async def test_connection_is_closed_when_too_many_rest() -> None:
    async with serving(Throttling(*[LONG_MS] * 3).handle, connections_max=8) as place:
        clients = [await place.connect() for _ in range(3)]
        for client in clients[:2]:
            client.send(GET)
        await place.until(lambda: place.traffic.resting == 2)
        answer = await clients[2].ask(GET)
        assert (answer.status, answer.headers["connection"]) == (403, "close")
        assert await clients[2].rest() == b""
        assert place.traffic.resting == 2


@pytest.mark.parametrize("pause_ms", [0, SHORT_MS])
async def test_only_a_rest_costs_a_timer(pause_ms: int) -> None:
    async with serving(Throttling(pause_ms).handle, sweep_ms=60_000) as place:
        client = await place.connect()
        await client.ask(GET)
        await client.ask(GET)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, CountingLoop)
        assert loop.timers == 1 + (pause_ms > 0)
