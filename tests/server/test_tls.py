"""TLS on a listener: what is spoken, what is refused, and how many may be at the door."""

import ssl
from pathlib import Path

import pytest

from tests.server.secured import Pair, TlsClient
from tests.server.sockets import GET, Echo, Serving, post, serving

LARGE = bytes(range(256)) * (1 << 14)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


async def silent(place: Serving, pair: Pair, count: int) -> list[TlsClient]:
    """Clients that connect and say nothing; each known to the server before the next."""
    made: list[TlsClient] = []
    for _ in range(count):
        made.append(await TlsClient.reach(place.listener.port, pair.trust()))
        await place.until(lambda: place.handshakes.begun == len(made))
    return made


async def test_request_over_tls_is_answered_and_known_as_secure(pair: Pair) -> None:
    echo = Echo()
    async with serving(echo.handle, pair.certificates(), pair.trust()) as place:
        client = await place.connect()
        assert (await client.ask(post(LARGE))).body == LARGE
        assert (await client.ask(GET)).status == 200
        assert [request.secure for request in echo.requests] == [True, True]


async def test_request_in_clear_is_not_secure() -> None:
    echo = Echo()
    async with serving(echo.handle) as place:
        await (await place.connect()).ask(GET)
        assert not echo.requests[0].secure


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_both_versions_in_use_are_spoken(pair: Pair, version: ssl.TLSVersion) -> None:
    trust = pair.trust()
    trust.minimum_version = trust.maximum_version = version
    async with serving(Echo().handle, pair.certificates(), trust) as place:
        assert (await (await place.connect()).ask(post(LARGE))).body == LARGE


@pytest.mark.filterwarnings("ignore:ssl:DeprecationWarning")
async def test_older_version_is_refused(pair: Pair) -> None:
    trust = pair.trust()
    # The versions of the context cannot be used: it warns about deprecated ones.
    trust.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    trust.options |= ssl.OP_NO_TLSv1_2 | ssl.OP_NO_TLSv1_3
    trust.set_ciphers("ALL:@SECLEVEL=0")
    async with serving(Echo().handle, pair.certificates(), trust) as place:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await place.connect()


async def test_certificate_of_an_unknown_authority_is_not_trusted(
    pair: Pair, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    stranger = Pair(tmp_path / "other")
    async with serving(Echo().handle, pair.certificates(), stranger.trust()) as place:
        with pytest.raises(ssl.SSLCertVerificationError):
            await place.connect()
        await place.until(lambda: not len(place.handshakes))


async def test_http_in_clear_is_told_to_speak_tls(pair: Pair) -> None:
    async with serving(Echo().handle, pair.certificates()) as place:
        client = await place.connect()
        answer = await client.ask(GET)
        assert answer.status == 400
        assert b"https://" in answer.body
        assert await client.rest() == b""


@pytest.mark.parametrize("noise", [b"\x16\x03\x01\xff\xff", b"\x16" * 400, b"\x00" * 10])
async def test_noise_instead_of_a_handshake_ends_the_connection(pair: Pair, noise: bytes) -> None:
    async with serving(Echo().handle, pair.certificates(), pair.trust()) as place:
        client = await TlsClient.reach(place.listener.port, pair.trust())
        await client.send_raw(noise)
        client.end_tcp()
        await client.rest_raw()
        await place.until(lambda: not len(place.handshakes))
        assert (await (await place.connect()).ask(GET)).status == 200
        client.close()


async def test_noise_within_a_session_ends_it_and_leaves_nothing_behind(pair: Pair) -> None:
    async with serving(Echo().handle, pair.certificates()) as place:
        client = await TlsClient.connect(place.listener.port, pair.trust())
        await client.send(post(b"whole")[:-3])
        await client.send_raw(b"\x17\x03\x03\x00\x20" + b"x" * 32)
        await client.rest_raw()
        await place.until(lambda: not place.traffic.connections)
        assert place.traffic.held_bytes == 0
        client.close()


async def test_handshake_that_takes_too_long_is_cut_off(pair: Pair) -> None:
    certificates = pair.certificates()
    async with serving(Echo().handle, certificates, handshake_ms_max=50) as place:
        (client,) = await silent(place, pair, 1)
        assert await client.rest_raw() == b""
        assert not len(place.handshakes)
        client.close()


async def test_oldest_handshake_gives_way_when_there_are_too_many(pair: Pair) -> None:
    async with serving(
        Echo().handle, pair.certificates(), pair.trust(), handshakes_max=3, sweep_ms=60_000
    ) as place:
        clients = await silent(place, pair, 5)
        assert await clients[0].rest_raw() == b""
        assert await clients[1].rest_raw() == b""
        assert len(place.handshakes) == 3
        assert (await (await place.connect()).ask(GET)).status == 200
        for client in clients:
            client.close()


async def test_draining_waits_for_no_handshake(pair: Pair) -> None:
    async with serving(Echo().handle, pair.certificates(), sweep_ms=60_000) as place:
        (client,) = await silent(place, pair, 1)
        place.listener.stop_accepting()
        assert await client.rest_raw() == b""
        assert await place.listener.emptied(10)
        client.close()


async def test_refusal_reaches_a_client_that_is_still_sending(pair: Pair) -> None:
    async with serving(Echo().handle, pair.certificates(), body_bytes_max=1_024) as place:
        client = await TlsClient.connect(place.listener.port, pair.trust())
        await client.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4096\r\n\r\n")
        await client.send(b"x" * 2_000)
        assert (await client.rest()).startswith(b"HTTP/1.1 413 ")
        await client.send_raw(b"what comes now is read by nobody")
        client.close()
        await place.until(lambda: not place.traffic.connections)


async def test_new_certificate_is_for_new_connections_and_open_ones_go_on(pair: Pair) -> None:
    certificates = pair.certificates()
    async with serving(Echo().handle, certificates, pair.trust()) as place:
        first = await place.connect()
        await first.ask(GET)
        pair.renew()
        certificates.look()
        second = await place.connect()
        assert serial(first.writer) != serial(second.writer)
        for client in (first, second):
            assert (await client.ask(GET)).status == 200


def serial(writer: object) -> str:
    session: ssl.SSLObject = writer.get_extra_info("ssl_object")  # type: ignore[attr-defined]
    found = session.getpeercert()
    assert found is not None
    return str(found["serialNumber"])
