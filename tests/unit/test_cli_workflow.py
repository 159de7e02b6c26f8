"""`dovemq workflow …` and the blocking clients, against a real server."""

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dovemq.cli import main
from dovemq.client import BlockingSqsClient, BlockingWorkflowClient
from dovemq.client.errors import Refused
from dovemq.testing.local_server import LocalServer

Command = Callable[..., str]
LEASE_SECONDS = 6
FILE = """
[topics.A]
lease_seconds = 20
[jobs.{name}]
path = ["A", "B"]
attempts_max = 1
"""


@pytest.fixture
def name() -> str:
    return f"t{uuid.uuid4().hex[:8]}"


@pytest.fixture
def stored(dovemq: Command, name: str, tmp_path: Path) -> str:
    """The type of jobs of a file that was put."""
    file = tmp_path / "workflow.toml"
    file.write_text(FILE.format(name=name))
    assert name in dovemq("workflow", "put", str(file))
    return name


@pytest.fixture
def workflows(server: LocalServer) -> Iterator[BlockingWorkflowClient]:
    with BlockingWorkflowClient(server.admin_url, server.access_key) as client:
        yield client


def test_put_workflow_is_listed_and_shown(dovemq: Command, stored: str) -> None:
    assert stored in dovemq("workflow", "list")
    lines = dovemq("workflow", "show", stored).splitlines()
    assert lines[-2].split() == ["0", "A", "A", "-", "topic-A"]
    assert lines[-1].split() == ["0", "B", "B", "A", "topic-B"]
    shown = json.loads(dovemq("workflow", "show", stored, "--version", "1", "--json"))
    assert shown["topics"]["A"]["lease_seconds"] == 20


def test_job_is_followed_from_its_start_to_its_result(
    dovemq: Command,
    stored: str,
    workflows: BlockingWorkflowClient,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = dovemq("workflow", "submit", stored, "--input", '{"pages": 3}', "--key", "k").strip()
    assert dovemq("workflow", "submit", stored, "--key", "k").strip() == job
    assert main(["workflow", "result", job]) == 1
    assert capsys.readouterr().out == f"job {job} is running\n"
    assert workflows.start_task(job, "A", 1, worker="me")["wanted"]
    assert "running" in dovemq("workflow", "status", job)
    workflows.end_task(job, "A", 1, {"bytes": 5}, worker="me", service_ms=1_500.0)
    assert workflows.end_task(job, "A", 1, "another")["accepted"] is False
    workflows.end_task(job, "B", 1, "done")
    assert dovemq("workflow", "result", job, "--wait") == '"done"\n'
    lines = dovemq("workflow", "status", job).splitlines()
    assert [line.split()[:3] for line in lines[-2:]] == [["A", "A", "ended"], ["B", "B", "ended"]]
    assert "1.500" in lines[-2]
    assert "started" in dovemq("workflow", "timeline", job)
    (listed,) = json.loads(dovemq("workflow", "jobs", "--type", stored, "--json"))["jobs"]
    assert listed["job_id"] == job
    assert "2/2" in dovemq("workflow", "jobs", "--state", "ended")
    assert workflows.result(job) == "done"


def test_failed_job_is_retried_and_cancelled(
    dovemq: Command, stored: str, workflows: BlockingWorkflowClient
) -> None:
    job = workflows.submit(stored)["job_id"]
    workflows.fail_task(job, "A", 1, "broken")
    assert workflows.finished(job, 0)["error"] == "A: broken"
    assert dovemq("workflow", "retry", job) == f"job {job} is running\n"
    assert dovemq("workflow", "cancel", job) == f"job {job} is cancelled\n"
    with pytest.raises(Refused, match="NotEnded"):
        workflows.result(job)
    assert [event["event"] for event in workflows.timeline(job)][-1] == "job cancelled"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[jobs.x]\n", "jobs.x: one of path, tasks, flow and routes is needed"),
        ("[jobs]\n", "jobs: 1 to 100 types of jobs are needed"),
        ("[topics.A]\n", "jobs: missing"),
        ("[jobs.x\n", "workflow.toml"),
    ],
)
def test_wrong_file_is_refused_without_a_server(
    clean: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    file = tmp_path / "workflow.toml"
    file.write_text(text)
    assert main(["workflow", "put", str(file), "--check"]) == 2
    assert reason in capsys.readouterr().err


def test_sound_file_is_said_to_be_so(clean: None, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "workflow.toml"
    file.write_text(FILE.format(name="x"))
    assert main(["workflow", "put", str(file), "--check"]) == 0
    assert capsys.readouterr().out == f"{file}: x: sound\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "name a module with functions under @task, or give --command"),
        (["nowhere"], "the module cannot be imported"),
        (["tests.workflows.sample_tasks", "--topic", "Z"], "serves the topic Z; known: A, B, C"),
        (["tests.workflows.sample_tasks", "--command", "A=true"], "a function or a command"),
        (["--command", "a b=true"], "'a b' is no topic"),
        (["--command", "A="], "a command line is empty"),
        (["--command", "A=true", "--concurrency", "9999"], "the most is 1000"),
    ],
)
def test_worker_without_work_is_refused(
    clean: None, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    assert main(["workflow", "worker", *words]) == 2
    assert reason in capsys.readouterr().err


def test_input_that_is_no_json_is_refused(known: None, capsys: Any) -> None:
    assert main(["workflow", "submit", "x", "--input", "{"]) == 2
    assert "--input is not JSON" in capsys.readouterr().err


def test_blocking_client_keeps_a_lease_for_as_long_as_the_work_takes(server: LocalServer) -> None:
    queue = f"q-{uuid.uuid4()}"
    with BlockingSqsClient(server.endpoint_url, server.access_key) as client:
        url = client.create_queue(queue, {}, {})
        client.call("SendMessage", {"QueueUrl": url, "MessageBody": "long"})
        (message,) = client.receive(url, lease_seconds=LEASE_SECONDS, wait_seconds=20)
        with client.kept_lease(url, message.receipt_handle, LEASE_SECONDS) as keeper:
            # Longer than the lease: the work of this test is to see that nobody gets the message.
            assert client.receive(url, wait_seconds=LEASE_SECONDS + 2) == []
        assert not keeper.lost
        client.settle(url, message.receipt_handle)
