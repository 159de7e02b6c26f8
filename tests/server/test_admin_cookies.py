"""Browsers log in with a cookie, which pages of other sites cannot use."""

import json
from pathlib import Path
from typing import Any

import pytest

from dovemq.core.accounts import Role
from dovemq.http import HttpRequest, HttpResponse
from tests.server.admin_world import PEER, World

PASSWORD = "correct horse battery"
HOST = "dove.example:9325"
SAME = {"sec-fetch-site": "same-origin", "origin": f"http://{HOST}"}
FOREIGN = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "none", "origin": "http://dove.example:1"},
]


class Browser:
    """Keeps the cookie, and sends it with every request, as browsers do."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cookie = ""
        self.csrf = ""
        self.set_cookie = ""

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        secure: bool = False,
        csrf: str | None = None,
        **headers: str,
    ) -> tuple[int, Any]:
        sent = {"host": HOST, **{name.replace("_", "-"): text for name, text in headers.items()}}
        if self.cookie:
            sent["cookie"] = f"theme=dark; {self.cookie}; other=1"
        token = self.csrf if csrf is None else csrf
        if token:
            sent["x-dovemq-csrf"] = token
        data = b"" if body is None else json.dumps(body).encode()
        if body is not None:
            sent["content-type"] = "application/json"
        request = HttpRequest(method, path, "", sent, data, PEER, secure)
        response = await self.world.api.handle(request)
        assert isinstance(response, HttpResponse)
        self.set_cookie = dict(response.headers).get("Set-Cookie", "")
        if self.set_cookie:
            self.cookie = self.set_cookie.partition(";")[0]
        return response.status, json.loads(response.body)

    async def log_in(self, **more: Any) -> tuple[int, Any]:
        login = {"account": "ann", "password": PASSWORD, "cookie": True}
        status, document = await self.ask("POST", "/v1/sessions", login, **more)
        self.csrf = document.get("csrf", "")
        return status, document


async def _browser(tmp_path: Path) -> Browser:
    world = World(tmp_path, signed=True)
    number = (await world.accounts.add("ann", role=Role.ADMIN)).number
    await world.accounts.set_password(number, PASSWORD)
    return Browser(world)


async def test_cookie_is_hidden_from_scripts_and_from_other_sites(tmp_path: Path) -> None:
    browser = await _browser(tmp_path)
    status, document = await browser.log_in(**_named(SAME))
    assert status == 200
    assert "token" not in document, "scripts must not see it"
    parts = browser.set_cookie.split("; ")
    assert parts[1:] == ["Path=/", "HttpOnly", "SameSite=Strict"]
    await browser.log_in(secure=True)
    assert browser.set_cookie.startswith("__Host-dovemq-")
    assert browser.set_cookie.endswith("; Secure")


async def test_cookie_reads_and_with_its_csrf_token_changes(tmp_path: Path) -> None:
    browser = await _browser(tmp_path)
    await browser.log_in()
    status, session = await browser.ask("GET", "/v1/sessions/current")
    assert (status, session["role"], session["csrf"]) == (200, "admin", browser.csrf)
    created = await browser.ask("POST", "/v1/accounts", {"name": "bob"}, **_named(SAME))
    assert created[0] == 200
    assert (await browser.ask("DELETE", "/v1/sessions/current"))[0] == 200
    assert "Max-Age=0" in browser.set_cookie


@pytest.mark.parametrize("csrf", ["", "0" * 64, "é"])
async def test_change_without_the_csrf_token_is_refused(tmp_path: Path, csrf: str) -> None:
    browser = await _browser(tmp_path)
    await browser.log_in()
    browser.csrf = ""
    status, document = await browser.ask("POST", "/v1/accounts", {"name": "bob"}, csrf=csrf)
    assert (status, document["error"]["code"]) == (403, "AccessDenied")
    assert (await browser.ask("DELETE", "/v1/sessions/current", csrf=csrf))[0] == 403
    assert (await browser.ask("GET", "/v1/queues", csrf=csrf))[0] == 200


@pytest.mark.parametrize("headers", FOREIGN)
async def test_page_of_another_site_can_neither_read_change_nor_log_in(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    browser = await _browser(tmp_path)
    assert (await browser.log_in(**_named(headers)))[0] == 403
    await browser.log_in()
    for method, path, body in (
        ("GET", "/v1/queues", None),
        ("POST", "/v1/accounts", {"name": "bob"}),
    ):
        status, document = await browser.ask(method, path, body, **_named(headers))
        assert (status, document["error"]["code"]) == (403, "AccessDenied")


async def test_csrf_token_of_one_session_does_not_serve_another(tmp_path: Path) -> None:
    browser = await _browser(tmp_path)
    await browser.log_in()
    other = Browser(browser.world)
    await other.log_in()
    assert (await other.ask("POST", "/v1/accounts", {"name": "b"}, csrf=browser.csrf))[0] == 403


async def test_cookie_of_an_ended_session_or_another_port_is_none(tmp_path: Path) -> None:
    browser = await _browser(tmp_path)
    await browser.log_in()
    before = browser.cookie
    status, _ = await browser.ask("GET", "/v1/queues", host="dove.example:1")
    assert status == 403, "another server on the same host"
    await browser.ask("DELETE", "/v1/sessions/current")
    browser.cookie = before
    status, document = await browser.ask("GET", "/v1/queues")
    assert (status, document["error"]["code"]) == (403, "SessionEnded")


async def test_login_without_a_cookie_gets_none(tmp_path: Path) -> None:
    browser = await _browser(tmp_path)
    login = {"account": "ann", "password": PASSWORD}
    _, document = await browser.ask("POST", "/v1/sessions", login)
    assert browser.set_cookie == ""
    assert "csrf" not in document
    bearer: dict[str, Any] = {"authorization": f"Bearer {document['token']}"}
    assert (await browser.ask("POST", "/v1/accounts", {"name": "bob"}, **bearer))[0] == 200


def _named(headers: dict[str, str]) -> dict[str, Any]:
    return {name.replace("-", "_"): text for name, text in headers.items()}
