"""Two listeners as one server, and the signals that end it."""

import asyncio
import resource
import signal
import subprocess
import sys

import pytest

from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.limits import ADMIN_BODY_BYTES_MAX, HttpLimits
from dovemq.server.run import ListenFailed, Server, allow_connections
from dovemq.settings import HttpSettings
from dovemq.testing.clock import ManualClock
from tests.server.sockets import GET, Client, LongPoll, post

STOPS = """
import asyncio
from dovemq.server.run import until_stopped

async def main():
    waiting = asyncio.create_task(until_stopped())
    await asyncio.sleep(0)
    print("waiting", flush=True)
    await waiting
    print("draining", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def _server(
    sqs: LongPoll, port: int = 0, admin_port: int = 0, admin_host: str | None = None
) -> Server:
    async def admin(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, "text/plain", b"admin")

    return Server(
        sqs.handle,
        admin,
        host="127.0.0.1",
        port=port,
        admin_port=admin_port,
        admin_host=admin_host,
        limits=HttpLimits(sweep_ms=10),
        clock=ManualClock(),
    )


async def _connect(port: int | None) -> Client:
    return Client(*await asyncio.open_connection("127.0.0.1", port))


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_methods_that_change_are_for_the_admin_listener_alone(method: str) -> None:
    server = _server(LongPoll())
    await server.start()
    sqs, admin = await _connect(server.port), await _connect(server.admin_port)
    request = post(b"{}").replace(b"POST", method.encode())
    assert (await sqs.ask(request)).status == 405
    assert (await admin.ask(request)).body == b"admin"
    allowed = (await admin.ask(GET.replace(b"GET", b"OPTIONS"))).headers["allow"]
    assert method.lower() in allowed
    for client in (sqs, admin):
        client.close()
    await server.close()


async def _both_listeners() -> tuple[Server, Client, Client]:
    """A server whose polls end at once, and a client of each listener."""
    poll = LongPoll()
    poll.turn.set()
    server = _server(poll)
    await server.start()
    return server, await _connect(server.port), await _connect(server.admin_port)


async def test_bodies_of_the_admin_listener_are_short() -> None:
    server, sqs, admin = await _both_listeners()
    request = post(b"x" * (ADMIN_BODY_BYTES_MAX + 1))
    assert (await sqs.ask(request)).status == 200
    assert (await admin.ask(request)).status == 413
    for client in (sqs, admin):
        client.close()
    await server.close()


async def test_both_listeners_answer_on_ports_of_their_own() -> None:
    server, sqs, admin = await _both_listeners()
    assert (await sqs.ask(GET)).body == b"message"
    assert (await admin.ask(GET)).body == b"admin"
    assert (server.connections, server.requests) == (1, 1)
    await server.close()
    sqs.close()
    admin.close()


async def test_port_in_use_is_refused_and_leaves_nothing_open() -> None:
    poll = LongPoll()
    first = _server(poll)
    await first.start()
    second = _server(poll, first.port)
    with pytest.raises(ListenFailed, match=f"port {first.port}: .*in use; choose .* --port$"):
        await second.start()
    await second.close()
    await first.close()


async def test_admin_port_in_use_is_named_and_leaves_nothing_open() -> None:
    poll = LongPoll()
    first = _server(poll)
    await first.start()
    assert first.admin_port is not None
    second = _server(poll, admin_port=first.admin_port)
    with pytest.raises(ListenFailed, match=f"port {first.admin_port}: .* --admin-port$"):
        await second.start()
    await second.close()
    await first.close()


async def test_admin_listener_has_an_address_of_its_own() -> None:
    server = _server(LongPoll(), admin_host="127.0.0.2")
    await server.start()
    admin = Client(*await asyncio.open_connection("127.0.0.2", server.admin_port))
    assert (await admin.ask(GET)).body == b"admin"
    with pytest.raises(ConnectionRefusedError):
        await _connect(server.admin_port)
    admin.close()
    await server.close()


async def _with_parked_poll(poll: LongPoll) -> tuple[Server, Client]:
    server = _server(poll)
    await server.start()
    client = await _connect(server.port)
    client.send(GET)
    await poll.asked.wait()
    return server, client


async def test_drain_ends_parked_polls_and_gives_every_answer() -> None:
    poll = LongPoll()
    server, client = await _with_parked_poll(poll)

    async def end_polls() -> None:
        poll.turn.set()

    assert await server.drain(10, end_polls)
    answer = await client.answer()
    assert (answer.body, answer.headers["connection"]) == (b"message", "close")
    client.close()


async def test_server_that_leaves_serves_and_ends_each_connection_with_its_answer() -> None:
    poll = LongPoll()
    server, client = await _with_parked_poll(poll)
    server.begin_leaving()
    assert server.leaving
    poll.turn.set()
    answer = await client.answer()
    assert (answer.body, answer.headers["connection"]) == (b"message", "close")
    assert await client.rest() == b""
    another = await _connect(server.port)
    assert (await another.ask(GET)).headers["connection"] == "close"
    for each in (client, another):
        each.close()
    await server.close()


async def test_drain_cuts_off_what_does_not_end_in_time() -> None:
    poll = LongPoll()
    server, client = await _with_parked_poll(poll)

    async def end_no_poll() -> None:
        assert not poll.cancelled.is_set()

    assert not await server.drain(0.01, end_no_poll)
    assert poll.cancelled.is_set()
    client.close()


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_first_signal_drains_and_second_ends_at_once(first: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPS], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(first)
        assert process.stdout.readline() == "draining\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM


def test_limit_of_open_files_is_raised_only_as_far_as_it_may() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        allow_connections(10)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(before[0], 1_034)
        allow_connections(1 << 40)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert hard == before[1]
        assert soft == hard or hard == resource.RLIM_INFINITY
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_limits_follow_the_settings() -> None:
    settings = HttpSettings(
        **{name: 5_000 + place for place, name in enumerate(HttpSettings.__struct_fields__)}
    )
    limits = HttpLimits.of(settings)
    for name in HttpSettings.__struct_fields__:
        value = getattr(settings, name)
        if "seconds" in name:
            name, value = name.replace("seconds", "ms"), value * 1_000
        assert getattr(limits, name) == value, name
