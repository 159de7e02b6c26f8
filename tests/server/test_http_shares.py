"""No client address takes the connections or the memory that the other clients need."""

import asyncio
import ipaddress

import pytest

from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.proxies import Proxies
from dovemq.server.reader import UNCHECKED_BODY_BYTES_MAX
from tests.server.sockets import GET, Client, Echo, Serving, post, serving

OTHER = "127.0.0.2"
KIB = 1 << 10
MIB = 1 << 20


class Receives:
    """Answers with large messages, and counts the answers that were not delivered."""

    def __init__(self, size_bytes: int) -> None:
        self._body = b"a" * size_bytes
        self.asked = 0
        self.taken_back = 0

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.asked += 1
        return HttpResponse(200, "text/plain", self._body, undelivered=self._take_back)

    async def _take_back(self) -> None:
        self.taken_back += 1


async def unread(place: Serving, receives: Receives, count: int) -> list[Client]:
    """Clients that ask and then read nothing."""
    clients = []
    for _ in range(count):
        client = await place.connect()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        asked = receives.asked
        client.send(GET)
        await place.until(lambda asked=asked: receives.asked > asked)  # type: ignore[misc]
        clients.append(client)
    return clients


async def test_unread_answers_stay_within_their_memory() -> None:
    receives = Receives(16 * MIB)
    async with serving(receives.handle, unsent_bytes_max=40 * MIB) as place:
        for _ in range(6):
            await unread(place, receives, 1)
            assert 0 < place.traffic.unsent_bytes <= 40 * MIB
        await place.until(lambda: len(place.traffic.connections) == 2)
        assert receives.taken_back == 4


async def test_client_is_answered_while_others_do_not_read() -> None:
    receives = Receives(16 * MIB)
    async with serving(receives.handle, unsent_bytes_max=40 * MIB) as place:
        await unread(place, receives, 2)
        reading = await place.connect(address=OTHER)
        assert len((await reading.ask(GET)).body) == 16 * MIB
        assert receives.taken_back == 1


async def test_further_requests_of_a_connection_that_does_not_read_wait() -> None:
    receives = Receives(16 * MIB)
    async with serving(receives.handle) as place:
        client = await place.connect()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.send(GET * 5)
        await place.until(lambda: place.traffic.unsent_bytes > 0)
        start = place.traffic.tick
        await place.until(lambda: place.traffic.tick > start + 5)
        assert receives.asked == 1


async def test_unsent_answers_are_not_counted_once_they_are_read_or_dropped() -> None:
    receives = Receives(16 * MIB)
    async with serving(receives.handle) as place:
        reading, leaving = await unread(place, receives, 2)
        assert place.traffic.unsent_bytes > 16 * MIB
        reading.writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert len((await reading.answer()).body) == 16 * MIB
        leaving.close()
        await place.until(lambda: place.traffic.unsent_bytes == 0)


async def test_held_bodies_of_one_address_do_not_refuse_the_send_of_another() -> None:
    body = b"a" * (64 * KIB)
    async with serving(Echo().handle, bodies_bytes_max=64 * len(body)) as place:
        holders = []
        for _ in range(66):
            holder = await place.connect()
            holder.send(post(body)[:-1])
            holders.append(holder)
        await place.until(lambda: place.traffic.held_bytes >= 63 * len(body))
        other = await place.connect(address=OTHER)
        sent = post(body)
        for at in range(0, len(sent), 8 * KIB):
            other.send(sent[at : at + 8 * KIB])
            await asyncio.sleep(0)
        assert (await other.answer()).status == 200
        assert place.traffic.held_bytes <= 64 * len(body)


async def test_refused_holder_is_told_to_try_later_and_its_memory_is_free_at_once() -> None:
    body = b"a" * (64 * KIB)
    async with serving(Echo().handle, bodies_bytes_max=len(body)) as place:
        holder, other = await place.connect(), await place.connect(address=OTHER)
        holder.send(post(body)[:-1])
        await place.until(lambda: place.traffic.held_bytes >= len(body) - 1)
        other.send(post(b"a" * (16 * KIB))[:-1])
        answer = await holder.answer()
        assert (answer.status, answer.headers["connection"]) == (503, "close")
        assert place.traffic.held_bytes < 32 * KIB


def deny(head: HttpRequest) -> HttpResponse | None:
    """Refuses every request that has no `authorization`."""
    if "authorization" in head.headers:
        return None
    return HttpResponse(403, "text/plain", f"{head.path} {head.peer}".encode())


LARGE = UNCHECKED_BODY_BYTES_MAX + 1
CHUNKED = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("data", [post(b"a" * LARGE)[:-LARGE], CHUNKED], ids=["large", "chunked"])
async def test_large_body_is_not_read_before_its_headers_are_accepted(data: bytes) -> None:
    echo = Echo()
    async with serving(echo.handle, None, None, None, deny) as place:
        client = await place.connect()
        answer = await client.ask(data)
        assert (answer.status, answer.headers["connection"]) == (403, "close")
        assert b"127.0.0.1:" in answer.body
        assert (place.traffic.held_bytes, echo.requests) == (0, [])


async def test_large_body_is_read_once_its_headers_are_accepted() -> None:
    async with serving(Echo().handle, None, None, None, deny) as place:
        client = await place.connect()
        assert (await client.ask(post(b"a" * LARGE, "Authorization: a"))).status == 200
        assert (await client.ask(post(b"small"))).status == 200


async def test_one_address_cannot_take_the_connections_of_others() -> None:
    async with serving(Echo().handle, address_connections_max=3) as place:
        for _ in range(3):
            assert (await (await place.connect()).ask(GET)).status == 200
        refused = await place.connect()
        answer = await refused.ask(GET)
        assert (answer.status, answer.headers["connection"]) == (503, "close")
        assert (await (await place.connect(address=OTHER)).ask(GET)).status == 200


async def test_address_may_connect_again_after_its_connections_closed() -> None:
    async with serving(Echo().handle, address_connections_max=1) as place:
        for _ in range(3):
            client = await place.connect()
            assert (await client.ask(GET)).status == 200
            client.close()
            await place.until(lambda: not place.traffic.connections)


async def test_trusted_proxy_may_have_more_connections_than_an_address() -> None:
    proxies = Proxies([ipaddress.ip_network("127.0.0.1")])
    async with serving(Echo().handle, None, None, proxies, address_connections_max=1) as place:
        for _ in range(3):
            assert (await (await place.connect()).ask(GET)).status == 200
