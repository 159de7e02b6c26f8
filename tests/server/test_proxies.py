"""The client's address, scheme and host behind trusted and untrusted proxies."""

import ipaddress

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dovemq.http import HttpRequest, client_of
from dovemq.server.proxies import HOPS_MAX, ForwardedClient, ForwardedMalformed, Proxies
from tests.server.sockets import Echo, serving

PROXY = "10.0.0.1:4000"
PROXIES = Proxies([ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8")])
LOCAL = Proxies([ipaddress.ip_network("127.0.0.0/8")])


def origin(**headers: str) -> ForwardedClient:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return PROXIES.origin(given, PROXY, False)


@pytest.mark.parametrize(
    ("address", "trusted"),
    [
        ("10.1.2.3", True),
        ("11.1.2.3", False),
        ("fd12::1", True),
        ("fe80::1", False),
        ("::ffff:10.1.2.3", True),
        ("", False),
        ("proxy", False),
    ],
)
def test_proxy_is_trusted_by_its_network(address: str, trusted: bool) -> None:
    assert PROXIES.trusts(address) is trusted


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("1.2.3.4, 203.0.113.9,10.0.0.3, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.9, 10.0.0.2", "10.0.0.9"),
        ("203.0.113.9:5151", "203.0.113.9"),
        ("2001:db8::7", "[2001:db8::7]"),
        ("[2001:db8::7]:5151", "[2001:db8::7]"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("fe80::1%eth0", "[fe80::1]"),
        ("what a client invents, 203.0.113.9", "203.0.113.9"),
    ],
)
def test_client_is_the_last_address_that_is_no_proxy(forwarded: str, client: str) -> None:
    assert origin(x_forwarded_for=forwarded).peer == f"{client}:0"


@pytest.mark.parametrize(
    "forwarded",
    ["", "unknown", "203.0.113.9, unknown", "203.0.113.9,", "1.2.3.4.5", "a b", "10.0.0.1;"],
)
def test_malformed_address_is_refused(forwarded: str) -> None:
    with pytest.raises(ForwardedMalformed):
        origin(x_forwarded_for=forwarded)


def test_endless_row_of_proxies_is_refused() -> None:
    row = ", ".join(["10.0.0.2"] * HOPS_MAX)
    assert origin(x_forwarded_for=row).peer == "10.0.0.2:0"
    with pytest.raises(ForwardedMalformed):
        origin(x_forwarded_for=f"10.0.0.2, {row}")


@pytest.mark.parametrize(
    ("scheme", "secure"),
    [("https", True), ("HTTPS", True), ("http", False), ("https, http", False)],
)
def test_scheme_is_what_the_nearest_proxy_says(scheme: str, secure: bool) -> None:
    assert origin(x_forwarded_proto=scheme).secure is secure


@pytest.mark.parametrize("scheme", ["", "ftp", "https;", "on"])
def test_malformed_scheme_is_refused(scheme: str) -> None:
    with pytest.raises(ForwardedMalformed):
        origin(x_forwarded_proto=scheme)


@pytest.mark.parametrize("host", ["queues.example.com", "queues.example.com:8443", "[::1]:9324"])
def test_host_is_the_one_that_the_client_named(host: str) -> None:
    assert origin(x_forwarded_host=host).host == host


@pytest.mark.parametrize("host", ["", "a/b", "a b", "user@host", "host:port", "a" * 300])
def test_malformed_host_is_refused(host: str) -> None:
    with pytest.raises(ForwardedMalformed):
        origin(x_forwarded_host=host)


@given(
    forwarded=st.text(st.characters(min_codepoint=32, max_codepoint=255)),
    address=st.ip_addresses().map(str),
    after=st.sampled_from(["", ", 10.0.0.2", ",10.0.0.2 , fd00::3"]),
)
def test_whatever_a_client_writes_before_its_address_changes_nothing(
    forwarded: str, address: str, after: str
) -> None:
    assume(not PROXIES.trusts(address))
    alone = origin(x_forwarded_for=address + after)
    assert origin(x_forwarded_for=f"{forwarded}, {address}{after}") == alone


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@given(text=st.text(st.characters(min_codepoint=32, max_codepoint=255), min_size=1))
@example("10.0.0.2")
@example("203.0.113.9")
@example("2001:db8::1")
def test_text_is_taken_for_the_client_only_if_it_is_an_address(text: str) -> None:
    if is_address(text.strip()):
        found = origin(x_forwarded_for=text).peer.rpartition(":")[0].strip("[]")
        assert ipaddress.ip_address(found) == ipaddress.ip_address(text.strip())
    elif "," not in text:
        with pytest.raises(ForwardedMalformed):
            origin(x_forwarded_for=text)


def test_proxy_that_says_nothing_is_the_client() -> None:
    assert PROXIES.origin({}, PROXY, True) == ForwardedClient(PROXY, True, None)


def forwarded_request(*headers: str) -> bytes:
    return "\r\n".join(["GET / HTTP/1.1", "Host: inside:9324", *headers, "", ""]).encode()


FORWARDED = forwarded_request(
    "X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https", "X-Forwarded-Host: outside"
)


async def asked(proxies: Proxies | None, *requests: bytes) -> list[HttpRequest]:
    echo = Echo()

    async with serving(echo.handle, None, None, proxies) as place:
        client = await place.connect()
        for request in requests:
            await client.ask(request)
    return echo.requests


async def test_request_through_a_trusted_proxy_is_the_client_s() -> None:
    through, direct = await asked(LOCAL, FORWARDED, forwarded_request())
    assert (client_of(through.peer), through.secure) == ("203.0.113.9", True)
    assert through.headers["host"] == "outside"
    assert (client_of(direct.peer), direct.secure) == ("127.0.0.1", False)
    assert direct.headers["host"] == "inside:9324"


@pytest.mark.parametrize("proxies", [None, PROXIES])
async def test_untrusted_proxy_is_ignored(proxies: Proxies | None) -> None:
    (request,) = await asked(proxies, FORWARDED)
    assert (client_of(request.peer), request.secure) == ("127.0.0.1", False)
    assert request.headers["host"] == "inside:9324"


async def test_malformed_header_of_a_trusted_proxy_is_answered_400() -> None:
    echo = Echo()
    async with serving(echo.handle, None, None, LOCAL) as place:
        client = await place.connect()
        answer = await client.ask(forwarded_request("X-Forwarded-For: unknown"))
        assert (answer.status, echo.requests) == (400, [])
        assert b"X-Forwarded-For" in answer.body


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        ("127.0.0.1:5151", "127.0.0.1"),
        ("[::1]:5151", "::/64"),
        ("203.0.113.9:0", "203.0.113.9"),
        ("[2001:db8::7]:0", "2001:db8::/64"),
        ("[fe80::1%eth0]:5151", "fe80::/64"),
        ("", ""),
    ],
)
def test_client_is_its_address_or_its_network_of_version_6(peer: str, client: str) -> None:
    assert client_of(peer) == client
