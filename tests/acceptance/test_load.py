"""`dovemq load run` against real servers: ours, and another one that speaks SQS."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from bench.peers.starting import moto
from dovemq.testing.local_server import LocalServer

Load = Callable[..., Any]
RUN = (sys.executable, "-m", "dovemq", "load", "run")
SMALL = ("--senders", "3", "--receivers", "3", "--messages", "50")


def environment(**variables: str) -> dict[str, str]:
    """Nothing of the developer's AWS or DoveMQ settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "DOVEMQ_"))
    }
    return {**kept, **variables}


@pytest.fixture
def load(server: LocalServer) -> Load:
    """The document of a run against our own server."""

    def run(*args: str, code: int = 0) -> Any:
        return loaded(environment(**server.env), *args, code=code)

    return run


def loaded(env: dict[str, str], *args: str, code: int = 0) -> Any:
    command = [*RUN, "--json", *args]
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--phases", "apart", "--applications", "2", "--receive-batch", "1", "--bytes", "2048"),
        ("--fifo", "--resend"),
        ("--send-rate", "500", "--arrivals", "constant", "--attribute", "OrderHint=3"),
        ("--processes", "2", "--send-batch", "10"),
    ],
    ids=" ".join,
)
def test_correct_service_loses_nothing_and_is_measured(load: Load, args: tuple[str, ...]) -> None:
    document = load(*SMALL, *args)
    (repetition,) = document["repetitions"]
    total = 150 * (2 if "--applications" in args else 1)
    report = repetition["report"]
    assert not document["failed"]
    assert report["sends"]["acknowledged"] == report["received"] == total
    assert not any(report["faults"].values())
    figures = document["figures"]
    assert figures["send rate"]["median"] > 0
    assert figures["receive+delete rate"]["median"] > 0
    assert 0 < figures["send p50"]["median"] <= figures["send p99"]["median"]


def test_journals_and_trace_of_a_run_tell_the_same(load: Load, tmp_path: Path) -> None:
    journals, traces = tmp_path / "journals", tmp_path / "traces"
    document = load(*SMALL, "--journal", str(journals), "--trace", str(traces))
    check = [sys.executable, "-m", "dovemq", "load", "check", "--json", str(journals)]
    checked = json.loads(subprocess.run(check, capture_output=True, check=True).stdout)
    checked.pop("failed")
    assert checked == document["repetitions"][0]["report"]
    found = duckdb.execute(
        "select event, count(*), count(distinct (sender, send_seq)), count(distinct message_id) "
        f"from '{traces}/*.parquet' group by event order by event"
    ).fetchall()
    # A settled row has no sender, as in the server's own trace.
    assert found == [
        ("leased", 150, 150, 150),
        ("sent", 150, 150, 150),
        ("settled", 150, 50, 150),
    ]


def test_cpu_of_the_server_is_reported_per_message(load: Load, server: LocalServer) -> None:
    document = load(*SMALL, "--server-pid", str(server.pid), "--repetitions", "3")
    cost = document["figures"]["server CPU"]
    assert 0 < cost["low"] <= cost["median"] <= cost["high"]
    assert len(document["repetitions"]) == 3


def await_journals(process: subprocess.Popen[Any], journals: Path) -> None:
    """Wait until the run has started."""
    while not list(journals.rglob("*.journal")):
        let_run(process, 0.05)


def let_run(process: subprocess.Popen[Any], seconds: float) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(seconds)


def test_server_that_is_killed_meanwhile_loses_nothing(tmp_path: Path) -> None:
    with LocalServer(tmp_path / "data") as server:
        journals = tmp_path / "journals"
        command = [*RUN, "--json", "--journal", str(journals), "--seconds", "4", "--resend"]
        command += ["--send-rate", "300", "--lease", "2", "--outage-seconds", "60"]
        # A lease that was not on disk yet is forgotten by a kill.
        command += ["--allow", "collided"]
        env = environment(**server.env)
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
            await_journals(process, journals)
            for _ in range(2):
                let_run(process, 0.7)
                server.kill()
                server.start()
            printed, _ = process.communicate(timeout=100)
    document = json.loads(printed)
    (repetition,) = document["repetitions"]
    assert process.returncode == 0, document
    assert repetition["report"]["faults"]["lost"] == 0
    assert repetition["failures"]


def test_interrupted_run_prints_its_table_and_leaves_no_queue(
    server: LocalServer, tmp_path: Path, sqs: Any
) -> None:
    env = environment(**server.env)
    journals = tmp_path / "journals"
    command = [*RUN, "--send-pause", "0.01"]
    command += ["--journal", str(journals), "--messages", "100000", "--processes", "2"]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        await_journals(process, journals)
        let_run(process, 1.0)
        # As a terminal does: to all processes of the run.
        os.killpg(process.pid, signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in printed
    assert "send rate" in printed
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix="load-")


def test_wrong_use_is_distinguished_from_failure(server: LocalServer) -> None:
    env = environment(**server.env)
    for args, code, text in (
        (["--send-batch", "11"], 2, "send_batch must be 1 to 10"),
        (["--send-rate", "0"], 2, "'0' is not a number above 0"),
        (["--endpoint-url", "http://127.0.0.1:1"], 1, "is the server running?"),
    ):
        done = subprocess.run([*RUN, *args], env=env, capture_output=True, text=True)
        assert done.returncode == code
        assert text in done.stderr


def test_moto_is_driven_too(tmp_path: Path) -> None:
    running = moto(tmp_path, tmp_path)
    try:
        env = environment(
            AWS_ACCESS_KEY_ID="any", AWS_SECRET_ACCESS_KEY="any", AWS_REGION="us-east-1"
        )
        url = f"http://{running.address}"
        document = loaded(env, "--endpoint-url", url, "--senders", "2", "--messages", "20")
    finally:
        running.stop()
    assert document["repetitions"][0]["report"]["received"] == 40
