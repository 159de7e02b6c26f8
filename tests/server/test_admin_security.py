"""Every route of the admin API with nobody, with a stranger, and with requests that are forged."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from dovemq.core.accounts import Role
from dovemq.core.queue import QueueKey
from dovemq.http import HttpRequest, HttpResponse
from dovemq.server.admin_context import AdminRoute
from dovemq.server.admin_routes import ROUTES
from dovemq.server.answers import StreamedResponse
from tests.server.admin_world import KEY, PEER, World
from tests.server.test_admin_roles import LISTS, OWN, WORKFLOWS

PASSWORD = "correct horse battery"
HOST = "dove.example:9325"
CHANGES = [route for route in ROUTES if route.method != "GET" and route.signed]
FORM = "application/x-www-form-urlencoded"


def _name(route: AdminRoute) -> str:
    return route.name


class Town:
    """A world in which root has a queue with a message, and a workflow with a job."""

    def __init__(self, world: World, job: str, place: int) -> None:
        self.world = world
        self._job = job
        self._place = place

    @classmethod
    async def build(cls, scratch: Path) -> "Town":
        world = World(scratch, signed=True, durable=False)
        queue = await world.queue("orders")
        await world.send(queue, "secret")
        place = (await world.get(f"/v1/queues/{KEY.account}/orders/messages", key=KEY))["messages"]
        await world.done("PUT", "/v1/workflows/sales", body={"path": ["A"]}, key=KEY)
        job = await world.done("POST", "/v1/workflows/sales/jobs", body={"input": 1}, key=KEY)
        return cls(world, job["job_id"], place[0]["sequence"])

    def path(self, route: AdminRoute) -> str:
        """The path of the route for what root has."""
        return route.path.format(
            account=KEY.account,
            name="orders",
            place=self._place,
            move_id="m",
            key_id=KEY.key_id,
            type="sales",
            job=self._job,
            task="A",
        )

    async def state(self) -> tuple[Any, ...]:
        """All that a forged or refused change could have changed."""
        service = self.world.service
        queues = [str(queue.key) async for queue in service.queues.each()]
        counts = await service.queues.counts(await service.queues.find(_orders()))
        accounts = [(each.number, each.credentials) for each in service.accounts.all()]
        job = await service.workflows.jobs.job(KEY.account, self._job)
        decisions = await service.workflows.sizing.page(KEY.account, 10)
        return queues, counts, accounts, job, decisions


def _orders() -> QueueKey:
    return QueueKey(KEY.account, "orders")


@pytest.mark.parametrize("route", ROUTES, ids=_name)
async def test_nobody_gets_what_is_closed(tmp_path: Path, route: AdminRoute) -> None:
    town = await Town.build(tmp_path)
    before = await town.state()
    response = await town.world.call(route.method, town.path(route))
    assert (response.status == 403) == route.signed
    assert await town.state() == before


@pytest.mark.parametrize("role", [None, Role.VIEWER], ids=["none", "viewer"])
@pytest.mark.parametrize(
    "route",
    [each for each in ROUTES if each.role and each.name not in LISTS - WORKFLOWS],
    ids=_name,
)
async def test_account_reaches_nothing_of_others_beyond_its_role(
    tmp_path: Path, route: AdminRoute, role: Role | None
) -> None:
    """With the right bodies nothing changes, and nothing is read, of what is there."""
    town = await Town.build(tmp_path)
    key = await town.world.member("stranger", role)
    before = await town.state()
    query = f"account={KEY.account}" if route.name in WORKFLOWS else ""
    body = None if route.body is None else _body(route)
    response = await town.world.call(route.method, town.path(route), query, key=key, body=body)
    allowed = role is not None and route.role is not None and role.covers(route.role)
    assert (response.status == 403) == (not allowed), response
    if not allowed:
        assert not isinstance(response, StreamedResponse)
        assert b"secret" not in response.body
    assert await town.state() == before


@pytest.mark.parametrize("role", list(Role), ids=lambda role: role.value)
@pytest.mark.parametrize("name", sorted(OWN | WORKFLOWS))
async def test_role_serves_the_things_of_others(tmp_path: Path, name: str, role: Role) -> None:
    town = await Town.build(tmp_path)
    key = await town.world.member("helper", role)
    route = next(each for each in ROUTES if each.name == name)
    query = f"account={KEY.account}" if name in WORKFLOWS else ""
    body = None if route.body is None else _body(route)
    response = await town.world.call(route.method, town.path(route), query, key=key, body=body)
    assert route.role is not None
    assert (response.status != 403) == role.covers(route.role)


class Forger:
    """A page of another site, in the browser of an admin who is logged in."""

    def __init__(self, town: Town, cookie: str, csrf: str) -> None:
        self.town = town
        self._cookie = cookie
        self.csrf = csrf

    @classmethod
    async def build(cls, scratch: Path) -> "Forger":
        town = await Town.build(scratch)
        accounts = town.world.accounts
        number = (await accounts.add("ann", role=Role.ADMIN)).number
        await accounts.set_password(number, PASSWORD)
        login = {"account": "ann", "password": PASSWORD, "cookie": True}
        headers = {"host": HOST, "content-type": "application/json"}
        response = await town.world.raw("POST", "/v1/sessions", headers, json.dumps(login).encode())
        cookie = dict(response.headers)["Set-Cookie"].partition(";")[0]
        return cls(town, cookie, json.loads(response.body)["csrf"])

    async def ask(self, route: AdminRoute, content: bytes, **headers: str) -> int:
        sent = {"host": HOST, "cookie": self._cookie}
        sent |= {name.replace("_", "-"): text for name, text in headers.items()}
        query = f"account={KEY.account}" if route.name in WORKFLOWS else ""
        request = HttpRequest(route.method, self.town.path(route), query, sent, content, PEER)
        response = await self.town.world.api.handle(request)
        assert isinstance(response, HttpResponse)
        return int(response.status)


@pytest.mark.parametrize("route", CHANGES, ids=_name)
async def test_forged_change_fails(tmp_path: Path, route: AdminRoute) -> None:
    forger = await Forger.build(tmp_path)
    before = await forger.town.state()
    content = b"" if route.body is None else json.dumps(_body(route)).encode()
    kind = {} if route.body is None else {"content_type": "application/json"}
    right = {"x_dovemq_csrf": forger.csrf}
    for headers in (
        kind,
        {**kind, "x_dovemq_csrf": "0" * len(forger.csrf)},
        {**kind, **right, "origin": "http://evil.example"},
        {**kind, **right, "sec_fetch_site": "cross-site"},
        {"content_type": FORM},
        {"content_type": FORM, "origin": "null"},
    ):
        assert await forger.ask(route, content, **headers) == 403, headers
    if route.body is not None:
        assert await forger.ask(route, content, content_type=FORM, **right) == 415
    assert await forger.town.state() == before


async def test_form_of_another_site_cannot_log_in(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    content = f"account=root&password={quote(PASSWORD)}&cookie=true".encode()
    headers = {"host": HOST, "content-type": FORM, "origin": "http://evil.example"}
    assert (await world.raw("POST", "/v1/sessions", headers, content)).status == 415


def _body(route: AdminRoute) -> dict[str, Any]:
    """A body that the route accepts."""
    counts = dict.fromkeys(
        ("from_ms", "to_ms", "messages", "received", "duplicates", "lost", "open", "ordered",
         "out_of_order", "displacement"), 0,
    )  # fmt: skip
    sizing = {"at_ms": 1, "cause": "slow", "reason": "", "allocator": "local", "span_ms": 1}
    bodies: dict[str, dict[str, Any]] = {
        "send messages": {"messages": [{"body": "forged"}]},
        "move message": {"target": f"{KEY.account}/other"},
        "publish consistency": {"source": "x", **counts},
        "publish sizing": {**sizing, "topics": {}, "types": {}},
        "put workflow": {"path": ["B"]},
        "start task": {"attempt": 1},
        "end task": {"attempt": 1},
        "fail task": {"attempt": 1, "error": "x"},
        "add account": {"name": "forged"},
        "set password": {"password": "a password of others"},
        "change queue": {"attributes": {"VisibilityTimeout": "7"}},
    }
    return bodies.get(route.name, {})
