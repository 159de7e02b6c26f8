"""People log in to the admin API with a password, and their sessions end.

The world allows three failures at once and one more each second. `KEY` is the key of root.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dovemq.core.accounts import Role
from dovemq.core.errors import Busy
from dovemq.server import sessions as bounds
from dovemq.server.sessions import IDLE_MS_MAX, LIFETIME_MS_MAX, Sessions
from tests.server.admin_world import KEY, World

PASSWORD = "correct horse battery"
CURRENT = "/v1/sessions/current"


async def _logged_in(tmp_path: Path, role: Role | None = Role.VIEWER) -> tuple[World, str, str]:
    """A world, the number of an account in it, and the token of its session."""
    world = World(tmp_path, signed=True)
    number = (await world.accounts.add("ann", role=role)).number
    await world.accounts.set_password(number, PASSWORD)
    opened = await _log_in(world)
    assert (opened["account"], opened["name"]) == (number, "ann")
    assert opened["ends_ms"] == world.clock.now_ms() + LIFETIME_MS_MAX
    return world, number, opened["token"]


async def _log_in(world: World, account: str = "ann", password: str = PASSWORD) -> Any:
    body = {"account": account, "password": password}
    return await world.done("POST", "/v1/sessions", body=body)


async def test_token_has_the_rights_of_the_account_and_its_role(tmp_path: Path) -> None:
    world, number, token = await _logged_in(tmp_path)
    shown = await world.get(CURRENT, token=token)
    assert shown == {"account": number, "name": "ann", "role": "viewer"}
    assert (await world.ask("GET", "/v1/queues", token=token))[0] == 200
    assert await world.refused("GET", "/v1/accounts", token=token) == (403, "AccessDenied")
    assert len(token) >= 43, "256 random bits in base64"


async def test_account_without_a_role_may_log_in_and_see_its_own_queues(tmp_path: Path) -> None:
    world, _, token = await _logged_in(tmp_path, None)
    assert (await world.get(CURRENT, token=token))["role"] is None
    assert await world.get("/v1/queues", token=token) == {"queues": [], "next": None}
    assert (await world.ask("GET", "/v1/counters", token=token))[0] == 403


async def test_session_ends_on_logout(tmp_path: Path) -> None:
    world, _, token = await _logged_in(tmp_path)
    assert await world.done("DELETE", CURRENT, token=token) == {"ended": True}
    assert await world.refused("GET", CURRENT, token=token) == (403, "SessionEnded")
    assert await world.refused("DELETE", CURRENT, key=KEY) == (404, "NoSession")


async def test_session_ends_without_use(tmp_path: Path) -> None:
    world, _, token = await _logged_in(tmp_path)
    world.clock.advance(IDLE_MS_MAX)
    assert (await world.ask("GET", CURRENT, token=token))[0] == 200
    world.clock.advance(IDLE_MS_MAX + 1)
    assert (await world.ask("GET", CURRENT, token=token))[0] == 403


async def test_session_ends_after_its_lifetime_even_if_used(tmp_path: Path) -> None:
    world, _, token = await _logged_in(tmp_path)
    for _ in range(LIFETIME_MS_MAX // IDLE_MS_MAX - 1):
        world.clock.advance(IDLE_MS_MAX)
        assert (await world.ask("GET", CURRENT, token=token))[0] == 200
    world.clock.advance(IDLE_MS_MAX)
    assert (await world.ask("GET", CURRENT, token=token))[0] == 403


@pytest.mark.parametrize("what", ["disabled", "removed", "password"])
async def test_change_of_the_account_ends_its_sessions(tmp_path: Path, what: str) -> None:
    world, number, token = await _logged_in(tmp_path)
    path = f"/v1/accounts/{number}"
    if what == "disabled":
        await world.done("PATCH", path, key=KEY, body={"enabled": False})
    elif what == "removed":
        await world.done("DELETE", path, key=KEY)
    else:
        body = {"password": PASSWORD}
        await world.done("PUT", f"{path}/password", key=KEY, body=body)
    assert await world.refused("GET", CURRENT, token=token) == (403, "SessionEnded")


@pytest.mark.parametrize(
    ("account", "password"),
    [("ann", "wrong password"), ("nobody", PASSWORD), ("", ""), ("root", PASSWORD)],
)
async def test_wrong_login_reveals_nothing(tmp_path: Path, account: str, password: str) -> None:
    world, _, _ = await _logged_in(tmp_path)
    body = {"account": account, "password": password}
    status, document = await world.ask("POST", "/v1/sessions", body=body)
    assert (status, document["error"]["code"]) == (403, "AccessDenied")
    expected = "There is no such account, or this is not its password."
    assert document["error"]["message"] == expected


async def test_wrong_logins_are_limited_by_account_and_address(tmp_path: Path) -> None:
    world, _, _ = await _logged_in(tmp_path)
    wrong = {"account": "ann", "password": "wrong password"}
    for _ in range(3):
        assert (await world.refused("POST", "/v1/sessions", body=wrong))[0] == 403
    right = {"account": "ann", "password": PASSWORD}
    assert await world.refused("POST", "/v1/sessions", body=right) == (429, "Throttled")
    world.clock.advance(1_000)
    for _ in range(5):
        await world.done("POST", "/v1/sessions", body=right)


async def test_wrong_logins_at_the_same_time_are_limited_too(tmp_path: Path) -> None:
    world, _, _ = await _logged_in(tmp_path)
    wrong = {"account": "ann", "password": "wrong password"}
    asked = [world.refused("POST", "/v1/sessions", body=wrong) for _ in range(10)]
    codes = [code for _, code in await asyncio.gather(*asked)]
    assert (codes.count("AccessDenied"), codes.count("Throttled")) == (3, 7)


async def test_limit_of_logins_does_not_show_which_accounts_exist(tmp_path: Path) -> None:
    world, _, _ = await _logged_in(tmp_path)
    codes: dict[str, list[str]] = {}
    for account in ("ann", "nobody", "nobody else"):
        wrong = {"account": account, "password": "wrong password"}
        asked = [await world.refused("POST", "/v1/sessions", body=wrong) for _ in range(5)]
        codes[account] = [code for _, code in asked]
    assert codes["ann"] == codes["nobody"] == codes["nobody else"]


async def test_failed_logins_to_other_accounts_delay_no_login(tmp_path: Path) -> None:
    world, number, _ = await _logged_in(tmp_path)
    for account in ("nobody", "root"):
        wrong = {"account": account, "password": "wrong password"}
        for _ in range(5):
            await world.refused("POST", "/v1/sessions", body=wrong)
    assert (await _log_in(world))["account"] == number


async def test_one_address_has_a_share_of_the_logins(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True, logins_max=2)
    asked = [
        world.refused("POST", "/v1/sessions", body={"account": each, "password": PASSWORD})
        for each in "abcde"
    ]
    codes = [code for _, code in await asyncio.gather(*asked)]
    assert (codes.count("AccessDenied"), codes.count("Throttled")) == (2, 3)
    again = {"account": "f", "password": PASSWORD}
    assert await world.refused("POST", "/v1/sessions", body=again) == (403, "AccessDenied")


async def test_login_of_a_disconnected_client_counts_until_it_is_checked(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True, logins_max=1)
    body = {"account": "a", "password": PASSWORD}
    leaving = asyncio.ensure_future(world.ask("POST", "/v1/sessions", body=body))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait([leaving])
    assert await world.refused("POST", "/v1/sessions", body=body) == (429, "Throttled")


async def test_account_that_is_enabled_again_has_no_session(tmp_path: Path) -> None:
    world, number, token = await _logged_in(tmp_path)
    for enabled in (False, True):
        path = f"/v1/accounts/{number}"
        await world.done("PATCH", path, key=KEY, body={"enabled": enabled})
    assert await world.refused("GET", CURRENT, token=token) == (403, "SessionEnded")


async def test_logins_are_recorded_without_password_or_token(tmp_path: Path) -> None:
    world, number, token = await _logged_in(tmp_path)
    wrong = {"account": "typed-my-password-here", "password": "wrong password"}
    await world.refused("POST", "/v1/sessions", body=wrong)
    entries = await world.recorded()
    recorded = [(entry["account"], entry["target"], entry["outcome"]) for entry in entries]
    assert recorded == [(number, number, "ok"), (None, "", "AccessDenied")]
    text = json.dumps(entries)
    assert not [each for each in (token, PASSWORD, *wrong.values()) if each in text]


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer x", "bearer \xff", "Basic eA=="])
async def test_invalid_token_is_refused(tmp_path: Path, header: str) -> None:
    world = World(tmp_path, signed=True)
    headers = {"host": "h", "authorization": header}
    assert (await world.call("GET", CURRENT, headers=headers)).status in (400, 403)


def test_new_session_replaces_the_least_recently_used_of_its_account() -> None:
    sessions = Sessions()
    tokens = [sessions.open("a", 0)[0] for _ in range(bounds.ACCOUNT_SESSIONS_MAX)]
    other = sessions.open("b", 0)[0]
    assert sessions.use(tokens[0], 1)
    newest = sessions.open("a", 2)[0]
    assert sessions.use(tokens[1], 3) is None
    assert all(sessions.use(token, 3) for token in (tokens[0], newest, other))


def test_number_of_sessions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SESSIONS_MAX", 3)
    sessions = Sessions()
    for account in "abc":
        sessions.open(account, 0)
    with pytest.raises(Busy):
        sessions.open("d", IDLE_MS_MAX)
    sessions.open("d", IDLE_MS_MAX + 1)
    assert len(sessions) == 1


def test_token_itself_is_not_stored() -> None:
    sessions = Sessions()
    token, _ = sessions.open("a", 0)
    assert token not in repr(vars(sessions))
