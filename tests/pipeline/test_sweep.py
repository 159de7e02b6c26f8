"""Sweeps with Spark: the same rows however they are split, correct intervals, and a kill."""

import math
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovemq.models.analytic import mmc, vma
from dovemq.models.petri import write_net
from dovemq.models.sweeping import SweepFindings, read_sweep
from dovemq.models.vma.parameters import VmaParameters
from dovemq.pipeline.sweep.ledger import ROWS, ReplicationFailed
from dovemq.pipeline.sweep.replicating import ASKED, on_spark, replications
from dovemq.testing.spark_cluster import SparkCluster
from tests.models.petri.queueing import station
from tests.pipeline.sweeping import TEXT, contents, here, run_in, sweep_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCALE = int(os.environ.get("DOVETEST_SWEEP", "1"))
CONFIDENCE = 0.95
CHANCE_MIN = 0.001
"""The least probability of the number of intervals that contain the truth."""
KILL_AFTER_PARTS = 2
WAIT_SECONDS_MAX = 900

QUEUES = """
model = "queue"
measures = ["sojourn_time", "waiting_time", "number", "utilisation"]
[fixed]
service_rate = 1
[grid]
consumers = [1, 2, 3, 5]
arrival_rate = [0.2, 0.35, 0.5, 0.65, 0.7, 0.75, 1.3, 1.7, 2.2, 3.1, 3.7]
[run]
horizon = 10000
warm_up = 500
seed = {seed}
[replications]
min = 20
"""
TANDEMS = """
model = "vma"
measures = ["delivery_time", "waiting", "gets"]
[fixed]
service_rate = 10
[grid]
arrival_rate = [10.0, 20.0, 30.3]
sender_threads = [4, 5, 6]
broker_threads = [5, 7]
reliability = [1.0, 0.9]
[run]
horizon = 600
warm_up = 60
seed = {seed}
[replications]
min = 20
"""
FAILING = """
model = "cpn"
file = "net.json"
measures = ["count Arrive"]
[grid]
rate = [1.0, 0.0]
[run]
horizon = 5
"""


