"""`dovemq pipeline sweep` and `capacity` with the Spark session of the tests."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dovemq.cli import main
from dovemq.cli.pipeline_sweep import panels
from dovemq.pipeline import session
from dovemq.pipeline.session import SparkPlan
from tests.pipeline.sweeping import TEXT, sweep_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Ask = Callable[..., str]


@pytest.fixture
def ask(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ask:
    @contextlib.contextmanager
    def shared(plan: SparkPlan) -> "Iterator[SparkSession]":
        yield spark

    monkeypatch.setattr(session, "spark_session", shared)

    def asked(*args: object, code: int = 0) -> str:
        assert main(["pipeline", *map(str, args)]) == code
        printed = capsys.readouterr()
        return printed.err if code == 2 else printed.out

    return asked


def test_a_sweep_prints_figures_with_intervals_and_where_they_are(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(TEXT.replace("half_width = 0.05", "half_width = 0.5"))
    picture = tmp_path / "sweep.svg"
    told = ask("sweep", "spec.toml", "--plot", picture)
    assert "±" in told
    assert "1 are unstable and were not run" in told
    assert "spec-sweep/results.csv" in told
    assert "consumers = 2" in picture.read_text()
    found = json.loads(ask("sweep", "spec.toml", "--json"))
    assert len(found["results"]) == 9
    assert found["not_content"] == 0
    assert found["results"][6]["sojourn_time"] is None


@pytest.mark.parametrize(("curves", "title"), [(10, "p95"), (11, "p95 (10 of 11 curves)")])
def test_a_picture_says_when_it_leaves_out_curves(curves: int, title: str) -> None:
    sweep = sweep_of(TEXT.replace("[1, 2, 3]", str(list(range(1, curves + 1)))))
    figures = dict.fromkeys(("sojourn_p95", "sojourn_p95_low", "sojourn_p95_high"), 1.0)
    times = {name.replace("p95", "time"): value for name, value in figures.items()}
    rows = [
        {"arrival_rate": 0.5, "consumers": count + 1, **figures, **times} for count in range(curves)
    ]
    assert panels(sweep, rows)[1].title == f"sojourn_{title}"


def test_a_half_width_that_is_not_reached_fails(ask: Ask, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(TEXT.replace("max = 40", "max = 8").replace("0.05", "0.001"))
    told = ask("sweep", spec, "--out", tmp_path / "out", code=1)
    assert "8 reached max replications" in told
    other = spec.with_name("other.toml")
    other.write_text(TEXT)
    assert main(["pipeline", "sweep", str(other), "--out", str(tmp_path / "out")]) == 1


def test_invalid_sweep_file_is_wrong_use(ask: Ask, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(TEXT.replace("sojourn_p95", "sojourn"))
    assert "'sojourn' is none of" in ask("sweep", spec, "--out", tmp_path / "out", code=2)
    spec.write_text(TEXT.replace('model = "queue"', 'model = "network"\nfile = "absent.toml"'))
    assert "absent.toml: cannot be read" in ask("sweep", spec, code=2)


def test_capacity_by_simulation_agrees_with_the_closed_form(ask: Ask, tmp_path: Path) -> None:
    asked: list[Any] = ["capacity", "--arrival-rate", 30, "--service-rate", 10]
    asked += ["--partition-rate", 40, "--partitions", "1,2", "--consumers", "4:8:2"]
    asked += ["--load", "0.5,1", "--target", 0.4, "--percentile", 95, "--json"]
    exact = json.loads(ask(*asked))
    more = ["--method", "kernel", "--half-width", 0.05, "--replications-max", 40]
    found = json.loads(ask(*asked, *more, "--out", tmp_path / "out"))
    assert [row["stable"] for row in found["configurations"]] == [
        row["stable"] for row in exact["configurations"]
    ]
    for simulated, told in zip(found["configurations"], exact["configurations"], strict=True):
        if told["stable"] and told["latency_s"] < 2 * 0.4:
            width = simulated["high_s"] - simulated["latency_s"]
            assert abs(simulated["latency_s"] - told["latency_s"]) <= 2.5 * width
    for simulated, told in zip(found["cheapest"], exact["cheapest"], strict=True):
        assert simulated["cost"] >= told["cost"]
    assert (tmp_path / "out" / "results.csv").exists()
