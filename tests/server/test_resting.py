"""Connections that are not read from for a while: what waits, and what does not wait for them."""

import asyncio

import pytest

from dovemq.sqs.http import HttpRequest, HttpResponse
from tests.server.conftest import CountingLoop, Run
from tests.server.sockets import GET, Client, LongPoll, Serving, post, serving

LONG_MS = 3_600_000
SHORT_MS = 1


class Throttling:
    """Answers each request; those that it is told to with a wish to rest."""

    def __init__(self, *pauses: int) -> None:
        self.asked: list[str] = []
        self.turn = asyncio.Event()
        self._pauses = list(pauses)

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(request.path)
        pause_ms = self._pauses.pop(0) if self._pauses else 0
        return HttpResponse(403, "text/plain", b"wait", pause_ms=pause_ms)


async def rested(place: Serving, client: Client) -> None:
    """Refused once, and known to rest."""
    assert (await client.ask(GET)).status == 403
    await place.until(lambda: place.traffic.resting == 1)


def test_refused_client_is_answered_and_then_not_read_from(run: Run) -> None:
    async def scenario() -> None:
        throttling = Throttling(LONG_MS)
        async with serving(throttling.handle) as place:
            client = await place.connect()
            await rested(place, client)
            client.send(GET)
            start = place.traffic.tick
            await place.until(lambda: place.traffic.tick > start + 5)
            assert throttling.asked == ["/a"]

    run(scenario())


def test_rest_ends_and_what_was_sent_meanwhile_is_answered(run: Run) -> None:
    async def scenario() -> None:
        throttling = Throttling(SHORT_MS, SHORT_MS)
        async with serving(throttling.handle) as place:
            client = await place.connect()
            client.send(GET * 3)
            for _ in range(3):
                assert (await client.answer()).status == 403
            assert (await client.ask(GET)).status == 403
            assert place.traffic.resting == 0

    run(scenario())


def test_what_was_read_already_waits_too(run: Run) -> None:
    async def scenario() -> None:
        throttling = Throttling(LONG_MS)
        async with serving(throttling.handle) as place:
            client = await place.connect()
            client.send(GET * 10)
            assert (await client.answer()).status == 403
            await place.until(lambda: place.traffic.resting == 1)
            start = place.traffic.tick
            await place.until(lambda: place.traffic.tick > start + 3)
            assert len(throttling.asked) == 1

    run(scenario())


def test_others_are_read_from_meanwhile(run: Run) -> None:
    async def scenario() -> None:
        async with serving(Throttling(LONG_MS).handle) as place:
            await rested(place, await place.connect())
            other = await place.connect()
            for _ in range(3):
                assert (await other.ask(GET)).status == 403

    run(scenario())


def test_resting_connection_is_neither_idle_nor_late(run: Run) -> None:
    async def scenario() -> None:
        throttling = Throttling(200)
        async with serving(throttling.handle, idle_ms_max=20, request_ms_max=20) as place:
            client = await place.connect()
            client.send(GET + post(b"whole")[:-2])
            assert (await client.answer()).status == 403
            await place.until(lambda: place.traffic.resting == 0 and len(throttling.asked) == 1)
            client.send(b"le")
            assert (await client.answer()).status == 403
            assert throttling.asked == ["/a", "/b"]

    run(scenario())


def test_draining_waits_for_nobody_who_rests(run: Run) -> None:
    async def scenario() -> None:
        throttling = Throttling(LONG_MS, LONG_MS, LONG_MS)
        async with serving(throttling.handle, sweep_ms=60_000) as place:
            silent, behind, begun = [await place.connect() for _ in range(3)]
            silent.send(GET)
            behind.send(GET * 3)
            begun.send(GET + GET[:10])
            for client in (silent, behind, begun):
                assert (await client.answer()).status == 403
            await place.until(lambda: place.traffic.resting == 3)
            place.listener.stop_accepting()
            assert await place.listener.emptied(10)
            assert await silent.rest() == b""
            assert [(await behind.answer()).status for _ in range(2)] == [403, 403]
            assert await begun.rest() == b""

    run(scenario())


def test_answer_given_while_draining_asks_for_no_rest(run: Run) -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_closing_cuts_off_who_rests(run: Run) -> None:
    async def scenario() -> None:
        async with serving(Throttling(LONG_MS).handle, sweep_ms=60_000) as place:
            await rested(place, await place.connect())
            await place.listener.close()
            assert not place.traffic.connections
            assert place.traffic.resting == 0

    run(scenario())


def test_client_that_only_stopped_sending_gets_its_answers_after_the_rest(run: Run) -> None:
    async def scenario() -> None:
        async with serving(Throttling(50, 50).handle) as place:
            client = await place.connect()
            client.send(GET * 3)
            client.writer.write_eof()
            data = await client.reader.read()
            assert data.count(b"HTTP/1.1 403") == 3

    run(scenario())


def test_client_that_leaves_while_it_rests_is_forgotten_after_it(run: Run) -> None:
    async def scenario() -> None:
        async with serving(Throttling(20).handle) as place:
            client = await place.connect()
            assert (await client.ask(GET)).status == 403
            client.close()
            await place.until(lambda: not place.traffic.connections)
            assert place.traffic.resting == 0

    run(scenario())


def test_last_answer_of_a_connection_asks_for_no_rest(run: Run) -> None:
    async def scenario() -> None:
        async with serving(Throttling(LONG_MS).handle) as place:
            client = await place.connect()
            client.send(b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert (await client.rest()).startswith(b"HTTP/1.1 403")

    run(scenario())


def test_connection_is_closed_when_too_many_rest(run: Run) -> None:
    async def scenario() -> None:
        pauses = [LONG_MS] * 3
        async with serving(Throttling(*pauses).handle, connections_max=8) as place:
            clients = [await place.connect() for _ in range(3)]
            for client in clients:
                assert (await client.ask(GET)).status == 403
            assert await clients[2].rest() == b""
            assert place.traffic.resting == 2

    run(scenario())


@pytest.mark.parametrize("pause_ms", [0, SHORT_MS])
def test_only_a_rest_costs_a_timer(run: Run, pause_ms: int) -> None:
    async def scenario() -> None:
        async with serving(Throttling(pause_ms).handle, sweep_ms=60_000) as place:
            client = await place.connect()
            await client.ask(GET)
            await client.ask(GET)
            loop = asyncio.get_running_loop()
            assert isinstance(loop, CountingLoop)
            assert loop.timers == 1 + (pause_ms > 0)

    run(scenario())
