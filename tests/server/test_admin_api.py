"""What the admin API answers, over the memory store and a fake of what a durable one offers."""

import asyncio
import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dovemq.core.access import AccessKey
from dovemq.core.commands import Draft
from dovemq.core.errors import StoreFailed
from dovemq.core.message import Attribute
from dovemq.core.queue import Queue, QueueKey, Redrive
from dovemq.server.admin import SERVICE, AdminApi
from dovemq.server.admin_routes import PEEK_BYTES_MAX, ROUTES, Desk
from dovemq.server.traffic import StreamedResponse
from dovemq.service import Service, build_service
from dovemq.sqs.http import HttpRequest, HttpResponse
from dovemq.sqs.signature import Signer
from dovemq.stores.memory import MemoryStore
from dovemq.stores.sqlite.statistics import Statistics, StoreState
from dovemq.testing.clock import ManualClock
from tests.server.conftest import Run

ACCOUNT = "000000000000"
KEY = AccessKey("AKIAAAAAAAAAAAAAAAAA", "secret", ACCOUNT)


class OneKey:
    def find(self, key_id: str) -> AccessKey | None:
        return KEY if key_id == KEY.key_id else None


class Verified:
    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = findings


class FakeCare:
    def __init__(self) -> None:
        self.statistics = Statistics()
        self.copy = b"a whole database" * 50_000
        self.findings: list[str] = []
        self.go = asyncio.Event()
        self.go.set()
        self.failure: Exception | None = None

    async def backup(self, target: Path) -> None:
        await self.go.wait()
        if self.failure:
            raise self.failure
        target.write_bytes(self.copy)

    async def verify(self) -> Verified:
        await self.go.wait()
        return Verified(self.findings)


class World:
    def __init__(self, scratch: Path, *, durable: bool = True, signed: bool = False) -> None:
        self.clock = ManualClock()
        self.scratch = scratch
        ids = itertools.count()
        self.service: Service = build_service(
            MemoryStore(random.Random(1), b"key"), self.clock, lambda: f"id-{next(ids)}"
        )
        self.care = FakeCare()
        desk = Desk(
            self.service,
            lambda: {"connections": 7, "requests": 9},
            self.care if durable else None,
            scratch,
            lambda: f"request-{next(ids)}",
        )
        keyring = OneKey() if signed else None
        self.api = AdminApi(desk, keyring, "us-east-1", lambda: f"request-{next(ids)}")

    async def queue(self, name: str, **changes: Any) -> Queue:
        key = QueueKey(ACCOUNT, name)
        if key.fifo:
            changes["fifo"] = True
        return await self.service.queues.create(key, changes, {"team": "a"})

    async def send(self, queue: Queue, *bodies: str, **fields: Any) -> None:
        drafts = [Draft(f"m-{body[:9]}", body, ACCOUNT, **fields) for body in bodies]
        await self.service.messages.send(queue, drafts)

    async def call(
        self, method: str, path: str, query: str = "", headers: dict[str, str] | None = None
    ) -> HttpResponse | StreamedResponse:
        request = HttpRequest(method, path, query, headers or {"host": "h"}, b"", "peer")
        return await self.api.handle(request)

    async def ask(self, method: str, path: str, query: str = "") -> tuple[int, Any]:
        response = await self.call(method, path, query)
        assert isinstance(response, HttpResponse)
        assert response.content_type == "application/json"
        return response.status, json.loads(response.body)

    async def get(self, path: str, query: str = "") -> Any:
        status, document = await self.ask("GET", path, query)
        assert status == 200, document
        return document


