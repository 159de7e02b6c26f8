"""Answers of the admin API over the memory store, with a fake of a durable store's care."""

import re
from pathlib import Path

import pytest

from dovemq.core.message import Attribute
from dovemq.core.queue import QueueKey, Redrive
from dovemq.server.admin import SERVICE
from dovemq.server.admin_messages import PEEK_BYTES_MAX
from dovemq.server.admin_routes import ROUTES
from dovemq.sqs.signature import Signer
from dovemq.stores.owned.statistics import StoreState
from tests.server.admin_world import ACCOUNT, KEY, World


async def test_health_shows_liveness_readiness_and_the_store(tmp_path: Path) -> None:
    world = World(tmp_path)
    expected = {"live": True, "ready": True, "reason": None, "store": "ok", "damage": 0}
    assert await world.get("/v1/health") == expected
    assert await world.get("/health/live") == {"live": True}
    assert await world.get("/health/ready") == {"ready": True}


@pytest.mark.parametrize("state", [StoreState.FULL, StoreState.FAILED])
async def test_store_in_trouble_is_live_but_not_ready(tmp_path: Path, state: StoreState) -> None:
    world = World(tmp_path)
    world.care.statistics.state = state
    assert (await world.get("/health/live"))["live"]
    status, document = await world.ask("GET", "/health/ready")
    assert (status, document["error"]["code"]) == (503, "NotReady")
    health = await world.get("/v1/health")
    assert health == {
        "live": True,
        "ready": False,
        "reason": f"The store is {state.value}.",
        "store": state.value,
        "damage": 0,
    }


