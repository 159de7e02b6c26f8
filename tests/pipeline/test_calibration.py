"""Calibration of traces: engines agree, and known parameters are found."""

import functools
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovemq.cli import main
from dovemq.models.calibration import known
from dovemq.models.distributions import Deterministic, Exponential, by_moments
from dovemq.models.estimates import Parameter
from dovemq.models.planning import read_spec
from dovemq.pipeline.calibration.duck import observe, observed_by_duckdb
from dovemq.pipeline.calibration.model_file import MessageService, mismatch, model_text
from dovemq.pipeline.calibration.parameters import (
    Calibration,
    FrontEndParameters,
    QueueParameters,
    calibrated,
)
from tests.pipeline.simulated_traces import (
    BEGAN_US,
    QUEUE,
    World,
    front_end_trace,
    simulated_trace,
    trace_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = 100
RIGHT = range(90, 100)
FAILURES = 0.1
WORLD = World(
    {"parcel": Exponential(0.02), "letter": by_moments(0.03, 3.0)},
    by_moments(0.015, 0.4),
    consumers=4,
    failure_probability=FAILURES,
    messages=1_000,
)
UTILISATION = 0.6
FRONT_END_SERVICE = by_moments(0.001, 0.5)


def calibration_of(*tables: Any) -> Calibration:
    with duckdb.connect() as connection:
        return calibrated(observe(connection, connection.from_arrow(pa.concat_tables(tables))))


def _parameters(queue: QueueParameters) -> dict[str, Parameter]:
    parcel, letter = queue.jobs["parcel"], queue.jobs["letter"]
    named = {
        "rate of Poisson arrivals": parcel.rate,
        "scv of Poisson arrivals": parcel.scv,
        "rate of bursty arrivals": letter.rate,
        "scv of bursty arrivals": letter.scv,
        "service rate": queue.service_rate,
        "service scv": queue.service_scv,
        "failure probability": queue.failure_probability,
        "retries": queue.retries,
        "work": queue.work,
    }
    return {name: known(each, name) for name, each in named.items()}


TRUTH = {
    "rate of Poisson arrivals": 50.0,
    "scv of Poisson arrivals": 1.0,
    "rate of bursty arrivals": 1 / 0.03,
    "scv of bursty arrivals": 3.0,
    "service rate": 1 / 0.015,
    "service scv": 0.4,
    "failure probability": FAILURES,
    "retries": FAILURES / (1 - FAILURES),
    "work": 0.015,
}


@functools.cache
def _hundred() -> tuple[QueueParameters, ...]:
    """One queue for each seed."""
    traces = (simulated_trace(WORLD, seed, f"000000000000/{seed}") for seed in range(SEEDS))
    return calibration_of(*traces).queues


@pytest.mark.parametrize("name", TRUTH)
def test_parameters_of_a_simulated_trace_are_in_their_intervals(name: str) -> None:
    held = [_parameters(queue)[name].holds(TRUTH[name]) for queue in _hundred()]
    assert len(held) == SEEDS
    assert sum(held) in RIGHT


def test_consumers_are_counted() -> None:
    assert {queue.consumers for queue in _hundred()} == {WORLD.consumers}


@functools.cache
def _hundred_front_ends() -> tuple[FrontEndParameters, ...]:
    traces = (front_end_trace(FRONT_END_SERVICE, UTILISATION, 3_000, seed) for seed in range(SEEDS))
    return calibration_of(*traces).front_ends


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("request_rate", UTILISATION / FRONT_END_SERVICE.mean),
        ("utilisation", UTILISATION),
        ("service_time", FRONT_END_SERVICE.mean),
    ],
)
def test_parameters_of_a_simulated_front_end_are_in_their_intervals(
    name: str, truth: float
) -> None:
    found = [getattr(each, name) for each in _hundred_front_ends()]
    assert len(found) == SEEDS
    assert sum(known(each, name).holds(truth) for each in found) in RIGHT


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two queues in three files, with invalid rows."""
    folder = tmp_path_factory.mktemp("trace")
    pq.write_table(simulated_trace(WORLD, 1), folder / "a.parquet")
    other = World({None: by_moments(0.01, 0.3)}, Deterministic(0.02), consumers=3)
    pq.write_table(simulated_trace(other, 2, "000000000000/other.fifo"), folder / "b.parquet")
    bad = {"event": "sent", "ts_us": BEGAN_US, "message_id": "m", "sender": "s", "send_seq": 1}
    missed = {"event": "missed", "ts_us": BEGAN_US, "ot_us": BEGAN_US, "latency_us": 0}
    rows = [bad, {**bad, "event": "vanished"}, {**missed, "client": "one that came in vain"}]
    pq.write_table(trace_of(rows), folder / "c.parquet")
    (folder / "d.parquet").write_text("no Parquet at all")
    return folder


def test_both_engines_observe_exactly_the_same(spark: "SparkSession", place: Path) -> None:
    from dovemq.pipeline.calibration.spark import observed_by_spark

    one, other = observed_by_duckdb([str(place)]), observed_by_spark(spark, [str(place)])
    for name, table in one.tables.items():
        assert table.num_rows > 0
        assert table.equals(other.tables[name]), name
    assert (one.rows, one.quarantined, one.refused) == (
        other.rows,
        other.quarantined,
        other.refused,
    )
    assert one.quarantined == 2
    assert [each.file.rpartition("/")[2] for each in one.refused] == ["d.parquet"]


def test_constant_service_is_recognised(place: Path) -> None:
    other = calibrated(observed_by_duckdb([str(place)])).queues[1]
    assert other.queue == "000000000000/other.fifo"
    assert other.service_fits[0].name == "deterministic"
    assert known(other.service_scv, "scv").value == 0.0


def test_model_file_contains_the_calibration(place: Path) -> None:
    found = calibrated(observed_by_duckdb([str(place)]))
    text = tomllib.loads(model_text(found))
    spec = read_spec(text)
    topics = {topic.name: topic for topic in spec.problem.network.topics}
    orders = next(each for each in found.queues if each.queue == QUEUE)
    assert set(topics) == {QUEUE, "000000000000/other.fifo"}
    assert topics[QUEUE].consumers == WORLD.consumers
    assert topics[QUEUE].service_rate == MessageService(orders).rate
    jobs = {job.name: job for job in spec.problem.network.jobs}
    assert jobs[f"{QUEUE} letter"].arrival_rate == known(orders.jobs["letter"].rate, "rate").value
    kept = text["calibrated"]["topics"][QUEUE]["service_rate"]
    assert kept["low"] < known(orders.service_rate, "rate").value == kept["value"] < kept["high"]


def test_work_that_is_done_again_is_work_of_the_message() -> None:
    """Deliveries are geometric, so the distribution of the sum of services is known."""
    found = calibration_of(simulated_trace(WORLD, 5)).queues[0]
    service, tries = MessageService(found), 1 / (1 - FAILURES)
    assert service.rate == pytest.approx(1 / 0.015 / tries, rel=0.1)
    assert service.scv == pytest.approx(0.4 / tries + FAILURES, rel=0.15)


Row = dict[str, Any]


def _deliveries(*ends: tuple[str, int]) -> list[Row]:
    """Returns the events of one message, one per second."""
    rows: list[Row] = []
    for second, (event, count) in enumerate(ends):
        ts = BEGAN_US + 1_000_000 * second
        row = {
            "event": event,
            "ts_us": ts,
            "message_id": "m",
            "send_seq": 1,
            "receive_count": count,
        }
        row |= {"sender": "s", "client": "c", "ot_us": ts, "latency_us": 0}
        if event == "sent":
            row |= {"at_us": ts, "receive_count": None}
        if event == "leased":
            row |= {"it_us": ts, "receive_seq": second + 1}
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("ends", "settled", "failed", "left"),
    [
        ([("leased", 1), ("settled", 1)], 1, 0, 0),
        ([("leased", 1), ("leased", 2), ("settled", 2)], 1, 1, 0),
        ([("leased", 1), ("leased", 2), ("redriven", 2)], 0, 2, 0),
        ([("leased", 1)], 0, 0, 1),
        ([("leased", 1), ("expired", 0)], 0, 0, 1),
        # Settled by the receipt of a delivery whose lease had ended.
        ([("leased", 1), ("leased", 2), ("settled", 1)], 0, 1, 1),
        # Moved back from a dead-letter queue, and counted from 1 again.
        ([("leased", 1), ("redriven", 1), ("leased", 1), ("settled", 1)], 1, 1, 0),
    ],
)
def test_a_delivery_fails_if_the_message_is_leased_again_or_redriven(
    ends: list[tuple[str, int]], settled: int, failed: int, left: int
) -> None:
    with duckdb.connect() as connection:
        table = trace_of(_deliveries(("sent", 0), *ends))
        observed = observe(connection, connection.from_arrow(table))
    (row,) = observed.tables["outcomes"].to_pylist()
    assert (row["settled"], row["failed"]) == (settled, failed)
    assert calibrated(observed).queues[0].open == left


def test_a_client_that_comes_back_is_one_consumer() -> None:
    rows = []
    for number, client in enumerate(["here", "back again", "beside"]):
        for row in _deliveries(("sent", 0), ("leased", 1), ("settled", 1)):
            later = 1_000 if client == "back again" else 0
            moved = {key: row[key] + later * 10_000 for key in ("ts_us", "ot_us")}
            moved |= {key: row[key] + later * 10_000 for key in ("at_us", "it_us") if key in row}
            rows.append({**row, **moved, "client": client, "message_id": str(number)})
    queue = calibration_of(trace_of(rows)).queues[0]
    assert (queue.consumers, queue.clients) == (2, 3)


Ask = Callable[..., str]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(*args: object, code: int = 0) -> str:
        assert main([str(arg) for arg in args]) == code
        return capsys.readouterr().out

    return asked


def test_the_command_writes_a_file_that_models_and_plans_read(
    ask: Ask, place: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.toml"
    text = ask("pipeline", "calibrate", place, "--out", model)
    assert "failure_probability" in text
    assert "not read: " in text
    network = json.loads(ask("model", "network", model, "--json"))
    assert {each["topic"] for each in network["topics"]} >= {QUEUE}
    assert json.loads(ask("plan", model, "--budget", 2, "--json"))["plan"]["feasible"]
    station = json.loads(ask("model", "queue", "--from", model, "--topic", QUEUE, "--json"))
    expected = next(each["time_s"] for each in network["topics"] if each["topic"] == QUEUE)
    assert station["results"][0]["sojourn_time"] == pytest.approx(expected)
    other = ask("model", "queue", "--from", model, "--topic", QUEUE, "--servers", 9, "--json")
    assert json.loads(other)["results"][0]["sojourn_time"] < expected


def test_command_reports_drift(ask: Ask, tmp_path: Path) -> None:
    for name, mean in (("then", 0.015), ("now", 0.018)):
        world = World({None: Exponential(0.01)}, Exponential(mean), consumers=4)
        pq.write_table(simulated_trace(world, len(name)), tmp_path / f"{name}.parquet")
    then, now = tmp_path / "then.parquet", tmp_path / "now.parquet"
    found = json.loads(ask("pipeline", "calibrate", then, "--compare", now, "--json"))
    drifted = [each["parameter"] for each in found["drift"] if each["drifted"]]
    assert drifted == [f"{QUEUE}.service_rate"]
    assert "yes" in ask("pipeline", "calibrate", then, "--compare", now)


def test_periods_without_a_common_queue_are_a_failure_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World({None: Exponential(0.01)}, Exponential(0.015), consumers=4)
    table = simulated_trace(world, 3)
    other = table.set_column(
        table.schema.get_field_index("queue"), "queue", pa.array(["account/other"] * len(table))
    )
    for name, rows in (("then", table), ("now", other)):
        pq.write_table(rows, tmp_path / f"{name}.parquet")
    then, now = str(tmp_path / "then.parquet"), str(tmp_path / "now.parquet")
    assert main(["pipeline", "calibrate", then, "--compare", now]) == 1
    reason = capsys.readouterr().err
    assert "no parameter in common" in reason
    assert QUEUE in reason
    assert "account/other" in reason


def test_model_that_is_far_from_the_measured_mean_is_reported_with_a_likely_cause() -> None:
    world = World({None: Exponential(0.01)}, Exponential(0.015), consumers=4)
    (queue,) = calibration_of(simulated_trace(world, 3)).queues
    assert queue.sojourn is not None
    assert mismatch(queue, queue.sojourn * 1.2) is None
    assert "independent" in str(mismatch(queue, queue.sojourn / 4))
    batched = msgspec.structs.replace(queue, messages_per_lease=10.0)
    assert "10.0 messages at a time" in str(mismatch(batched, queue.sojourn * 4))
    assert "unstable" in str(mismatch(queue, None))


def test_output_into_a_missing_directory_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["pipeline", "calibrate", "nowhere", "--out", str(tmp_path / "no" / "model.toml")])
    assert "there is no directory" in capsys.readouterr().err


def test_trace_with_too_few_events_is_a_failure(ask: Ask, tmp_path: Path) -> None:
    rows = _deliveries(("sent", 0), ("leased", 1), ("settled", 1))
    pq.write_table(trace_of(rows), tmp_path / "short.parquet")
    text = ask("pipeline", "calibrate", tmp_path, "--out", tmp_path / "model.toml", code=1)
    assert f"not in the file: {QUEUE}" in text
    assert not (tmp_path / "model.toml").exists()
