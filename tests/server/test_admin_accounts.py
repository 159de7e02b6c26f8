"""Accounts, their keys and passwords over the admin API."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dovemq.core.access import AccessKey
from dovemq.core.accounts import Role
from dovemq.core.limits import DAY_MS
from dovemq.core.queue import QueueKey
from dovemq.server.admin_routes import ROUTES
from tests.server.admin_world import KEY, World

NONE = {"queues_max": None, "bytes_max": None, "requests_per_second_max": None}


async def _added(world: World, name: str = "billing", **more: Any) -> str:
    """The path of a new account."""
    account = await world.done("POST", "/v1/accounts", body={"name": name, **more})
    return f"/v1/accounts/{account['number']}"


async def _key(world: World, path: str, **body: Any) -> dict[str, Any]:
    made: dict[str, Any] = await world.done("POST", f"{path}/credentials", body=body)
    return made


async def test_added_account_is_shown_by_number_and_by_name(tmp_path: Path) -> None:
    world = World(tmp_path)
    quotas = {"queues_max": 3, "bytes_max": None}
    body = {"name": "billing", "number": "123456789012", "role": "viewer", "quotas": quotas}
    added = await world.done("POST", "/v1/accounts", body=body)
    assert added == {
        "number": "123456789012",
        "name": "billing",
        "role": "viewer",
        "enabled": True,
        "created_ms": world.clock.now_ms(),
        "quotas": {**NONE, "queues_max": 3},
        "has_password": False,
        "credentials": [],
    }
    assert await world.get("/v1/accounts/123456789012") == added
    assert await world.get("/v1/accounts/billing") == added


async def test_accounts_are_listed_page_by_page(tmp_path: Path) -> None:
    world = World(tmp_path)
    for digit in "3142":
        await _added(world, f"a{digit}", number=digit * 12)
    first = await world.get("/v1/accounts", "limit=3")
    assert [each["name"] for each in first["accounts"]] == ["root", "a1", "a2"]
    second = await world.get("/v1/accounts", f"limit=3&after={first['next']}")
    assert [each["name"] for each in second["accounts"]] == ["a3", "a4"]
    assert second["next"] is None


async def test_only_what_is_given_changes(tmp_path: Path) -> None:
    world = World(tmp_path)
    path = await _added(world, role="operator", quotas={"queues_max": 3, "bytes_max": 9})
    changed = await world.done("PATCH", path, body={"quotas": {"queues_max": 5}})
    assert changed["quotas"] == {**NONE, "queues_max": 5, "bytes_max": 9}
    assert (changed["role"], changed["name"]) == ("operator", "billing")
    body = {"role": None, "name": "b", "enabled": False, "quotas": {"bytes_max": None}}
    changed = await world.done("PATCH", path, body=body)
    assert changed["quotas"] == {**NONE, "queues_max": 5}
    assert (changed["role"], changed["name"], changed["enabled"]) == (None, "b", False)


async def test_account_that_owns_queues_stays(tmp_path: Path) -> None:
    world = World(tmp_path)
    path = await _added(world, number="1" * 12)
    queue = QueueKey("1" * 12, "jobs")
    await world.service.queues.create(queue, {}, {})
    assert await world.refused("DELETE", path) == (409, "AccountNotEmpty")
    await world.service.queues.remove(queue)
    assert await world.done("DELETE", path) == {"removed": "1" * 12}
    assert await world.refused("GET", path) == (404, "AccountMissing")


async def test_secret_of_a_key_is_told_only_when_it_is_made(tmp_path: Path) -> None:
    world = World(tmp_path, root=True)
    path = await _added(world)
    made = await _key(world, path)
    shown = json.dumps([await world.get(path), await world.get("/v1/accounts")])
    assert made["key_id"] in shown
    assert made["secret"] not in shown
    assert KEY.key_id in shown
    assert KEY.secret not in shown
    assert made["secret"] not in json.dumps(await world.recorded())


async def _works(world: World, made: dict[str, Any]) -> bool:
    key = AccessKey(made["key_id"], made["secret"], made["account"])
    status, document = await world.ask("GET", "/v1/sessions/current", key=key)
    assert status == 403 or document["account"] == made["account"]
    return status == 200


@pytest.fixture
def signed(tmp_path: Path) -> World:
    return World(tmp_path, signed=True)


async def _member(world: World) -> tuple[str, dict[str, Any]]:
    number = (await world.accounts.add("member")).number
    path = f"/v1/accounts/{number}"
    return path, await world.done("POST", f"{path}/credentials", key=KEY, body={})


async def test_disabled_key_stops_and_enabled_key_works_again(signed: World) -> None:
    path, made = await _member(signed)
    assert await _works(signed, made)
    place = f"{path}/credentials/{made['key_id']}"
    off = await signed.done("PATCH", place, key=KEY, body={"enabled": False})
    assert off["enabled"] is False
    assert not await _works(signed, made)
    await signed.done("PATCH", place, key=KEY, body={"enabled": True})
    assert await _works(signed, made)
    await signed.done("PATCH", path, key=KEY, body={"enabled": False})
    assert not await _works(signed, made)


async def test_key_ends_when_its_lifetime_is_over(signed: World) -> None:
    path, made = await _member(signed)
    place = f"{path}/credentials/{made['key_id']}"
    changed = await signed.done("PATCH", place, key=KEY, body={"lifetime_ms": 1_000})
    assert changed["expires_ms"] == signed.clock.now_ms() + 1_000
    assert await _works(signed, made)
    signed.clock.advance(1_000)
    assert not await _works(signed, made)
    changed = await signed.done("PATCH", place, key=KEY, body={"lifetime_ms": None})
    assert changed["expires_ms"] is None
    assert await _works(signed, made)


async def test_rotation_lets_the_old_key_go_on_for_its_grace(signed: World) -> None:
    path, old = await _member(signed)
    place = f"{path}/credentials/{old['key_id']}/rotations"
    new = await signed.done("POST", place, key=KEY, body={"grace_ms": DAY_MS})
    assert new["key_id"] != old["key_id"]
    assert await _works(signed, old)
    assert await _works(signed, new)
    signed.clock.advance(DAY_MS)
    assert not await _works(signed, old)
    assert await _works(signed, new)


async def test_removed_key_works_no_more(signed: World) -> None:
    path, made = await _member(signed)
    place = f"{path}/credentials/{made['key_id']}"
    assert await signed.done("DELETE", place, key=KEY) == {"removed": made["key_id"]}
    assert not await _works(signed, made)
    assert await signed.refused("DELETE", place, key=KEY) == (404, "CredentialMissing")


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/v1/accounts", {}, 400, "InvalidBody"),
    ("POST", "/v1/accounts", {"name": "a", "colour": "red"}, 400, "InvalidBody"),
    ("POST", "/v1/accounts", {"name": 1}, 400, "InvalidBody"),
    ("POST", "/v1/accounts", {"name": "a", "role": "king"}, 400, "InvalidBody"),
    ("POST", "/v1/accounts", {"name": "a", "quotas": {"x": 1}}, 400, "InvalidBody"),
    ("POST", "/v1/accounts", {"name": "a", "quotas": {"queues_max": -1}}, 400, "InvalidValue"),
    ("POST", "/v1/accounts", {"name": "a/b"}, 400, "InvalidValue"),
    ("POST", "/v1/accounts", {"name": "a", "number": "12"}, 400, "InvalidValue"),
    ("POST", "/v1/accounts", {"name": "root"}, 409, "AccountExists"),
    ("POST", "/v1/accounts", {"name": "a", "number": "000000000000"}, 409, "AccountExists"),
    ("POST", "/v1/accounts", [], 400, "InvalidBody"),
    ("PATCH", "/v1/accounts/root", {"role": None}, 409, "AccountProtected"),
    ("PATCH", "/v1/accounts/root", {"enabled": False}, 409, "AccountProtected"),
    ("PATCH", "/v1/accounts/none", {"enabled": False}, 404, "AccountMissing"),
    ("DELETE", "/v1/accounts/root", None, 409, "AccountProtected"),
    ("DELETE", "/v1/accounts/none", None, 404, "AccountMissing"),
    ("DELETE", "/v1/accounts/none", {}, 400, "InvalidBody"),
    ("GET", "/v1/accounts/%2e%2e%00%ff", None, 404, "AccountMissing"),
    ("PUT", "/v1/accounts/root/password", {"password": "short"}, 400, "InvalidValue"),
    ("PUT", "/v1/accounts/root/password", None, 415, "UnsupportedMediaType"),
    ("POST", "/v1/accounts/root/credentials", {"lifetime_ms": 0}, 400, "InvalidBody"),
    ("POST", "/v1/accounts/root/credentials", {"lifetime_ms": 2**70}, 400, "InvalidBody"),
    ("PATCH", f"/v1/accounts/root/credentials/{KEY.key_id}", {}, 409, "AccountProtected"),
    ("POST", "/v1/accounts/root/credentials/A/rotations", {}, 404, "CredentialMissing"),
    (
        "POST",
        "/v1/accounts/root/credentials/A/rotations",
        {"grace_ms": -1},
        400,
        "InvalidValue",
    ),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), REFUSED)
async def test_wrong_change_is_refused_and_not_recorded(
    tmp_path: Path, method: str, path: str, body: Any, status: int, code: str
) -> None:
    world = World(tmp_path, root=True)
    before = await world.get("/v1/accounts")
    assert await world.refused(method, path, body=body) == (status, code)
    assert await world.get("/v1/accounts") == before
    assert await world.recorded() == []


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 60_000, b"\xff", b'{"name":"\xff"}'])
async def test_body_that_is_not_json_is_refused(tmp_path: Path, data: bytes) -> None:
    world = World(tmp_path)
    headers = {"host": "h", "content-type": "application/json; charset=utf-8"}
    response = await world.raw("POST", "/v1/accounts", headers, data)
    assert (response.status, json.loads(response.body)["error"]["code"]) == (
        400,
        "InvalidBody",
    )


def test_no_secret_field_of_a_body_is_recorded() -> None:
    secrets = {"password", "secret", "token"}
    found = {
        route.name: secrets.intersection(route.body.__struct_fields__)
        for route in ROUTES
        if route.body is not None
    }
    assert found["set password"] == found["log in"] == {"password"}
    assert all(
        names <= set(route.unrecorded) for route in ROUTES if (names := found.get(route.name))
    )


def test_every_body_refuses_unknown_fields() -> None:
    bodies = [route.body for route in ROUTES if route.body is not None]
    assert len(bodies) == 19
    assert all(body.__struct_config__.forbid_unknown_fields for body in bodies)
    assert all(body.__struct_config__.frozen for body in bodies)


async def test_quotas_changed_at_the_same_time_are_both_kept(tmp_path: Path) -> None:
    world = World(tmp_path)
    path = await _added(world)
    names = ("queues_max", "bytes_max", "requests_per_second_max")
    await asyncio.gather(*(world.done("PATCH", path, body={"quotas": {name: 7}}) for name in names))
    assert (await world.get(path))["quotas"] == dict.fromkeys(names, 7)


async def test_role_given_over_the_api_opens_routes(signed: World) -> None:
    path, made = await _member(signed)
    key = AccessKey(made["key_id"], made["secret"], made["account"])
    assert (await signed.ask("GET", "/v1/counters", key=key))[0] == 403
    await signed.done("PATCH", path, key=KEY, body={"role": Role.VIEWER.value})
    assert (await signed.ask("GET", "/v1/counters", key=key))[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/accounts/root/credentials", {}),
        ("PATCH", f"/v1/accounts/root/credentials/{KEY.key_id}", {"enabled": True}),
        ("POST", f"/v1/accounts/root/credentials/{KEY.key_id}/rotations", {}),
        ("PUT", "/v1/accounts/root/password", {"password": "correct horse"}),
    ],
)
async def test_no_credential_is_made_while_signatures_are_not_checked(
    tmp_path: Path, method: str, path: str, body: dict[str, Any]
) -> None:
    world = World(tmp_path)
    assert await world.refused(method, path, body=body) == (403, "CredentialsProtected")
    shown = await world.get("/v1/accounts/root")
    assert (len(shown["credentials"]), shown["has_password"]) == (1, False)
