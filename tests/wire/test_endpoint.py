"""The endpoint as a whole: hosts, URLs, request ids, failures, undelivered responses."""

import asyncio
import logging
import tracemalloc
from collections.abc import Sequence

import msgspec
import pytest

from dovemq.core.commands import Draft, Duplicate, Sent
from dovemq.core.errors import (
    InvariantError,
    ReplicasMissing,
    StoreFailed,
    StoreFull,
    StoreUnreachable,
)
from dovemq.core.observing import Trail
from dovemq.core.queue import Queue
from dovemq.http import HttpRequest
from tests.wire.speaking import JSON, PROTOCOLS, answer_of, request_of
from tests.wire.world import World


def with_host(host: str | None, operation: str = "ListQueues") -> HttpRequest:
    request = request_of(JSON, operation, {"QueueName": "orders"})
    headers = {name: value for name, value in request.headers.items() if name != "host"}
    if host is not None:
        headers["host"] = host
    return HttpRequest("POST", "/", "", headers, request.body, "peer")


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:9324", "[::1]:9324", "queue.example.com", "dovemq_1:80"]
)
async def test_queue_urls_have_the_host_that_the_caller_used(host: str) -> None:
    answer = await World().endpoint.handle(with_host(host, "CreateQueue"))
    assert f'"http://{host}/123456789012/orders"'.encode() in answer.body


async def test_queue_urls_have_the_scheme_of_the_request() -> None:
    world = World()
    asked = with_host("queues", "CreateQueue")
    for secure, scheme in ((True, "https"), (False, "http"), (True, "https")):
        request = msgspec.structs.replace(asked, secure=secure)
        answer = await world.endpoint.handle(request)
        assert f'"{scheme}://queues/123456789012/orders"'.encode() in answer.body


@pytest.mark.parametrize("host", ["", "a b", "a/b", "<x>", "a:b", "a:123456", "é", "[::", "a@b"])
async def test_malformed_host_is_refused(host: str) -> None:
    answer = answer_of(JSON, "ListQueues", await World().endpoint.handle(with_host(host)))
    assert (answer.status, answer.code) == (400, "InvalidAddress")


async def test_public_url_replaces_a_missing_host_and_gives_the_scheme() -> None:
    world = World(public_url="https://queues.example.com/")
    answer = await world.endpoint.handle(with_host(None, "CreateQueue"))
    assert b'"https://queues.example.com/123456789012/orders"' in answer.body
    answer = await world.endpoint.handle(with_host("inner:9324", "CreateQueue"))
    assert b'"https://inner:9324/123456789012/orders"' in answer.body


@pytest.mark.parametrize(
    "queue_url",
    [
        "orders",
        "/123456789012/orders",
        "http://elsewhere/123456789012/orders",
        "https://sqs.us-east-1.amazonaws.com/123456789012/orders",
        "http://elsewhere/queue/us-east-1/123456789012/orders",
    ],
)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_only_account_and_name_of_a_queue_url_count(protocol: str, queue_url: str) -> None:
    world = World()
    await world.queue("orders")
    request = {"QueueUrl": queue_url, "MessageBody": "work"}
    assert (await world.call(protocol, "SendMessage", request)).status == 200


async def test_json_request_may_go_to_the_queue_url() -> None:
    world = World()
    await world.queue("orders")
    path = "/123456789012/orders"
    answer = await world.call(JSON, "SendMessage", {"MessageBody": "work"}, path)
    assert answer.status == 200


@pytest.mark.parametrize(
    ("target", "body"),
    [("AmazonSQS.FooBar", b"{}"), ("SendMessage", b"{}"), ("", b"{}")],
)
async def test_unknown_target_is_an_unknown_operation(target: str, body: bytes) -> None:
    headers = {"host": "h", "x-amz-target": target}
    response = await World().endpoint.handle(HttpRequest("POST", "/", "", headers, body, ""))
    answer = answer_of(JSON, "FooBar", response)
    assert (answer.status, answer.shape) == (404, "UnknownOperationException")


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"1", b'{"QueueUrl":1}', b'{"QueueUrl":"\xff"}', b"[" * 100_000]
)
async def test_invalid_json_is_refused(body: bytes) -> None:
    headers = {"host": "h", "x-amz-target": "AmazonSQS.SendMessage"}
    response = await World().endpoint.handle(HttpRequest("POST", "/", "", headers, body, ""))
    answer = answer_of(JSON, "SendMessage", response)
    assert (answer.status, answer.shape) == (400, "SerializationException")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_every_answer_has_a_request_id_of_its_own(protocol: str) -> None:
    world = World()
    answers = [await world.call(protocol, "ListQueues", {}) for _ in range(3)]
    answers += [await world.call(protocol, "CreateQueue", {}) for _ in range(3)]
    raws = [answer.raw for answer in answers if answer.raw]
    assert len({dict(raw.headers)["x-amzn-RequestId"] for raw in raws}) == 6


