"""Who may use which route of the admin API: every route, every role."""

import re
from pathlib import Path

import pytest

from dovemq.core.accounts import Role
from dovemq.server.admin_desk import AdminRoute
from dovemq.server.admin_routes import ROUTES
from tests.server.admin_world import KEY, World

ROLES = [None, *Role]
LEAST = {
    "live": None,
    "ready": None,
    "health": Role.VIEWER,
    "show metrics": Role.VIEWER,
    "list queues": Role.VIEWER,
    "show queue": Role.VIEWER,
    "peek messages": Role.OPERATOR,
    "show consistency": Role.VIEWER,
    "publish consistency": Role.OPERATOR,
    "show counters": Role.VIEWER,
    "make backup": Role.ADMIN,
    "show damage": Role.VIEWER,
    "verify store": Role.OPERATOR,
    "list accounts": Role.ADMIN,
    "add account": Role.ADMIN,
    "show account": Role.ADMIN,
    "change account": Role.ADMIN,
    "remove account": Role.ADMIN,
    "set password": Role.ADMIN,
    "judge": Role.ADMIN,
    "add credential": Role.ADMIN,
    "change credential": Role.ADMIN,
    "remove credential": Role.ADMIN,
    "rotate credential": Role.ADMIN,
    "log in": None,
    "show session": None,
    "log out": None,
    "list audit": Role.ADMIN,
}
"""The least role that each route asks for."""


def _path(route: AdminRoute) -> str:
    return re.sub(r"\{\w+\}", "none", route.path)


def _allowed(role: Role | None, route: AdminRoute) -> bool:
    least = LEAST[route.name]
    return least is None or (role is not None and role.covers(least))


def test_table_of_this_test_knows_every_route() -> None:
    assert {route.name: route.role for route in ROUTES} == LEAST


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.value if role else "none")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
async def test_route_is_open_to_its_role_and_those_above(
    tmp_path: Path, route: AdminRoute, role: Role | None
) -> None:
    world = World(tmp_path, signed=True, durable=False)
    key = await world.member("somebody", role)
    response = await world.call(route.method, _path(route), key=key)
    assert (response.status != 403) == _allowed(role, route)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
async def test_root_key_opens_every_route(tmp_path: Path, route: AdminRoute) -> None:
    world = World(tmp_path, signed=True, durable=False)
    assert (await world.call(route.method, _path(route), key=KEY)).status != 403


@pytest.mark.parametrize(
    ("role", "has"), [(None, "has no role"), (Role.VIEWER, "has the role viewer")]
)
async def test_denial_says_which_role_is_needed(
    tmp_path: Path, role: Role | None, has: str
) -> None:
    world = World(tmp_path, signed=True)
    key = await world.member("somebody", role)
    status, document = await world.ask("GET", "/v1/accounts", key=key)
    error = document["error"]
    assert (status, error["code"]) == (403, "AccessDenied")
    assert error["message"] == f"This needs the role admin; account {key.account} {has}."


async def test_denied_change_is_recorded(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    role = Role.VIEWER
    key = await world.member("somebody", role)
    closed = [route for route in ROUTES if route.audited and not _allowed(role, route)]
    for route in closed:
        await world.call(route.method, _path(route), key=key)
    entries = await world.recorded()
    assert [entry["action"] for entry in entries] == [route.name for route in closed]
    assert {entry["outcome"] for entry in entries} == {"AccessDenied"}
    assert {(entry["account"], entry["key_id"]) for entry in entries} == {(key.account, key.key_id)}


def test_every_route_that_is_no_look_is_recorded() -> None:
    looks = {route.name for route in ROUTES if route.method != "GET" and not route.audited}
    assert looks == {"verify store", "publish consistency"}
    assert not [route.name for route in ROUTES if route.method == "GET" and route.audited]


async def test_role_that_is_taken_away_is_gone_at_once(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    key = await world.member("somebody", Role.ADMIN)
    assert (await world.ask("GET", "/v1/accounts", key=key))[0] == 200
    await world.accounts.change(key.account, role=None)
    assert (await world.ask("GET", "/v1/accounts", key=key))[0] == 403


async def test_everybody_is_root_where_signatures_are_not_checked(tmp_path: Path) -> None:
    world = World(tmp_path)
    shown = await world.get("/v1/sessions/current")
    assert shown == {"account": KEY.account, "name": "root", "role": "admin"}
