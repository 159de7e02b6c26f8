"""The operations that the audit log records, and the contents of its entries."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dovemq.core.errors import AccessDenied, AuditUnwritable, StoreFailed
from dovemq.http import HttpRequest
from dovemq.server.audit import MemoryAudit
from dovemq.sqs.operations import OPERATIONS
from dovemq.sqs.signature import Signer
from tests.wire.case import Case
from tests.wire.cases_success import SUCCESS_CASES
from tests.wire.speaking import JSON, PROTOCOLS, request_of
from tests.wire.world import ACCOUNT, KEY, REGION, World, filled, furnished

RECORDED = {
    "AddPermission",
    "CancelMessageMoveTask",
    "CreateQueue",
    "DeleteQueue",
    "PurgeQueue",
    "RemovePermission",
    "SetQueueAttributes",
    "StartMessageMoveTask",
    "TagQueue",
    "UntagQueue",
}
CASES = [
    pytest.param(case, protocol, id=f"{case.operation}-{case.title}-{protocol}")
    for case in SUCCESS_CASES
    for protocol in PROTOCOLS
]


def test_operations_that_change_queues_are_recorded() -> None:
    assert {name for name, operation in OPERATIONS.items() if operation.audited} == RECORDED


@pytest.mark.parametrize(("case", "protocol"), CASES)
async def test_change_is_recorded_and_nothing_else_is(case: Case, protocol: str) -> None:
    audit = MemoryAudit()
    world = World(audit=audit)
    scene = await furnished(world)
    for operation, params in case.before:
        await world.done(operation, **filled(params, scene))
    before = len(await audit.page(None, 1_000))
    await world.call(protocol, case.operation, filled(case.request, scene))
    await world.service.drain()
    entries = (await audit.page(None, 1_000))[before:]
    assert len(entries) == (case.operation in RECORDED)
    for entry in entries:
        assert (entry["action"], entry["outcome"]) == (case.operation, "ok")
        assert (entry["account"], entry["peer"]) == (ACCOUNT, "127.0.0.1:5000")
        assert entry["target"].startswith(f"{ACCOUNT}/")


async def test_entry_tells_the_parameters_and_the_key_that_signed() -> None:
    audit = MemoryAudit()
    world = World(signed=True, audit=audit)
    await _signed(world, "CreateQueue", {"QueueName": "jobs"})
    url = f"http://localhost:9324/{ACCOUNT}/jobs"
    changes = {"QueueUrl": url, "Attributes": {"DelaySeconds": "7"}}
    response = await _signed(world, "SetQueueAttributes", changes)
    entry = (await audit.page(None, 1))[0]
    assert entry == {
        "sequence": 2,
        "ts": entry["ts"],
        "request_id": dict(response.headers)["x-amzn-RequestId"],
        "account": ACCOUNT,
        "key_id": KEY.key_id,
        "peer": "127.0.0.1:5000",
        "action": "SetQueueAttributes",
        "target": f"{ACCOUNT}/jobs",
        "outcome": "ok",
        "details": {"Attributes": {"DelaySeconds": "7"}},
    }


async def _signed(world: World, operation: str, params: dict[str, Any]) -> Any:
    plain = request_of(JSON, operation, params)
    signer = Signer(KEY, region=REGION)
    headers = signer.sign("POST", "/", "", plain.headers, plain.body, world.clock.now_ms())
    request = HttpRequest("POST", "/", "", dict(headers), plain.body, plain.peer)
    return await world.endpoint.handle(request)


async def test_unsigned_request_is_not_recorded() -> None:
    audit = MemoryAudit()
    world = World(signed=True, audit=audit)
    answer = await world.call(JSON, "CreateQueue", {"QueueName": "jobs"})
    assert answer.status == 403
    assert await audit.page(None, 10) == []


OUTCOMES = [
    (AccessDenied("no"), "AccessDenied", 403),
    (StoreFailed("disk"), "ServiceUnavailable", 503),
    (ValueError("bug"), "InternalFailure", 500),
]


@pytest.mark.parametrize(("error", "outcome", "status"), OUTCOMES)
async def test_change_that_is_denied_or_may_have_been_made_is_recorded(
    monkeypatch: pytest.MonkeyPatch, error: Exception, outcome: str, status: int
) -> None:
    audit = MemoryAudit()
    world = World(audit=audit)
    monkeypatch.setattr(world.service.queues, "create", _raising(error))
    answer = await world.call(JSON, "CreateQueue", {"QueueName": "jobs"})
    (entry,) = await audit.page(None, 10)
    assert (answer.status, entry["outcome"]) == (status, outcome)
    assert entry["target"] == f"{ACCOUNT}/jobs"


def _raising(error: Exception) -> Callable[..., Any]:
    async def raise_it(*args: object) -> None:
        raise error

    return raise_it


async def test_change_refused_for_its_contents_is_not_recorded() -> None:
    audit = MemoryAudit()
    world = World(audit=audit)
    assert (await world.call(JSON, "CreateQueue", {"QueueName": "a b"})).status == 400
    gone = {"QueueUrl": "http://h/none"}
    assert (await world.call(JSON, "DeleteQueue", gone)).status == 400
    assert await audit.page(None, 10) == []


async def test_change_whose_client_leaves_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = MemoryAudit()
    world = World(audit=audit)
    begun = asyncio.Event()

    async def wait(*args: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(world.service.queues, "create", wait)
    asking = asyncio.create_task(world.call(JSON, "CreateQueue", {"QueueName": "jobs"}))
    await begun.wait()
    asking.cancel()
    await asyncio.wait([asking])
    (entry,) = await audit.page(None, 10)
    assert (entry["action"], entry["outcome"]) == ("CreateQueue", "unanswered")


class BrokenAudit(MemoryAudit):
    def check(self) -> None:
        raise AuditUnwritable("no space")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_no_change_begins_while_the_log_cannot_be_written(protocol: str) -> None:
    world = World(audit=BrokenAudit())
    answer = await world.call(protocol, "CreateQueue", {"QueueName": "jobs"})
    assert (answer.status, answer.code) == (503, "ServiceUnavailable")
    assert (await world.done("ListQueues")) == {}


async def test_detail_that_a_client_makes_long_is_replaced_by_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    audit = MemoryAudit()
    world = World(audit=audit)
    monkeypatch.setattr("dovemq.sqs.actions.queues.read_changes", _deny)
    long = {"QueueName": "x" * 100_000, "Attributes": {"A": "v" * 100_000}}
    assert (await world.call(JSON, "CreateQueue", long)).status == 403
    (entry,) = await audit.page(None, 10)
    assert entry["details"] == {"Attributes": {"omitted_bytes": 100_008}}
    assert len(entry["target"]) == 256


def _deny(*args: object, **more: object) -> None:
    raise AccessDenied("no")
