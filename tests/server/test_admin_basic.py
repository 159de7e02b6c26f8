"""HTTP Basic on the admin API, and the text that says what its port is."""

import base64
import re
from pathlib import Path

import pytest

from dovemq.core.access import AccessKey
from dovemq.http import HttpResponse
from dovemq.server.admin_context import AdminRoute
from dovemq.server.admin_routes import ROUTES
from tests.server.admin_world import KEY, World


def basic(key: AccessKey, **more: str) -> dict[str, str]:
    text = base64.b64encode(f"{key.key_id}:{key.secret}".encode()).decode()
    return {"host": "h", "authorization": f"Basic {text}", **more}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
async def test_key_is_accepted_by_basic_on_every_route(tmp_path: Path, route: AdminRoute) -> None:
    world = World(tmp_path, signed=True, durable=False)
    path = re.sub(r"\{\w+\}", "none", route.path)
    assert (await world.call(route.method, path, headers=basic(KEY))).status != 403


async def test_wrong_secret_is_refused(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    wrong = AccessKey(KEY.key_id, "wrong", KEY.account)
    assert await world.refused("GET", "/v1/queues", headers=basic(wrong)) == (
        403,
        "AccessKeyUnknown",
    )


@pytest.mark.parametrize(
    "more", [{"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}]
)
async def test_key_that_a_browser_adds_for_another_site_is_refused(
    tmp_path: Path, more: dict[str, str]
) -> None:
    world = World(tmp_path, signed=True)
    status, _ = await world.refused("POST", "/v1/backups", headers=basic(KEY, **more))
    assert status == 403


async def test_port_says_what_it_is_to_everybody(tmp_path: Path) -> None:
    response = await World(tmp_path, signed=True).call("GET", "/")
    assert isinstance(response, HttpResponse)
    assert (response.status, response.content_type) == (200, "text/plain")
    assert b"admin API of DoveMQ" in response.body
    assert b"curl --user" in response.body