async def test_server_that_leaves_is_not_ready_while_it_serves(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.leaving = True
    assert (await world.get("/health/live"))["live"]
    assert await world.refused("GET", "/health/ready") == (503, "NotReady")
    assert (await world.get("/v1/health"))["reason"] == "The service is draining."


async def test_queue_is_shown_with_settings_and_counts(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.queue("dead")
    redrive = Redrive(QueueKey(ACCOUNT, "dead"), 3)
    queue = await world.queue("jobs", lease_ms=5_000, redrive=redrive)
    await world.send(queue, "a", "b")
    await world.send(queue, "c", delay_ms=1_000)
    await world.service.messages.receive(queue, 1)
    document = await world.get(f"/v1/queues/{ACCOUNT}/jobs")
    assert (document["account"], document["name"]) == (ACCOUNT, "jobs")
    assert document["tags"] == {"team": "a"}
    assert document["settings"]["lease_ms"] == 5_000
    assert document["settings"]["redrive"] == {
        "target": f"{ACCOUNT}/dead",
        "receives_max": 3,
    }
    now_ms = world.clock.now_ms()
    assert document["counts"] == {
        "visible": 1,
        "leased": 1,
        "delayed": 1,
        "oldest_ms": now_ms,
        "bytes": 576,
    }


async def test_queues_are_listed_page_by_page(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("b-2", "a-1", "b-1", "b-3"):
        await world.queue(name)
    first = await world.get("/v1/queues", "prefix=b-&limit=2")
    assert [queue["name"] for queue in first["queues"]] == ["b-1", "b-2"]
    after = first["next"].replace("/", "%2F")
    second = await world.get("/v1/queues", f"prefix=b-&limit=2&after={after}")
    assert [queue["name"] for queue in second["queues"]] == ["b-3"]
    assert second["next"] is None


async def test_peek_shows_messages_and_touches_none(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("jobs.fifo")
    attributes = {"n": Attribute("Number", "1"), "b": Attribute("Binary", b"\x00\xff")}
    await world.send(
        queue, "hidden", attributes=attributes, group="g", deduplication_id="d", xray_header="t"
    )
    await world.service.messages.receive(queue, 1, 30_000)
    await world.send(queue, "next", group="h", deduplication_id="e")
    for _ in range(2):
        page = await world.get(f"/v1/queues/{ACCOUNT}/jobs.fifo/messages")
        hidden, following = page["messages"]
        now_ms = world.clock.now_ms()
        assert hidden == {
            "message_id": "m-hidden",
            "sequence": hidden["sequence"],
            "partition": 0,
            "visibility": "leased",
            "visible_ms": now_ms + 30_000,
            "sent_ms": now_ms,
            "first_received_ms": now_ms,
            "receive_count": 1,
            "sender": ACCOUNT,
            "group": "g",
            "deduplication_id": "d",
            "source": None,
            "trace": "t",
            "body": "hidden",
            "attributes": {
                "n": {"type": "Number", "value": "1"},
                "b": {"type": "Binary", "base64": "AP8="},
            },
        }
        assert (following["visibility"], following["receive_count"]) == ("visible", 0)
        assert following["first_received_ms"] is None
        assert page["next"] is None


async def test_peek_goes_on_after_the_last_message_of_a_page(tmp_path: Path) -> None:
    world = World(tmp_path)
    queue = await world.queue("jobs")
    await world.send(queue, *(f"{number}" for number in range(50)))
    path = f"/v1/queues/{ACCOUNT}/jobs/messages"
    first = await world.get(path, "limit=30")
    second = await world.get(path, f"limit=30&after={first['next']}")
    bodies = [message["body"] for message in first["messages"] + second["messages"]]
    assert bodies == [f"{number}" for number in range(50)]
    assert (len(first["messages"]), second["next"]) == (30, None)


@pytest.mark.parametrize("place", ["body", "attribute"])
async def test_page_of_large_messages_ends_early(tmp_path: Path, place: str) -> None:
    world = World(tmp_path)
    queue = await world.queue("jobs")
    large = "x" * (1 << 20)
    body, attribute = (large, "x") if place == "body" else ("x", large)
    bodies = (f"{number}{body}"[: 1 << 20] for number in range(40))
    await world.send(queue, *bodies, attributes={"a": Attribute("String", attribute)})
    page = await world.get(f"/v1/queues/{ACCOUNT}/jobs/messages", "limit=1000")
    assert PEEK_BYTES_MAX <= len(page["messages"]) << 20 < 3 * PEEK_BYTES_MAX
    assert page["next"] == page["messages"][-1]["sequence"]


async def test_counters_sum_all_queues(tmp_path: Path) -> None:
    world = World(tmp_path)
    first, second = await world.queue("a"), await world.queue("b")
    start_ms = world.clock.now_ms()
    await world.send(first, "a", "b")
    world.clock.advance(10)
    await world.send(second, "c")
    await world.service.messages.receive(second, 1)
    world.care.statistics.commits = 5
    document = await world.get("/v1/counters")
    assert document["queues"] == 2
    assert document["messages"] == {
        "visible": 2,
        "leased": 1,
        "delayed": 0,
        "oldest_ms": start_ms,
        "bytes": 576,
    }
    assert (document["connections"], document["requests"]) == (7, 9)
    assert document["polls_parked"] == 0
    assert document["store"]["commits"] == 5


REFUSED = [
    ("POST", "/", "", 405, "MethodNotAllowed"),
    ("GET", "/v1/queues/", "", 404, "NotFound"),
    ("GET", "/v2/queues", "", 404, "NotFound"),
    ("GET", f"/v1/queues/{ACCOUNT}/none", "", 404, "QueueMissing"),
    ("GET", f"/v1/queues/{ACCOUNT}/none/messages", "", 404, "QueueMissing"),
    ("GET", f"/v1/queues/{ACCOUNT}/%2e%2e%2f%00%ff", "", 404, "QueueMissing"),
    ("POST", "/v1/queues", "", 405, "MethodNotAllowed"),
    ("GET", "/v1/backups", "", 405, "MethodNotAllowed"),
    ("GET", "/v1/queues", "limit=0", 400, "InvalidValue"),
    ("GET", "/v1/queues", "limit=1001", 400, "InvalidValue"),
    ("GET", "/v1/queues", "limit=x", 400, "InvalidValue"),
    ("GET", "/v1/queues", "limit=" + "9" * 5_000, 400, "InvalidValue"),
    ("GET", "/v1/queues", "limits=1", 400, "UnknownParameter"),
    ("GET", "/v1/queues", "&".join(f"{n}=1" for n in range(99)), 400, "InvalidQuery"),
    ("GET", f"/v1/queues/{ACCOUNT}/jobs/messages", "after=-1", 400, "InvalidValue"),
]


@pytest.mark.parametrize(("method", "path", "query", "status", "code"), REFUSED)
async def test_wrong_request_is_refused_with_a_code(
    tmp_path: Path, method: str, path: str, query: str, status: int, code: str
) -> None:
    world = World(tmp_path)
    found, document = await world.ask(method, path, query)
    assert (found, document["error"]["code"]) == (status, code)
    assert document["error"]["message"]


async def test_unexpected_failure_reveals_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path)
    world.care.failure = ValueError("a secret")
    status, document = await world.ask("POST", "/v1/backups")
    assert (status, document["error"]["code"]) == (500, "InternalFailure")
    assert "secret" not in document["error"]["message"]
    assert "ValueError" in caplog.text
    assert "a secret" not in caplog.text


async def test_nothing_but_plain_health_and_logins_is_answered_unsigned(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    for route in ROUTES:
        path = re.sub(r"\{\w+\}", "none", route.path)
        status = (await world.call(route.method, path)).status
        assert (status == 403) == route.signed, route.path
    assert (await world.call("GET", "/v1/no-such-path")).status == 403
    assert [route.path for route in ROUTES if not route.signed] == [
        "/",
        "/health/live",
        "/health/ready",
        "/v1/sessions",
    ]


@pytest.mark.parametrize(("service", "status"), [(SERVICE, 200), ("sqs", 403)])
async def test_signature_must_be_for_the_admin_api(
    tmp_path: Path, service: str, status: int
) -> None:
    world = World(tmp_path, signed=True)
    signer = Signer(KEY, region="us-east-1", service=service)
    now_ms = world.clock.now_ms()
    headers = signer.sign("GET", "/v1/queues", "limit=5", {"host": "h"}, b"", now_ms)
    response = await world.call("GET", "/v1/queues", "limit=5", headers)
    assert response.status == status


async def test_head_is_answered_like_get(tmp_path: Path) -> None:
    assert (await World(tmp_path).call("HEAD", "/health/live")).status == 200


def test_every_route_is_described(tmp_path: Path) -> None:
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert all(route.summary.endswith(".") for route in ROUTES)
