"""Roles and routes of the admin API: every route with every role."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from dovemq.core.accounts import Role
from dovemq.core.queue import QueueKey
from dovemq.server.admin_context import AdminRoute
from dovemq.server.admin_routes import ROUTES
from tests.server.admin_world import KEY, World

ROLES = [None, *Role]
LEAST = {
    "about": None,
    "live": None,
    "ready": None,
    "health": Role.VIEWER,
    "show metrics": Role.VIEWER,
    "list queues": Role.VIEWER,
    "show queue": Role.VIEWER,
    "explain queue": Role.VIEWER,
    "peek messages": Role.OPERATOR,
    "purge queue": Role.ADMIN,
    "show openapi": None,
    "list attributes": None,
    "show overview": Role.VIEWER,
    "list rows": Role.VIEWER,
    "show history": Role.VIEWER,
    "list clients": Role.VIEWER,
    "list decisions": Role.VIEWER,
    "create queue": Role.ADMIN,
    "change queue": Role.ADMIN,
    "remove queue": Role.ADMIN,
    "send messages": Role.OPERATOR,
    "show message": Role.OPERATOR,
    "delete message": Role.OPERATOR,
    "release message": Role.OPERATOR,
    "move message": Role.OPERATOR,
    "list moves": Role.VIEWER,
    "start move": Role.OPERATOR,
    "cancel move": Role.OPERATOR,
    "show usage": Role.ADMIN,
    "list workflows": Role.VIEWER,
    "show workflow": Role.VIEWER,
    "put workflow": Role.ADMIN,
    "submit job": Role.OPERATOR,
    "list jobs": Role.VIEWER,
    "show job": Role.VIEWER,
    "show result": Role.VIEWER,
    "show timeline": Role.VIEWER,
    "cancel job": Role.OPERATOR,
    "retry job": Role.OPERATOR,
    "start task": Role.OPERATOR,
    "end task": Role.OPERATOR,
    "fail task": Role.OPERATOR,
    "predict queue": Role.VIEWER,
    "show consistency": Role.VIEWER,
    "show consistency history": Role.VIEWER,
    "publish sizing": Role.OPERATOR,
    "list sizings": Role.VIEWER,
    "show sizing": Role.VIEWER,
    "show activity": Role.VIEWER,
    "show trace": Role.VIEWER,
    "publish consistency": Role.OPERATOR,
    "show counters": Role.VIEWER,
    "show cluster": Role.VIEWER,
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
"""The least role that each route needs, for the queues of others."""
WORKFLOWS = {name for name in LEAST if name.endswith(("workflow", "workflows", "job", "jobs"))} | {
    "show result",
    "show timeline",
    "publish sizing",
    "list sizings",
    "show sizing",
    "show activity",
    "start task",
    "end task",
    "fail task",
}
"""Routes that work on the account of the parameter `account`, which is the caller by itself."""
OWN = {
    "list queues",
    "show queue",
    "explain queue",
    "show overview",
    "list rows",
    "show history",
    "list clients",
    "create queue",
    "change queue",
    "remove queue",
    "peek messages",
    "send messages",
    "show message",
    "delete message",
    "release message",
    "move message",
    "purge queue",
    "list moves",
    "start move",
    "cancel move",
    "show usage",
    "predict queue",
    "show consistency",
    "show consistency history",
    "publish consistency",
}
"""The routes that an account may call without a role for its own queues."""
LISTS = {"list queues", "show overview", "list rows", *WORKFLOWS}
"""They cover only one's own queues for an account without a role."""


def _path(route: AdminRoute) -> str:
    return re.sub(r"\{\w+\}", "none", route.path)


def _allowed(role: Role | None, route: AdminRoute) -> bool:
    least = LEAST[route.name]
    return least is None or route.name in LISTS or (role is not None and role.covers(least))


def test_table_of_this_test_knows_every_route() -> None:
    assert {route.name: route.role for route in ROUTES} == LEAST
    assert {route.name for route in ROUTES if route.own} == OWN | WORKFLOWS


@pytest.mark.parametrize("name", sorted(OWN))
async def test_account_needs_no_role_for_its_own_queues(tmp_path: Path, name: str) -> None:
    world = World(tmp_path, signed=True)
    key = await world.member("somebody", None)
    route = next(route for route in ROUTES if route.name == name)
    path = route.path.format(account=key.account, name="none", place="1", move_id="m")
    assert (await world.call(route.method, path, key=key)).status != 403


async def test_account_sees_and_serves_its_own_queues_and_no_others(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    key = await world.member("somebody", None)
    queue = await world.service.queues.create(QueueKey(key.account, "mine"), {}, {})
    await world.send(queue, "a", "b")
    await world.queue("of-root")
    listed = (await world.get("/v1/queues", key=key))["queues"]
    assert [(each["account"], each["name"]) for each in listed] == [(key.account, "mine")]
    place = f"/v1/queues/{key.account}/mine"
    assert (await world.get(place, key=key))["counts"]["visible"] == 2
    peeked = (await world.get(f"{place}/messages", key=key))["messages"]
    assert [message["body"] for message in peeked] == ["a", "b"]
    assert await world.done("DELETE", f"{place}/messages", key=key) == {
        "purged": f"{key.account}/mine"
    }
    assert (await world.get(place, key=key))["counts"]["visible"] == 0
    for method, path in (("GET", "of-root"), ("GET", "none"), ("DELETE", "of-root/messages")):
        target = f"/v1/queues/{KEY.account}/{path}"
        assert await world.refused(method, target, key=key) == (403, "AccessDenied")


async def test_own_queues_are_listed_page_by_page(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    key = await world.member("somebody", None)
    for name in "abc":
        await world.service.queues.create(QueueKey(key.account, name), {}, {})
    first = await world.get("/v1/queues", "limit=2", key=key)
    second = await world.get("/v1/queues", f"limit=2&after={quote(first['next'])}", key=key)
    names = [[queue["name"] for queue in page["queues"]] for page in (first, second)]
    assert names == [["a", "b"], ["c"]]


async def test_root_helps_any_account(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    key = await world.member("somebody", None)
    queue = await world.service.queues.create(QueueKey(key.account, "mine"), {}, {})
    await world.send(queue, "a")
    place = f"/v1/queues/{key.account}/mine"
    assert (await world.get(f"{place}/messages", key=KEY))["messages"][0]["body"] == "a"
    await world.done("DELETE", f"{place}/messages", key=KEY)
    assert (await world.get(place, key=key))["counts"]["visible"] == 0


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


def test_every_route_that_changes_something_is_recorded() -> None:
    looks = {route.name for route in ROUTES if route.method != "GET" and not route.audited}
    words_of_programs = {"submit job", "start task", "end task", "fail task", "publish sizing"}
    assert looks == {"verify store", "publish consistency"} | words_of_programs
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
