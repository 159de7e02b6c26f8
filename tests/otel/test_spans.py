"""Spans of requests at a fake collector: names, parents, links, sampling, bounds, no contents."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from dovemq.http import HttpRequest, HttpResponse
from dovemq.settings import SettingInvalid
from dovemq.sqs.endpoint import SqsEndpoint
from dovemq.telemetry.otel import traces_url
from dovemq.telemetry.span_export import SpanExport
from tests.otel.collector import FakeCollector, texts
from tests.service.world import ACCOUNT, World

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
OTHER_TRACE = "5759e988bd862e3fe1be46a994272793"
OWN = f"Root=1-{OTHER_TRACE[:8]}-{OTHER_TRACE[8:]};Parent=53995c3f42cd8ad8;Sampled=1"
SECRET = "tea for two"
SERVER, PRODUCER = 2, 4


class Traced:
    """An endpoint whose spans go to a collector."""

    def __init__(self, url: str, percent: int = 0, waiting_max: int = 100) -> None:
        self.world = World()
        self.now_ns = 1_700_000_000_000_000_000
        self.export = SpanExport(traces_url(url), percent, self._tick, "front", waiting_max)
        self.endpoint = SqsEndpoint(
            self.world.service,
            None,
            "us-east-1",
            ACCOUNT,
            None,
            lambda: "00000000-0000-0000-0000-000000000000",
            spans=self.export.spans,
        )

    def _tick(self) -> int:
        self.now_ns += 1_000_000
        return self.now_ns

    async def ask(
        self, operation: str, fields: Mapping[str, Any], headers: Mapping[str, str] = SAMPLED
    ) -> Any:
        response = await self.response(operation, fields, headers)
        assert response.status == 200, response.body
        return json.loads(response.body or b"{}")

    async def response(
        self, operation: str, fields: Mapping[str, Any], headers: Mapping[str, str]
    ) -> HttpResponse:
        sent = {"QueueUrl": f"http://host/{ACCOUNT}/orders", **fields}
        head = {
            "host": "host",
            "content-type": "application/x-amz-json-1.0",
            "x-amz-target": f"AmazonSQS.{operation}",
            **headers,
        }
        request = HttpRequest("POST", "/", "", head, json.dumps(sent).encode(), "192.0.2.1:5000")
        return await self.endpoint.handle(request)

    def counts(self) -> dict[str, float]:
        return {each.labels[0]: float(str(each.value)) for each in self.export.samples()}


@pytest.fixture
async def collector() -> AsyncIterator[FakeCollector]:
    with FakeCollector() as collector:
        yield collector


async def traced(url: str, percent: int = 0, waiting_max: int = 100) -> Traced:
    made = Traced(url, percent, waiting_max)
    await made.world.queue("orders")
    return made


async def test_send_receive_and_delete_are_spans_of_the_clients_trace(
    collector: FakeCollector,
) -> None:
    world = await traced(collector.url)
    sent = await world.ask("SendMessage", {"MessageBody": SECRET})
    [message] = (await world.ask("ReceiveMessage", {}))["Messages"]
    await world.ask("DeleteMessage", {"ReceiptHandle": message["ReceiptHandle"]})
    await world.export.close()
    send, receive, settle = collector.spans
    assert [span.name for span in collector.spans] == [
        "SendMessage orders",
        "ReceiveMessage orders",
        "DeleteMessage orders",
    ]
    kinds = [texts(span.attributes)["messaging.operation.type"] for span in collector.spans]
    assert kinds == ["send", "receive", "settle"]
    assert [span.kind for span in collector.spans] == [PRODUCER, SERVER, SERVER]
    for span in collector.spans:
        assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
        assert span.end_time_unix_nano - span.start_time_unix_nano == 1_000_000
    assert texts(send.attributes)["messaging.message.id"] == sent["MessageId"]
    assert texts(receive.attributes)["messaging.batch.message_count"] == "1"
    assert texts(settle.attributes)["messaging.destination.name"] == "orders"
    [link] = receive.links
    assert (link.trace_id, link.span_id) == (send.trace_id, send.span_id)
    assert collector.resources[0]["service.name"] == "dovemq"


async def test_message_carries_the_context_of_its_send_as_trace_header(
    collector: FakeCollector,
) -> None:
    world = await traced(collector.url)
    await world.ask("SendMessage", {"MessageBody": SECRET})
    names = {"MessageSystemAttributeNames": ["AWSTraceHeader"]}
    [message] = (await world.ask("ReceiveMessage", names))["Messages"]
    await world.export.close()
    span_id = collector.spans[0].span_id.hex()
    header = f"Root=1-{TRACE[:8]}-{TRACE[8:]};Parent={span_id};Sampled=1"
    assert message["Attributes"]["AWSTraceHeader"] == header


async def test_trace_header_of_the_client_stays_and_is_linked(collector: FakeCollector) -> None:
    world = await traced(collector.url)
    header = {"AWSTraceHeader": {"DataType": "String", "StringValue": OWN}}
    await world.ask("SendMessage", {"MessageBody": SECRET, "MessageSystemAttributes": header})
    names = {"MessageSystemAttributeNames": ["AWSTraceHeader"]}
    [message] = (await world.ask("ReceiveMessage", names))["Messages"]
    await world.export.close()
    assert message["Attributes"]["AWSTraceHeader"] == OWN
    send, receive = collector.spans
    assert [link.trace_id.hex() for link in send.links] == [OTHER_TRACE]
    assert [link.trace_id.hex() for link in receive.links] == [OTHER_TRACE]
    assert send.kind == SERVER


async def test_header_of_xray_is_the_parent_where_w3c_has_none(collector: FakeCollector) -> None:
    world = await traced(collector.url)
    await world.ask("SendMessage", {"MessageBody": SECRET}, {"x-amzn-trace-id": OWN})
    await world.export.close()
    [span] = collector.spans
    assert span.trace_id.hex() == OTHER_TRACE


async def test_batch_is_one_span_with_its_number_of_messages(collector: FakeCollector) -> None:
    world = await traced(collector.url)
    entries = [{"Id": str(number), "MessageBody": SECRET} for number in range(3)]
    await world.ask("SendMessageBatch", {"Entries": entries})
    await world.ask("ReceiveMessage", {"MaxNumberOfMessages": 10})
    await world.export.close()
    send, receive = collector.spans
    assert texts(send.attributes)["messaging.batch.message_count"] == "3"
    assert {link.span_id for link in receive.links} == {send.span_id}
    assert len(receive.links) == 3


async def test_refused_requests_have_the_name_of_their_error(collector: FakeCollector) -> None:
    world = await traced(collector.url)
    missing = {"QueueUrl": f"http://host/{ACCOUNT}/missing", "MessageBody": SECRET}
    assert (await world.response("SendMessage", missing, SAMPLED)).status == 400
    await world.export.close()
    [span] = collector.spans
    assert texts(span.attributes)["error.type"].endswith("NonExistentQueue")
    assert span.status.code == 2


@pytest.mark.parametrize("header", ["nonsense", "Root=1-xyz;Parent=1", ";;;===", "Root=" * 200])
async def test_malformed_trace_headers_change_nothing(
    collector: FakeCollector, header: str
) -> None:
    world = await traced(collector.url, 100)
    given = {"AWSTraceHeader": {"DataType": "String", "StringValue": header}}
    await world.ask("SendMessage", {"MessageBody": "a", "MessageSystemAttributes": given}, {})
    headers = {"traceparent": header, "x-amzn-trace-id": header}
    await world.response("ReceiveMessage", {}, headers)
    await world.export.close()
    assert [list(span.links) for span in collector.spans] == [[], []]


async def test_no_span_has_the_contents_of_a_message(collector: FakeCollector) -> None:
    world = await traced(collector.url)
    attributes = {"note": {"DataType": "String", "StringValue": "under the table"}}
    await world.ask("SendMessage", {"MessageBody": SECRET, "MessageAttributes": attributes})
    await world.ask("ReceiveMessage", {"MessageAttributeNames": ["All"]})
    await world.export.close()
    sent = b"".join(collector.bodies)
    assert b"orders" in sent
    assert SECRET.encode() not in sent
    assert b"under the table" not in sent


@pytest.mark.parametrize(
    ("percent", "headers", "spans"),
    [(0, {}, 0), (100, {}, 1), (100, UNSAMPLED, 0), (0, SAMPLED, 1)],
)
async def test_context_of_the_client_decides_before_the_share(
    collector: FakeCollector, percent: int, headers: dict[str, str], spans: int
) -> None:
    world = await traced(collector.url, percent)
    await world.ask("SendMessage", {"MessageBody": SECRET}, headers)
    await world.ask("GetQueueAttributes", {}, headers)
    await world.export.close()
    assert len(collector.spans) == spans


async def test_receives_that_find_nothing_are_not_exported(collector: FakeCollector) -> None:
    world = await traced(collector.url)
    await world.ask("ReceiveMessage", {})
    await world.export.close()
    assert collector.spans == []


async def test_lost_collector_costs_spans_and_no_requests() -> None:
    world = await traced("http://127.0.0.1:9", waiting_max=20)
    for _ in range(50):
        await world.ask("SendMessage", {"MessageBody": SECRET})
    await world.export.close()
    counts = world.counts()
    assert counts["exported"] == 0
    assert counts["dropped"] >= 1
    assert counts["dropped"] + counts["failed"] <= 50


async def test_refused_batches_are_counted_as_failed(collector: FakeCollector) -> None:
    collector.status = 400
    world = await traced(collector.url)
    await world.ask("SendMessage", {"MessageBody": SECRET})
    await world.export.close()
    assert world.counts() == {"exported": 0, "failed": 1, "dropped": 0}


def test_endpoint_is_a_url_without_a_password() -> None:
    assert traces_url("http://127.0.0.1:4318") == "http://127.0.0.1:4318/v1/traces"
    assert traces_url("https://host/otlp/v1/traces") == "https://host/otlp/v1/traces"
    for wrong in ("127.0.0.1:4318", "ftp://host", "http://", "http://me:secret@host", "http://h:x"):
        with pytest.raises(SettingInvalid) as refusal:
            traces_url(wrong)
        assert "secret" not in str(refusal.value)
