"""A server that checks no signatures answers no web page."""

import pytest

from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.local_only import local_only


async def _answer(request: HttpRequest) -> HttpResponse:
    return HttpResponse(200, "text/plain", b"done")


async def _status(**headers: str) -> int:
    known = {name.replace("_", "-"): value for name, value in headers.items()}
    request = HttpRequest("POST", "/", "", known, b"", "127.0.0.1:5")
    return (await local_only(_answer)(request)).status


LOCAL = ("localhost", "LOCALHOST:9324", "127.0.0.1:9324", "127.9.9.9", "[::1]:9324", "[::1]")
FOREIGN = (
    "evil.example",
    "evil.example:9324",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "192.0.2.1:9324",
    "[2001:db8::1]:9324",
    "0.0.0.0",
    "",
    "[::1].evil.example",
)


@pytest.mark.parametrize("host", LOCAL)
async def test_host_of_this_machine_is_answered(host: str) -> None:
    assert await _status(host=host) == 200


@pytest.mark.parametrize("host", FOREIGN)
async def test_host_that_a_page_may_point_here_is_refused(host: str) -> None:
    assert await _status(host=host) == 403


async def test_program_that_names_no_host_is_answered() -> None:
    assert await _status() == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
async def test_request_that_a_page_of_another_site_causes_is_refused(site: str) -> None:
    assert await _status(host="localhost", sec_fetch_site=site) == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000"])
async def test_origin_of_another_site_is_refused(origin: str) -> None:
    assert await _status(host="localhost:9324", origin=origin) == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_request_of_the_address_bar_or_of_this_server_is_answered(site: str) -> None:
    own = "http://localhost:9324"
    assert await _status(host="localhost:9324", sec_fetch_site=site, origin=own) == 200