class FailingMessages:
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def send(
        self, queue: Queue, drafts: Sequence[Draft], trail: Trail | None
    ) -> list[Sent | Duplicate]:
        raise self.error


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StoreFull(), 503, "ServiceUnavailable"),
        (StoreFailed("disk sda"), 503, "ServiceUnavailable"),
        (InvariantError("secret state"), 500, "InternalFailure"),
        (ZeroDivisionError("secret state"), 500, "InternalFailure"),
    ],
)
async def test_response_to_a_failure_has_no_details(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    protocol: str,
    error: Exception,
    status: int,
    code: str,
) -> None:
    world = World()
    queue = await world.queue()
    monkeypatch.setattr(world.service, "messages", FailingMessages(error))
    request = {"QueueUrl": queue, "MessageBody": "work"}
    with caplog.at_level(logging.WARNING):
        answer = await world.call(protocol, "SendMessage", request)
    assert (answer.status, answer.code) == (status, code)
    assert answer.raw is not None
    assert b"secret" not in answer.raw.body
    assert b"sda" not in answer.raw.body
    assert dict(answer.raw.headers)["x-amzn-RequestId"] in caplog.text


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            StoreUnreachable("redis://10.0.0.1", "10.0.0.1 refuses"),
            "The service is unavailable: its database cannot be reached. Try again later.",
        ),
        (
            ReplicasMissing("redis://10.0.0.1", "0 of 1 replicas"),
            "The service is unavailable: too few nodes of its database answer. Try again later.",
        ),
    ],
)
async def test_response_says_what_is_missing_of_the_database_without_its_address(
    monkeypatch: pytest.MonkeyPatch, protocol: str, error: Exception, text: str
) -> None:
    world = World()
    queue = await world.queue()
    monkeypatch.setattr(world.service, "messages", FailingMessages(error))
    request = {"QueueUrl": queue, "MessageBody": "work"}
    answer = await world.call(protocol, "SendMessage", request)
    assert (answer.status, answer.code, answer.text) == (503, "ServiceUnavailable", text)
    assert answer.raw is not None
    assert b"10.0.0.1" not in answer.raw.body


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_log_of_a_failure_has_no_part_of_the_message(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, protocol: str
) -> None:
    world = World()
    queue = await world.queue()
    monkeypatch.setattr(world.service, "messages", FailingMessages(KeyError("a private word")))
    request = {"QueueUrl": queue, "MessageBody": "a private word"}
    answer = await world.call(protocol, "SendMessage", request)
    assert answer.status == 500
    assert "KeyError" in caplog.text
    assert "private" not in caplog.text


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_response_names_the_queue_that_does_not_exist_in_its_detail(protocol: str) -> None:
    answer = await World().call(protocol, "ListQueueTags", {"QueueUrl": "no-such-queue"})
    assert answer.raw is not None
    detail = b"The queue 123456789012/no-such-queue does not exist."
    assert detail in answer.raw.body
    assert detail.decode() not in answer.text


async def test_long_queue_urls_are_not_kept_in_memory() -> None:
    world = World()
    tracemalloc.start()
    try:
        for number in range(20):
            queue_url = f"123456789012/{number}{'x' * (1 << 20)}"
            request = {"QueueUrl": queue_url, "MessageBody": "work"}
            answer = await world.call(JSON, "SendMessage", request)
            assert answer.shape == "QueueDoesNotExist"
        assert tracemalloc.get_traced_memory()[0] < 10 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_undelivered_messages_go_back_as_if_never_received(protocol: str) -> None:
    world = World()
    queue = await world.queue()
    await world.done("SendMessage", QueueUrl=queue, MessageBody="work")
    response = await world.endpoint.handle(
        request_of(protocol, "ReceiveMessage", {"QueueUrl": queue})
    )
    assert response.undelivered is not None
    await response.undelivered()
    got = await world.done("ReceiveMessage", QueueUrl=queue, AttributeNames=["All"])
    assert got["Messages"][0]["Attributes"]["ApproximateReceiveCount"] == "1"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_response_without_messages_has_nothing_to_release(protocol: str) -> None:
    world = World()
    queue = await world.queue()
    request = request_of(protocol, "ReceiveMessage", {"QueueUrl": queue})
    assert (await world.endpoint.handle(request)).undelivered is None


async def test_cancelled_long_poll_stays_cancelled() -> None:
    world = World()
    queue = await world.queue()
    request = request_of(JSON, "ReceiveMessage", {"QueueUrl": queue, "WaitTimeSeconds": 20})
    poll = asyncio.ensure_future(world.endpoint.handle(request))
    await asyncio.sleep(0)
    poll.cancel()
    with pytest.raises(asyncio.CancelledError):
        await poll
