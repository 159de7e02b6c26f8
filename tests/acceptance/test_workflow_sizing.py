"""The resource manager as a command: against a server, with workers that are processes."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovemq.load.faults.process import ServerProcess
from dovemq.system.process_ids import ProcessId
from dovemq.workflows.sizing.allocators.worker_record import read_record
from tests.acceptance.commands import DOVEMQ, dovemq, dovemq_json

SECONDS_MAX = 240.0
LOOK_SECONDS = 0.2
JOBS = 40
WORKFLOW = '[jobs.sleepy]\npath = ["slow", "quick"]\n'
TASKS = """\
import time
from dovemq.workflows import task

@task("slow")
def slow(call):
    time.sleep(1.0)

@task("quick")
def quick(call):
    return call.job_id
"""
SUBMIT = """\
import asyncio, sys
from dovemq.client import WorkflowClient

async def main():
    async with WorkflowClient(sys.argv[1]) as client:
        for number in range(int(sys.argv[2])):
            await client.submit("sleepy", {}, key=str(number))

asyncio.run(main())
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    args = ["--insecure-no-auth", "--store", "memory://"]
    running = ServerProcess(tmp_path / "data", args=args).start()
    yield running
    running.stop()


def at(server: ServerProcess) -> list[str]:
    return ["--endpoint-url", server.endpoint_url, "--admin-url", server.admin_url]


def decisions(path: Path) -> list[dict[str, Any]]:
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def ended_jobs(server: ServerProcess) -> list[Any]:
    asked = ("--state", "ended", "--limit", str(2 * JOBS))
    jobs: list[Any] = dovemq_json("workflow", "jobs", *asked, *at(server))["jobs"]
    return jobs


def workers(folder: Path) -> list[ProcessId]:
    return [each.process for each in read_record(folder / "dovemq-workers.json").workers]


@pytest.mark.timeout(600)
def test_overloaded_topic_gets_workers_and_every_job_ends(
    server: ServerProcess, tmp_path: Path
) -> None:
    (tmp_path / "sleepy.py").write_text(TASKS)
    (tmp_path / "workflow.toml").write_text(WORKFLOW)
    dovemq("workflow", "put", tmp_path / "workflow.toml", *at(server))
    command = [*DOVEMQ, "workflow", "manager", "sleepy", "--allocator", "local", "--budget", "2"]
    command += ["--threshold", "3s", "--window", "30s", "--every", "1s", "--cool-down", "1s"]
    command += ["--decisions", "decisions.jsonl", *at(server)]
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True) as manager:
        try:
            submit = [sys.executable, "-c", SUBMIT, server.admin_url, str(JOBS)]
            subprocess.run(submit, check=True, timeout=SECONDS_MAX)
            until = time.monotonic() + SECONDS_MAX
            ended: list[Any] = []
            while len(ended) < JOBS and time.monotonic() < until:
                time.sleep(LOOK_SECONDS)
                ended = ended_jobs(server)
            alive = workers(tmp_path)
        finally:
            manager.send_signal(signal.SIGTERM)
            code = manager.wait(SECONDS_MAX)
    assert len(ended) == JOBS
    assert code == 0
    grown = [each for each in decisions(tmp_path / "decisions.jsonl") if each["changes"]]
    assert max(each["after"]["slow"] for each in grown) == 3
    assert all(each["reason"] for each in grown)
    assert alive
    assert not any(each.running for each in alive)


def test_dry_run_says_what_it_would_do(server: ServerProcess, tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_text(WORKFLOW)
    dovemq("workflow", "put", tmp_path / "workflow.toml", *at(server))
    words = ("workflow", "manager", "--target", "2s", "--once", *at(server))
    found = dovemq_json(*words)
    assert found["before"] == found["after"] == {"slow": 1, "quick": 1}
    assert found["cause"] == "watching"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--budget", "2"], "--budget needs --threshold"),
        (["--target", "2s", "--bounds", "A=3"], "'3' is not MIN:MAX"),
        (["--target", "2s", "--bounds", "A=5:2"], "The bounds of consumers are 5 and 2"),
        (["--target", "2s", "--allocator", "local"], "needs the module"),
        (["--target", "2s", "--service", "A=-1"], "a number above 0 is needed"),
    ],
)
def test_wrong_use_is_refused_by_name(words: list[str], reason: str) -> None:
    target = ["--endpoint-url", "http://127.0.0.1:1"]
    done = dovemq("workflow", "manager", *words, *target, code=2)
    assert reason in done.stderr
