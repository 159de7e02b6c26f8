"""Clients that go away, servers that drain, and what thousands of waiting clients cost."""

import asyncio
import socket
import struct

import pytest

from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.run import allow_connections
from tests.server.conftest import CountingLoop
from tests.server.sockets import GET, Echo, LongPoll, Serving, serving

MANY = 2_000
PORTION = 200


def reset_on_close(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_client_that_goes_away_cancels_its_long_poll(reset: bool) -> None:
    poll = LongPoll()
    async with serving(poll.handle) as place:
        client = socket.create_connection(("127.0.0.1", place.listener.port))
        client.sendall(GET)
        await poll.asked.wait()
        if reset:
            reset_on_close(client)
        client.close()
        assert await poll.cancelled.wait()
        await place.until(lambda: not place.traffic.connections)


async def test_answer_to_a_client_that_has_just_gone_is_taken_back() -> None:
    poll = LongPoll()
    async with serving(poll.handle, sweep_ms=60_000) as place:
        client = socket.create_connection(("127.0.0.1", place.listener.port))
        client.sendall(GET)
        await poll.asked.wait()
        client.close()
        connection = next(iter(place.traffic.connections))
        await place.until(lambda: connection.half_closed)
        poll.turn.set()
        assert await poll.taken_back.wait()


async def test_answer_of_a_handle_that_outlives_its_client_is_taken_back() -> None:
    poll = LongPoll()

    async def stubborn(request: HttpRequest) -> HttpResponse:
        try:
            return await poll.handle(request)
        except asyncio.CancelledError:
            poll.turn.set()
            return await poll.handle(request)

    async with serving(stubborn) as place:
        client = socket.create_connection(("127.0.0.1", place.listener.port))
        client.sendall(GET)
        await poll.asked.wait()
        reset_on_close(client)
        client.close()
        assert await poll.taken_back.wait()


async def test_delivered_answer_is_not_taken_back() -> None:
    poll = LongPoll()
    async with serving(poll.handle) as place:
        client = await place.connect()
        client.send(GET)
        poll.turn.set()
        assert (await client.answer()).body == b"message"
        client.close()
        await place.until(lambda: not place.traffic.connections)
        assert not poll.taken_back.is_set()


async def test_requests_waiting_behind_a_lost_one_are_dropped() -> None:
    poll = LongPoll()
    calls: list[str] = []

    async def handle(request: HttpRequest) -> HttpResponse:
        calls.append(request.path)
        return await poll.handle(request)

    async with serving(handle) as place:
        client = socket.create_connection(("127.0.0.1", place.listener.port))
        client.sendall(GET * 3)
        await poll.asked.wait()
        reset_on_close(client)
        client.close()
        await place.until(lambda: not place.traffic.connections)
        assert calls == ["/a"]
        assert place.traffic.held_bytes == 0


async def test_client_that_only_stops_sending_gets_its_answers() -> None:
    poll = LongPoll()
    async with serving(poll.handle) as place:
        client = await place.connect()
        client.send(GET + GET)
        await poll.asked.wait()
        client.writer.write_eof()
        start = place.traffic.tick
        await place.until(lambda: place.traffic.tick > start + 3)
        poll.turn.set()
        answers = [await client.answer() for _ in range(3)]
        assert [answer.status for answer in answers] == [100, 200, 200]
        assert await client.rest() == b""


async def test_http10_client_that_stops_sending_hears_nothing_but_its_answer() -> None:
    poll = LongPoll()
    async with serving(poll.handle) as place:
        client = await place.connect()
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        client.writer.write_eof()
        await poll.asked.wait()
        poll.turn.set()
        assert (await client.answer()).status == 200
        assert await client.rest() == b""


async def test_draining_closes_idle_connections_and_takes_no_new_ones() -> None:
    async with serving(Echo().handle) as place:
        used, silent = await place.connect(), await place.connect()
        await used.ask(GET)
        port = place.listener.port
        place.listener.stop_accepting()
        assert await used.rest() == b""
        assert await silent.rest() == b""
        assert await place.listener.emptied(10)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)


async def test_draining_waits_for_answers_and_then_closes() -> None:
    poll = LongPoll()
    async with serving(poll.handle) as place:
        client, half = await place.connect(), await place.connect()
        client.send(GET)
        half.send(GET[:10])
        await poll.asked.wait()
        await place.until(lambda: len(place.traffic.connections) == 2)
        place.listener.stop_accepting()
        poll.turn.set()
        answer = await client.answer()
        assert (answer.body, answer.headers["connection"]) == (b"message", "close")
        assert await client.rest() == b""
        half.send(GET[10:])
        assert (await half.answer()).headers["connection"] == "close"
        assert await half.rest() == b""
        assert await place.listener.emptied(10)


async def test_closing_cuts_off_what_is_left_and_takes_it_back() -> None:
    poll = LongPoll(b"a" * (32 << 20))
    parked = LongPoll()
    handles = [poll.handle, parked.handle]

    async def handle(request: HttpRequest) -> HttpResponse:
        return await handles.pop(0)(request)

    async with serving(handle) as place:
        slow = socket.create_connection(("127.0.0.1", place.listener.port))
        slow.sendall(GET)
        await poll.asked.wait()
        waiting = await place.connect()
        waiting.send(GET)
        await parked.asked.wait()
        poll.turn.set()
        await place.listener.close()
        assert poll.taken_back.is_set()
        assert parked.cancelled.is_set()
        assert not place.traffic.connections
        slow.close()


async def _connect_many(place: Serving, data: bytes) -> list[socket.socket]:
    """Connect in portions that the queue of a listening socket can hold."""
    allow_connections(2 * MANY)
    clients: list[socket.socket] = []
    while len(clients) < MANY:
        for _ in range(PORTION):
            clients.append(socket.create_connection(("127.0.0.1", place.listener.port)))
            clients[-1].sendall(data)
        await place.until(lambda: len(place.traffic.connections) == len(clients))
    return clients


async def test_idle_connections_cost_neither_task_nor_timer() -> None:
    async with serving(Echo().handle, sweep_ms=60_000) as place:
        clients = await _connect_many(place, b"")
        assert len(asyncio.all_tasks()) == 1
        assert _timers() == 1
        for client in clients:
            client.close()
        await place.until(lambda: not place.traffic.connections)


async def test_parked_requests_cost_one_task_each_and_no_timer() -> None:
    poll = LongPoll()
    async with serving(poll.handle, sweep_ms=60_000) as place:
        clients = await _connect_many(place, GET)
        await place.until(lambda: place.traffic.requests == MANY)
        assert len(asyncio.all_tasks()) == MANY + 1
        assert _timers() == 1
        for client in clients:
            reset_on_close(client)
            client.close()
        await place.until(lambda: not place.traffic.connections)
        assert len(asyncio.all_tasks()) == 1


def _timers() -> int:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, CountingLoop)
    return loop.timers
