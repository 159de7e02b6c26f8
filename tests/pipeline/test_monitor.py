"""The monitor on Spark: figures of a growing trace, also after a kill."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow.parquet as pq
import pytest

from dovemq.cli import main
from dovemq.client.sync import BlockingAdminClient, BlockingSqsClient
from dovemq.pipeline.errors import FolderTaken, FolderUnfit
from dovemq.pipeline.monitor.directory import MonitorDirectory, Terms
from dovemq.pipeline.monitor.watch import Bounds
from dovemq.testing.local_server import LocalServer
from tests.pipeline.watching import SECOND_US, expected, found, history, write_trace, write_traces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dovemq.pipeline.monitor.job import Batch

ACCOUNT = "000000000000"
BOUNDS = Bounds(late_us=5 * SECOND_US, horizon_us=60 * SECOND_US, messages_max=10_000)
HISTORIES = {f"{ACCOUNT}/q{number}": history(number, messages=90) for number in range(3)}


class Interruption(RuntimeError):
    """Interrupts a batch."""


def run_monitor(
    spark: "SparkSession", traces: Path, place: MonitorDirectory, fail_at: int | None = None
) -> list["Batch"]:
    """Reads all files, and returns the reported batches."""
    from dovemq.pipeline.monitor.job import Monitor

    told: list[Batch] = []

    def tell(batch: "Batch") -> None:
        if batch.number == fail_at:
            raise Interruption
        told.append(batch)

    with place.held(Terms(str(traces), BOUNDS)):
        query = Monitor(str(traces), place, BOUNDS, 4, tell).start(spark, None)
        query.awaitTermination()
    return told


def last_figures(place: MonitorDirectory) -> dict[str, dict[str, Any]]:
    newest = max((place.directory / "figures").glob("*.parquet"))
    return {row["queue"]: row for row in pq.read_table(newest).to_pylist()}


def check_against_the_whole_trace(place: MonitorDirectory) -> None:
    figures = last_figures(place)
    assert {queue: found(row) for queue, row in figures.items()} == {
        queue: expected(rows) for queue, rows in HISTORIES.items()
    }
    assert not [row for row in figures.values() if row["late"] or row["unordered"]]


def test_a_monitor_that_fails_goes_on_as_if_it_had_not(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    traces, place = tmp_path / "traces", MonitorDirectory(tmp_path / "out")
    write_traces(traces, HISTORIES, range(5))
    with pytest.raises(StreamingQueryException, match="Interruption"):
        run_monitor(spark, traces, place, fail_at=1)
    # Interrupted between the state of a batch and its figures, and before its state was complete.
    (place.state(1) / "_SUCCESS").unlink()
    assert [batch.number for batch in run_monitor(spark, traces, place)] == [1]
    write_traces(traces, HISTORIES, range(5, 10))
    write_trace(traces, 99, {})
    (traces / "half.parquet.partial").write_text("not yet")
    batches = run_monitor(spark, traces, place)
    assert [batch.number for batch in batches] == [2, 3]
    check_against_the_whole_trace(place)
    assert len(list((place.directory / "figures").iterdir())) == 4
    assert len(list((place.directory / "state").iterdir())) == 2


def test_a_monitor_that_is_stopped_ends_its_batch_first(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from dovemq.pipeline.monitor.job import Monitor, await_end

    traces, place = tmp_path / "traces", MonitorDirectory(tmp_path / "out")
    write_traces(traces, HISTORIES, range(10))
    stopping = threading.Event()
    told: list[int] = []

    def tell(batch: "Batch") -> None:
        told.append(batch.number)
        stopping.set()

    monitor = Monitor(str(traces), place, BOUNDS, 5, tell)
    with place.held(Terms(str(traces), BOUNDS)):
        await_end(monitor.start(spark, every_seconds=1), monitor, stopping)
    assert told
    run_monitor(spark, traces, place)
    check_against_the_whole_trace(place)


def test_a_row_that_cannot_be_believed_is_counted_and_left_out(
    spark: "SparkSession", tmp_path: Path
) -> None:
    traces, place = tmp_path / "traces", MonitorDirectory(tmp_path / "out")
    write_trace(traces, 0, {f"{ACCOUNT}/q": history(1, messages=9), "": history(2, messages=3)})
    (batch,) = run_monitor(spark, traces, place)
    assert batch.quarantined == len(history(2, messages=3))
    assert [row["queue"] for row in batch.figures] == [f"{ACCOUNT}/q"]


@contextlib.contextmanager
def command(*args: object, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs `dovemq` as a process group that is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dovemq", *map(str, args)],
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def create_queue(server: LocalServer, name: str) -> None:
    with BlockingSqsClient(server.endpoint_url, server.access_key) as client:
        client.create_queue(name, {}, {})


def test_killed_monitor_continues_and_the_server_has_its_figures(
    spark: "SparkSession", tmp_path: Path
) -> None:
    traces, place = tmp_path / "traces", MonitorDirectory(tmp_path / "out")
    write_traces(traces, HISTORIES, range(4))
    args = ["--late", "5s", "--horizon", "60s", "--messages-max", 10_000, "--files-max", 1]
    quick = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    args += ["--available-now", "--json", "--publish", "--memory", "1g", "--spark", quick]
    with LocalServer(tmp_path / "data", args=["--store", "memory://"]) as server:
        create_queue(server, "q1")
        place_args = ("--out", place.directory, *args)
        with command("pipeline", "monitor", traces, *place_args, **server.env) as process:
            assert process.stdout is not None
            told = [msgspec.json.decode(process.stdout.readline()) for _ in range(2)]
        with BlockingAdminClient(server.admin_url, server.access_key) as admin:
            shown = admin.consistency(ACCOUNT, "q1")
    assert [each["batch"] for each in told] == [0, 1]
    row = next(row for row in told[0]["queues"] if row["queue"].endswith("q1"))
    assert shown["messages"] >= row["messages"]
    assert shown["to_ms"] >= row["last_us"] // 1_000
    write_traces(traces, HISTORIES, range(4, 10))
    assert run_monitor(spark, traces, place)[0].number in (1, 2, 3)
    check_against_the_whole_trace(place)


def test_directory_is_for_one_monitor_with_the_same_terms(tmp_path: Path) -> None:
    terms = Terms("traces", BOUNDS)
    place, other = MonitorDirectory(tmp_path / "out"), MonitorDirectory(tmp_path / "out")
    with place.held(terms), pytest.raises(FolderTaken, match="another monitor"), other.held(terms):
        pass
    with other.held(terms):
        pass
    wider = msgspec.structs.replace(BOUNDS, horizon_us=61 * SECOND_US)
    with pytest.raises(FolderUnfit, match="--horizon 60s"), place.held(Terms("traces", wider)):
        pass


def test_missing_state_is_reported(tmp_path: Path) -> None:
    place = MonitorDirectory(tmp_path)
    assert place.state_before(0) is None
    with pytest.raises(FolderUnfit, match="state after batch 6 is gone"):
        place.state_before(7)


@pytest.mark.parametrize("job", [["pipeline", "monitor", "."], ["dev", "spark", "up"]], ids=str)
def test_command_reports_a_missing_java(
    job: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    out = ["--out", str(tmp_path / "out")] if job[0] == "pipeline" else []
    assert main([*job, *out]) == 1
    error = capfd.readouterr().err
    assert "openjdk-17-jre-headless" in error
    assert "Traceback" not in error


def test_traces_that_are_no_directory_are_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "none")
    assert main(["pipeline", "monitor", missing, "--out", str(tmp_path / "out")]) == 2
    assert "is not a directory" in capsys.readouterr().err
