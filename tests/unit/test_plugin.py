"""The pytest plugin, and the server process that it stands on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dovemq.client import BlockingSqsClient
from dovemq.sqs.shapes import SendMessageRequest
from dovemq.testing.local_server import LocalServer, StartFailed

USERS_TEST = """
import boto3

def test_uses_a_queue(dovemq_server):
    sqs = boto3.client("sqs", **dovemq_server.boto3_kwargs)
    url = sqs.create_queue(QueueName="jobs")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    assert sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"] == "hello"

def test_shares_the_server(dovemq_server):
    assert dovemq_server.env["AWS_ENDPOINT_URL_SQS"] == dovemq_server.endpoint_url
    assert dovemq_server.running
"""


def test_users_tests_get_a_server(tmp_path: Path) -> None:
    (tmp_path / "test_users.py").write_text(USERS_TEST)
    # By name, not by entry point, so that it works from a source tree too.
    plugin = ["-p", "no:dovemq", "-p", "dovemq.testing.plugin", "-p", "no:cacheprovider"]
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("PYTEST_")}
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=100,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "2 passed" in finished.stdout


def sent(server: LocalServer, body: str) -> str:
    with BlockingSqsClient(server.endpoint_url, server.access_key) as client:
        queue = client.create_queue("jobs", {}, {})
        client.send(queue, SendMessageRequest(message_body=body))
        return queue


def received(server: LocalServer, queue: str) -> list[str]:
    with BlockingSqsClient(server.endpoint_url, server.access_key) as client:
        return [message.body for message in client.receive(queue, 10)]


def test_terminated_server_ends_well_and_keeps_its_messages(tmp_path: Path) -> None:
    server = LocalServer(tmp_path / "data").start()
    url = server.endpoint_url
    queue = sent(server, "hello")
    assert server.stop() == 0
    assert not server.running
    with server:
        assert server.endpoint_url == url
        assert received(server, queue) == ["hello"]


def test_killed_server_keeps_its_messages(tmp_path: Path) -> None:
    server = LocalServer(tmp_path / "data").start()
    queue = sent(server, "hello")
    server.kill()
    with server:
        assert received(server, queue) == ["hello"]


def test_interrupt_ends_the_server_too(tmp_path: Path) -> None:
    server = LocalServer(tmp_path / "data", args=["--store", "memory://"]).start()
    server.signal(signal.SIGINT)
    assert server.wait() == 0


def test_server_that_cannot_start_says_why_in_one_line(tmp_path: Path) -> None:
    with (
        LocalServer(tmp_path / "data", log=tmp_path / "first.log"),
        pytest.raises(StartFailed) as caught,
    ):
        LocalServer(tmp_path / "data", log=tmp_path / "second.log").start()
    assert len((tmp_path / "second.log").read_text().splitlines()) == 1
    assert "dovemq: " in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    memory = ["--store", "memory://"]
    with LocalServer(tmp_path / "first", args=memory) as first:
        port = first.endpoint_url.rpartition(":")[2]
        second = LocalServer(tmp_path / "second", args=[*memory, "--port", port])
        with pytest.raises(StartFailed, match=f"cannot listen on 127.0.0.1 port {port}"):
            second.start()


def test_settings_of_the_caller_do_not_reach_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOVEMQ_NONSENSE", "1")
    with LocalServer(tmp_path / "data", args=["--store", "memory://"]) as server:
        assert server.running


def test_settings_given_to_the_server_reach_it(tmp_path: Path) -> None:
    server = LocalServer(
        tmp_path / "data",
        args=["--store", "memory://"],
        env={"DOVEMQ_ACCOUNT": "123456789012", "DOVEMQ_REGION": "eu-west-1"},
    )
    with (
        server,
        BlockingSqsClient(server.endpoint_url, server.access_key, region="eu-west-1") as client,
    ):
        assert "/123456789012/" in client.create_queue("jobs", {}, {})
    assert server.boto3_kwargs["region_name"] == "eu-west-1"


def test_server_without_signatures_takes_any_caller(tmp_path: Path) -> None:
    args = ["--store", "memory://", "--insecure-no-auth"]
    with (
        LocalServer(tmp_path / "data", args=args) as server,
        BlockingSqsClient(server.endpoint_url) as client,
    ):
        assert client.create_queue("jobs", {}, {}).endswith("/000000000000/jobs")