def _asked(count: int) -> pa.Table:
    return pa.table(
        [[row % 6 for row in range(count)], [row // 6 for row in range(count)]], schema=ASKED
    )


@pytest.mark.parametrize(("partitions", "batch_rows"), [(1, 10_000), (7, 10_000), (3, 2)])
def test_rows_do_not_depend_on_partitions_nor_on_batches(
    spark: "SparkSession", partitions: int, batch_rows: int
) -> None:
    sweep, asked = sweep_of(), _asked(20)
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    spark.conf.set(name, str(batch_rows))
    try:
        places = spark.range(0, asked.num_rows, 1, partitions)
        found = replications(places, asked, sweep).toArrow()
    finally:
        spark.conf.set(name, before or "10000")
    order = [("configuration", "ascending"), ("replication", "ascending")]
    assert found.cast(ROWS).sort_by(order) == here(sweep)(asked).sort_by(order)


def test_a_sweep_over_spark_gives_the_bytes_of_one_in_this_process(
    spark: "SparkSession", tmp_path: Path
) -> None:
    sweep = sweep_of()
    run_in(tmp_path / "spark", sweep, on_spark(spark, sweep))
    run_in(tmp_path / "here", sweep, here(sweep))
    assert contents(tmp_path / "spark") == contents(tmp_path / "here")


def test_model_that_fails_is_reported_with_its_configuration(
    spark: "SparkSession", tmp_path: Path
) -> None:
    net = write_net(station(1, "exponential(rate)", "exponential(1.0)", rate=1.0))
    sweep = read_sweep(tomllib.loads(FAILING), lambda _: net)
    with pytest.raises(ReplicationFailed, match=r"configuration 1 \(rate = 0\.0\).*a rate above 0"):
        run_in(tmp_path, sweep, on_spark(spark, sweep))


def _chances(count: int) -> list[float]:
    """Returns the probability of each number of intervals that contain the truth."""
    return [
        math.comb(count, held) * CONFIDENCE**held * (1 - CONFIDENCE) ** (count - held)
        for held in range(count + 1)
    ]


def _check_coverage(held: Sequence[bool]) -> None:
    chances = _chances(len(held))
    assert math.fsum(chances[: sum(held) + 1]) > CHANCE_MIN
    assert math.fsum(chances[sum(held) :]) > CHANCE_MIN


def _held(
    findings: SweepFindings, points: Sequence[Any], exact: Callable[..., Sequence[float]]
) -> list[list[bool]]:
    """Returns the results by measure, over the stable configurations."""
    found = [
        [
            estimate.holds(value)
            for estimate, value in zip(findings.estimates(place), exact(*point), strict=True)
        ]
        for place, point in enumerate(points)
        if findings.stable[place]
    ]
    return [list(column) for column in zip(*found, strict=True)]


def _queue(consumers: int, arrival_rate: float) -> list[float]:
    station = mmc(arrival_rate, 1, consumers)
    figures = (station.sojourn_time, station.waiting_time, station.number, station.utilisation)
    return [float(figure) for figure in figures]


def _tandem(
    arrival_rate: float, sender_threads: int, broker_threads: int, reliability: float
) -> list[float]:
    found = vma(
        VmaParameters(arrival_rate, 10, 10, sender_threads, broker_threads, reliability=reliability)
    )
    return [float(found.delivery_time), float(found.waiting), float(found.gets)]


@pytest.mark.timeout(1_500)
@pytest.mark.parametrize("seed", range(SCALE))
@pytest.mark.parametrize(
    ("text", "exact", "random"), [(QUEUES, _queue, 4), (TANDEMS, _tandem, 2)], ids=["mmc", "tandem"]
)
def test_intervals_hold_the_exact_value_as_often_as_they_claim(
    spark: "SparkSession",
    tmp_path: Path,
    text: str,
    exact: Callable[..., Sequence[float]],
    random: int,
    seed: int,
) -> None:
    """Checks the first measures, which are random in every configuration."""
    sweep = sweep_of(text.format(seed=seed))
    findings = run_in(tmp_path, sweep, on_spark(spark, sweep))
    held = _held(findings, sweep.points, exact)
    assert len(held[0]) >= 30
    for column in held[:random]:
        _check_coverage(column)


def _command(spec: Path, folder: Path, *more: str) -> list[str]:
    asked = ["pipeline", "sweep", str(spec), "--out", str(folder), "--memory", "1g"]
    return [sys.executable, "-m", "dovemq", *asked, *more]


def _killed_half_way(spec: Path, folder: Path) -> None:
    """Kills the process and its Java once some parts are kept."""
    with subprocess.Popen(
        _command(spec, folder, "--keep-seconds", "0.01", "--master", "local[2]"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            for _ in range(10 * WAIT_SECONDS_MAX):
                if len(list((folder / "parts").glob("*.parquet"))) >= KILL_AFTER_PARTS:
                    break
                try:
                    process.wait(0.1)
                    break
                except subprocess.TimeoutExpired:
                    continue
            assert process.poll() is None, process.stderr and process.stderr.read()
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.timeout(1_500)
def test_a_sweep_killed_half_way_and_taken_up_again_gives_the_same_table(
    spark: "SparkSession", tmp_path: Path
) -> None:
    spec, folder = tmp_path / "spec.toml", tmp_path / "killed"
    spec.write_text(TEXT)
    _killed_half_way(spec, folder)
    assert not (folder / "results.parquet").exists()
    kept = pq.read_table(folder / "parts").num_rows
    sweep = sweep_of()
    run_in(folder, sweep, on_spark(spark, sweep))
    run_in(tmp_path / "whole", sweep, here(sweep))
    assert contents(folder) == contents(tmp_path / "whole")
    rows = pq.read_metadata(folder / "replications.parquet").num_rows
    assert 0 < kept < rows


@pytest.mark.timeout(1_500)
@pytest.mark.skipif(SCALE == 1, reason="each executor compiles the kernel: make test-full")
def test_a_cluster_of_two_workers_gives_the_bytes_of_this_process(
    java: None, tmp_path: Path
) -> None:
    spec, folder = tmp_path / "spec.toml", tmp_path / "found"
    spec.write_text(TEXT)
    with SparkCluster(tmp_path / "cluster") as cluster:
        subprocess.run(
            _command(spec, folder, "--master", cluster.master_url), stdout=subprocess.DEVNULL
        )
    sweep = sweep_of()
    run_in(tmp_path / "here", sweep, here(sweep))
    assert contents(folder) == contents(tmp_path / "here")
