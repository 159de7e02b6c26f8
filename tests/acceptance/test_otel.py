"""A real server sends spans to a collector, and counts them."""

import urllib.request
from pathlib import Path

import boto3
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from dovemq.testing.local_server import LocalServer, StartFailed
from tests.acceptance.programs import OUR_PROGRAMS, clean_environment, run
from tests.otel.collector import FakeCollector, texts

ARGS = ["--metrics-open", "--otel-sampled-percent", "100"]


def _named(spans: list[Span], operation: str) -> list[Span]:
    return [span for span in spans if span.name == f"{operation} orders"]


def test_clients_of_sqs_are_traced_from_send_to_delete(tmp_path: Path) -> None:
    with FakeCollector() as collector:
        args = [*ARGS, "--otel-endpoint", collector.url]
        with LocalServer(tmp_path / "data", args=args) as server:
            sqs = boto3.client("sqs", **server.boto3_kwargs)
            url = sqs.create_queue(QueueName="orders")["QueueUrl"]
            sqs.send_message(QueueUrl=url, MessageBody="tea for two")
            asked = {"MessageSystemAttributeNames": ["AWSTraceHeader"], "WaitTimeSeconds": 20}
            [message] = sqs.receive_message(QueueUrl=url, **asked)["Messages"]
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            spans = collector.until(lambda spans: len(spans) == 3)
            with urllib.request.urlopen(f"{server.admin_url}/metrics") as answer:
                metrics = answer.read().decode()
        for outcome in ("exported", "failed", "dropped"):
            assert f'dovemq_otel_spans_total{{outcome="{outcome}"}}' in metrics
        [send], [receive] = _named(spans, "SendMessage"), _named(spans, "ReceiveMessage")
        assert len(_named(spans, "DeleteMessage")) == 1
        assert [link.span_id for link in receive.links] == [send.span_id]
        assert f"Parent={send.span_id.hex()}" in message["Attributes"]["AWSTraceHeader"]
        assert texts(send.attributes)["messaging.message.id"] == message["MessageId"]


def test_server_without_its_collector_serves_and_ends(tmp_path: Path) -> None:
    args = [*ARGS, "--otel-endpoint", "http://127.0.0.1:9"]
    with LocalServer(tmp_path / "data", args=args) as server:
        env = clean_environment(tmp_path, **server.env)
        run([OUR_PROGRAMS / "dovemq", "queue", "create", "orders"], env=env)
        run([OUR_PROGRAMS / "dovemq", "send", "orders", "tea for two"], env=env)
        assert "tea for two" in run([OUR_PROGRAMS / "dovemq", "peek", "orders"], env=env)


@pytest.mark.parametrize("url", ["127.0.0.1:4318", "http://me:secret@127.0.0.1:4318"])
def test_wrong_address_of_a_collector_is_refused_at_the_start(tmp_path: Path, url: str) -> None:
    server = LocalServer(tmp_path / "data", args=["--otel-endpoint", url])
    with pytest.raises(StartFailed) as failure:
        server.start()
    assert "otel_endpoint" in str(failure.value)
    assert "secret@" not in str(failure.value)
