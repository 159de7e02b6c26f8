"""Metrics and logs of a real server, as Prometheus and a log reader get them."""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from dovemq.client import BlockingAdminClient, BlockingWorkflowClient
from dovemq.telemetry.metrics import CLUSTER_METRICS, METRICS
from dovemq.testing.local_server import LocalServer
from tests.acceptance.documents import blocks


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server that shows all it can, after one message and one job."""
    place = tmp_path_factory.mktemp("observed")
    args = ["--trace", str(place / "trace"), "--log-format", "json", "--log-requests"]
    with LocalServer(place / "data", args=args) as server:
        sqs: Any = boto3.client("sqs", **server.boto3_kwargs)
        url = sqs.create_queue(QueueName="jobs")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="a private word")
        [message] = sqs.receive_message(QueueUrl=url)["Messages"]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        sqs.close()
        report_consistency(server)
        with BlockingWorkflowClient(server.admin_url, server.access_key) as workflows:
            workflows.put_workflow("order", {"path": ["price"]})
            workflows.submit("order")
        yield server


def report_consistency(server: LocalServer) -> None:
    """Report measurements as a monitor does."""
    none = ("duplicates", "lost", "open", "out_of_order", "displacement")
    counts = {"messages": 1, "received": 1, "ordered": 1, **dict.fromkeys(none, 0)}
    period = {"source": "a test", "from_ms": 1_000, "to_ms": 2_000}
    with BlockingAdminClient(server.admin_url, server.access_key, region=server.region) as admin:
        admin.report_consistency("000000000000", "jobs", {**period, **counts})


def scrape(server: LocalServer, username: str, password: str) -> dict[str, Metric]:
    """Scrape as Prometheus does when its `basic_auth` is set."""
    shown = base64.b64encode(f"{username}:{password}".encode()).decode()
    headers = {"Authorization": f"Basic {shown}"}
    request = urllib.request.Request(f"{server.admin_url}/metrics", headers=headers)
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_scrape_shows_every_metric_of_the_table(observed: LocalServer) -> None:
    key = observed.access_key
    families = scrape(observed, key.key_id, key.secret)
    ours = {name: family for name, family in families.items() if not name.startswith("process_")}
    # Those of OpenTelemetry are on a server that exports spans: see test_otel.
    wanted = [
        metric
        for metric in METRICS
        if metric not in CLUSTER_METRICS and not metric.name.startswith("dovemq_otel_")
    ]
    described = {metric.name.removesuffix("_total"): metric for metric in wanted}
    assert set(ours) == set(described)
    for name, family in ours.items():
        assert (family.type, family.documentation) == (described[name].kind, described[name].help)
    requests = {
        (sample.labels["operation"], sample.labels["outcome"]): sample.value
        for sample in families["dovemq_requests"].samples
    }
    assert requests["SendMessage", "ok"] == requests["DeleteMessage", "ok"] == 1
    assert families["process_cpu_seconds"].samples[0].value > 0


def test_scrape_with_a_wrong_secret_is_refused(observed: LocalServer) -> None:
    with pytest.raises(urllib.error.HTTPError, match="403"):
        scrape(observed, observed.access_key.key_id, "wrong")


def test_scrape_configuration_of_the_documents_names_what_the_server_asks_for() -> None:
    [text] = [text for language, text in blocks("docs/how-to/observe.md") if language == "yaml"]
    lines = [line.strip() for line in text.splitlines()]
    assert "basic_auth:" in lines
    assert '- targets: ["127.0.0.1:9325"]' in lines


def test_log_is_json_and_holds_nothing_of_what_was_sent(observed: LocalServer) -> None:
    text = observed.log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    operations = [line["operation"] for line in lines if line["logger"] == "dovemq.requests"]
    sqs_operations = ["CreateQueue", "SendMessage", "ReceiveMessage", "DeleteMessage"]
    assert operations[:4] == sqs_operations
    assert "private" not in text
    assert observed.access_key.secret not in text
    assert "Signature" not in text


def test_health_is_shown_without_a_key(observed: LocalServer) -> None:
    for path, expected in (("live", {"live": True}), ("ready", {"ready": True})):
        with urllib.request.urlopen(f"{observed.admin_url}/health/{path}") as answer:
            assert json.load(answer) == expected
