"""A real standalone cluster gives the same figures, also when a worker is killed."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from bench.event_logs import Loss, loss_of


@pytest.mark.timeout(900)
def test_a_cluster_gives_the_same_figures_also_when_a_worker_is_killed_half_way(
    java: None,
) -> None:
    command = [sys.executable, "-m", "bench.cluster", "--json", "--duckdb", "--files", "12"]
    ran = subprocess.run([*command, "--messages", "8000"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = {row["where"]: row for row in json.loads(ran.stdout)}
    assert found["cluster"]["differs"] == found["killed"]["differs"] == ""
    assert found["cluster"]["input_bytes"] > 0, "Spark itself reads the files"
    assert found["killed"]["finished"] >= 2
    assert found["killed"]["repeated"] >= 1
    # The package came with the job, and its kernels were compiled once for each executor.
    assert found["executors"]["sent"]
    assert found["executors"]["cached"]


def processes_in(directory: Path) -> list[str]:
    """Returns processes with that working directory: master, workers, executors."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
        except OSError:
            continue
        if place.is_relative_to(directory):
            found.append(process.name)
    return found


@pytest.mark.timeout(1_500)
def test_a_cluster_of_the_command_line_leaves_nothing_behind(java: None, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dovemq", "dev", "spark", "up", "--json", "--workers", "1"]
    process = subprocess.Popen([*command, "--directory", tmp_path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process:
        announced = msgspec.json.decode(process.stdout.readline())
        assert announced["master_url"].startswith("spark://127.0.0.1:")
        assert len(processes_in(tmp_path)) == 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
    assert not processes_in(tmp_path)


def ended(part: int, executor: str, launched_ms: int, reason: str = "Success") -> str:
    info = {"Partition ID": part, "Executor ID": executor, "Launch Time": launched_ms}
    task = {"Stage ID": 1, "Task Info": {**info, "Finish Time": launched_ms + 5}}
    reasons = {"Task End Reason": {"Reason": reason}}
    return json.dumps({"Event": "SparkListenerTaskEnd", **task, **reasons})


def test_event_log_shows_repeated_work(tmp_path: Path) -> None:
    lines = [
        json.dumps({"Event": "SparkListenerLogStart"}),
        ended(0, "7", 50),
        ended(1, "7", 100),
        ended(2, "8", 100),
        ended(3, "7", 110),
        ended(4, "7", 118, "ExecutorLostFailure"),
        ended(1, "7", 100, "Resubmitted"),
        ended(1, "8", 130),
        ended(4, "8", 140),
    ]
    (tmp_path / "events").write_text("\n".join(lines) + "\n")
    (tmp_path / ".events.crc").write_bytes(b"\xff")
    assert loss_of(tmp_path, "7", since_ms=90, lost_ms=120) == Loss(finished=2, repeated=2)