def test_health_tells_life_readiness_and_the_store(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        expected = {"live": True, "ready": True, "store": "ok"}
        assert await world.get("/v1/health") == expected
        assert await world.get("/health/live") == {"live": True}
        assert await world.get("/health/ready") == {"ready": True}

    run(scenario())


@pytest.mark.parametrize("state", [StoreState.FULL, StoreState.FAILED])
def test_store_in_trouble_is_live_but_not_ready(
    run: Run, tmp_path: Path, state: StoreState
) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        world.care.statistics.state = state
        assert (await world.get("/health/live"))["live"]
        status, document = await world.ask("GET", "/health/ready")
        assert (status, document["error"]["code"]) == (503, "NotReady")
        health = await world.get("/v1/health")
        assert health == {"live": True, "ready": False, "store": state.value}

    run(scenario())


def test_queue_is_shown_with_settings_and_counts(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
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
        }

    run(scenario())


def test_queues_are_listed_page_by_page(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        for name in ("b-2", "a-1", "b-1", "b-3"):
            await world.queue(name)
        first = await world.get("/v1/queues", "prefix=b-&limit=2")
        assert [queue["name"] for queue in first["queues"]] == ["b-1", "b-2"]
        after = first["next"].replace("/", "%2F")
        second = await world.get("/v1/queues", f"prefix=b-&limit=2&after={after}")
        assert [queue["name"] for queue in second["queues"]] == ["b-3"]
        assert second["next"] is None

    run(scenario())


def test_peek_shows_messages_and_touches_none(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        queue = await world.queue("jobs.fifo")
        attributes = {"n": Attribute("Number", "1"), "b": Attribute("Binary", b"\x00\xff")}
        await world.send(
            queue, "hidden", attributes=attributes, group="g", deduplication_id="d", trace="t"
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

    run(scenario())


def test_peek_goes_on_after_the_last_message_of_a_page(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        queue = await world.queue("jobs")
        await world.send(queue, *(f"{number}" for number in range(50)))
        path = f"/v1/queues/{ACCOUNT}/jobs/messages"
        first = await world.get(path, "limit=30")
        second = await world.get(path, f"limit=30&after={first['next']}")
        bodies = [message["body"] for message in first["messages"] + second["messages"]]
        assert bodies == [f"{number}" for number in range(50)]
        assert (len(first["messages"]), second["next"]) == (30, None)

    run(scenario())


def test_page_of_large_messages_ends_early(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        queue = await world.queue("jobs")
        large = "x" * (1 << 20)
        await world.send(queue, *(f"{number}{large}"[: 1 << 20] for number in range(40)))
        page = await world.get(f"/v1/queues/{ACCOUNT}/jobs/messages", "limit=1000")
        assert PEEK_BYTES_MAX <= len(page["messages"]) << 20 < 3 * PEEK_BYTES_MAX
        assert page["next"] == page["messages"][-1]["sequence"]

    run(scenario())


def test_counters_sum_all_queues(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
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
        }
        assert (document["connections"], document["requests"]) == (7, 9)
        assert document["polls_parked"] == 0
        assert document["store"]["commits"] == 5

    run(scenario())


async def _read(response: HttpResponse | StreamedResponse) -> bytes:
    assert isinstance(response, StreamedResponse)
    body = b""
    while len(body) < response.length:
        body += await response.read()
    return body


def test_backup_is_streamed_and_leaves_no_file(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        (tmp_path / "http-backup-of-a-killed-server").touch()
        response = await world.call("POST", "/v1/backups")
        assert await _read(response) == world.care.copy
        assert not list(tmp_path.iterdir())
        status, document = await world.ask("POST", "/v1/backups")
        assert (status, document["error"]["code"]) == (409, "BackupRunning")
        assert isinstance(response, StreamedResponse)
        response.close()
        again = await world.call("POST", "/v1/backups")
        assert isinstance(again, StreamedResponse)
        again.close()

    run(scenario())


def test_backup_of_a_client_that_leaves_is_removed(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        world.care.go.clear()
        asking = asyncio.create_task(world.call("POST", "/v1/backups"))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        assert (await world.ask("POST", "/v1/backups"))[0] == 409
        world.care.go.set()
        for _ in range(5):
            await asyncio.sleep(0)
        assert not list(tmp_path.iterdir())
        response = await world.call("POST", "/v1/backups")
        assert isinstance(response, StreamedResponse)
        response.close()

    run(scenario())


def test_backup_that_fails_is_told_and_can_be_repeated(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        world.care.failure = StoreFailed("no space")
        status, document = await world.ask("POST", "/v1/backups")
        assert (status, document["error"]["code"]) == (503, "StoreFailed")
        world.care.failure = None
        response = await world.call("POST", "/v1/backups")
        assert isinstance(response, StreamedResponse)
        response.close()

    run(scenario())


def test_verification_answers_its_findings(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        assert await world.ask("POST", "/v1/verifications") == (200, {"findings": []})
        world.care.findings = ["message 7 of queue a/b is damaged"]
        assert await world.ask("POST", "/v1/verifications") == (
            200,
            {"findings": world.care.findings},
        )

    run(scenario())


@pytest.mark.parametrize("path", ["/v1/backups", "/v1/verifications"])
def test_store_that_keeps_nothing_offers_no_care(run: Run, tmp_path: Path, path: str) -> None:
    async def scenario() -> None:
        world = World(tmp_path, durable=False)
        status, document = await world.ask("POST", path)
        assert (status, document["error"]["code"]) == (501, "NotKept")
        assert (await world.get("/v1/counters"))["store"] is None

    run(scenario())


REFUSED = [
    ("GET", "/", "", 404, "NotFound"),
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
def test_wrong_request_is_refused_with_a_code(
    run: Run, tmp_path: Path, method: str, path: str, query: str, status: int, code: str
) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        found, document = await world.ask(method, path, query)
        assert (found, document["error"]["code"]) == (status, code)
        assert document["error"]["message"]

    run(scenario())


def test_unforeseen_failure_tells_nothing(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        world.care.failure = ValueError("a secret")
        status, document = await world.ask("POST", "/v1/backups")
        assert (status, document["error"]["code"]) == (500, "InternalFailure")
        assert "secret" not in document["error"]["message"]

    run(scenario())
    assert "ValueError" in caplog.text
    assert "a secret" not in caplog.text


def test_nothing_but_plain_health_is_answered_unsigned(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path, signed=True)
        for route in ROUTES:
            path = route.path.replace("{account}", ACCOUNT).replace("{name}", "none")
            response = await world.call(route.method, path)
            assert response.status == (403 if route.signed else 200), route.path
        assert (await world.call("GET", "/v1/no-such-path")).status == 403
        assert [route.path for route in ROUTES if not route.signed] == [
            "/health/live",
            "/health/ready",
        ]

    run(scenario())


@pytest.mark.parametrize(("service", "status"), [(SERVICE, 200), ("sqs", 403)])
def test_signature_must_be_for_the_admin_api(
    run: Run, tmp_path: Path, service: str, status: int
) -> None:
    async def scenario() -> None:
        world = World(tmp_path, signed=True)
        signer = Signer(KEY, region="us-east-1", service=service)
        now_ms = world.clock.now_ms()
        headers = signer.sign("GET", "/v1/queues", "limit=5", {"host": "h"}, b"", now_ms)
        response = await world.call("GET", "/v1/queues", "limit=5", headers)
        assert response.status == status

    run(scenario())


def test_head_is_answered_like_get(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        assert (await World(tmp_path).call("HEAD", "/health/live")).status == 200

    run(scenario())


def test_every_route_is_described(tmp_path: Path) -> None:
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert all(route.summary.endswith(".") for route in ROUTES)
