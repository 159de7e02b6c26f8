"""`dovemq cluster size` against real front ends."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dovemq.client import AdminClient
from dovemq.client.errors import ClientError
from dovemq.workflows.sizing.allocators.worker_record import read_record
from tests.acceptance.commands import DOVEMQ, dovemq
from tests.acceptance.documents import two_free_ports

SECONDS_MAX = 120.0
LOOK_SECONDS = 0.2


def test_dry_run_tells_front_ends_and_nodes_of_a_running_service(tmp_path: Path) -> None:
    port, decisions = two_free_ports(), tmp_path / "decisions.jsonl"
    with subprocess.Popen([*_serve(tmp_path, port)]) as server:
        try:
            _health(f"http://127.0.0.1:{port + 1}")
            limits = ("--target-ms", "1000", "--node-gib", "1", "--window", "1s")
            where = ("--port", str(port), "--decisions", decisions)
            dovemq("cluster", "size", "--once", *limits, *where)
        finally:
            server.terminate()
    front_ends, store = [json.loads(line) for line in decisions.read_text().splitlines()]
    assert front_ends["before"] == front_ends["after"] == {"front-ends": 1}
    assert store["before"] == {"store": 1}
    assert store["cause"] == "in band"


def _serve(folder: Path, port: int | str) -> list[str]:
    words = [sys.executable, "-m", "dovemq", "serve", "--insecure-no-auth", "--store", "memory://"]
    return [*words, "--port", str(port), "--data", f"{folder}/{port}"]


@pytest.mark.timeout(300)
def test_local_front_ends_are_started_and_ended(tmp_path: Path) -> None:
    port = two_free_ports()
    serve = _serve(tmp_path, "{port}")
    command = [*DOVEMQ, "cluster", "size", "--target-ms", "1000", "--allocator", "local"]
    command += ["--command", " ".join(serve), "--first-port", str(port), "--bounds", "1:2"]
    command += ["--every", "1s", "--record", str(tmp_path / "front-ends.json")]
    with subprocess.Popen(command, start_new_session=True) as sizing:
        try:
            health = _health(f"http://127.0.0.1:{port + 1}")
            kept = read_record(tmp_path / "front-ends.json").workers
        finally:
            sizing.send_signal(signal.SIGTERM)
            code = sizing.wait(SECONDS_MAX)
    assert health["ready"]
    assert code == 0
    assert [each.topic for each in kept] == ["front-ends"]
    assert not any(each.process.running for each in kept)


def _health(admin_url: str) -> dict[str, Any]:
    async def asked() -> dict[str, Any]:
        async with AdminClient(admin_url) as client:
            return await client.health()

    until = time.monotonic() + SECONDS_MAX
    while True:
        try:
            return asyncio.run(asked())
        except ClientError:
            assert time.monotonic() < until
            time.sleep(LOOK_SECONDS)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "give --target-ms for front ends"),
        (["--target-ms", "5", "--allocator", "local"], "needs --command with {port}"),
        (["--target-ms", "5", "--bounds", "3"], "'3' is not MIN:MAX"),
        (["--node-gib", "5", "--fill", "200"], "a fill up to 1"),
    ],
)
def test_wrong_use_is_refused_by_name(words: list[str], reason: str) -> None:
    target = ["--endpoint-url", "http://127.0.0.1:1"]
    assert reason in dovemq("cluster", "size", *words, *target, code=2).stderr
