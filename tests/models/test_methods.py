"""Closed form and simulations answer one question alike."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dovemq.cli import main
from dovemq.models.analytic import network_measures
from dovemq.models.distributions import Deterministic, Exponential
from dovemq.models.errors import ModelError
from dovemq.models.simulation import SimulationRun, simulate_network, simulate_tandem
from dovemq.models.vma.methods import MEASURES, METHODS
from dovemq.models.vma.parameters import VmaParameters, timed_vma
from tests.models.test_cli_model import PLAN
from tests.models.workload import paper_network

SIMULATIONS = [method for method in METHODS if method != "analytic"]
SCENARIO = VmaParameters(30.3, 10.0, 10.0, 6, 6, reliability=0.88)
RUN = SimulationRun(100.0, replications=6, seed=3)
WIDTHS = 3.0
"""The closed form may be this many half widths of 95 % away: some figures of six runs each."""


@pytest.mark.parametrize("method", SIMULATIONS)
def test_simulation_holds_the_closed_form(method: str) -> None:
    exact = METHODS["analytic"](SCENARIO, RUN).measures
    found = METHODS[method](SCENARIO, RUN).measures
    for name in MEASURES:
        width = found[name].high - found[name].mean
        assert abs(found[name].mean - exact[name].mean) < WIDTHS * width


def test_timeout_and_link_of_the_kernel_are_those_of_the_closed_form() -> None:
    timed = replace(SCENARIO, failure="timer", visibility_timeout=1.0, link_delay=0.05)
    run = replace(RUN, replications=20, horizon=400.0)
    exact = METHODS["analytic"](timed, run).measures["delivery_time"].mean
    found = METHODS["kernel"](timed, run).measures["delivery_time"]
    assert found.low < exact < found.high


@pytest.mark.parametrize("method", SIMULATIONS)
def test_delivery_in_order_takes_longer_and_leaves_the_work_as_it_is(method: str) -> None:
    free = METHODS[method](SCENARIO, RUN).measures
    ordered = METHODS[method](replace(SCENARIO, order="in"), RUN).measures
    assert ordered["delivery_time"].mean > 1.3 * free["delivery_time"].mean
    assert ordered["broker_utilisation"].mean == pytest.approx(
        free["broker_utilisation"].mean, rel=0.1
    )


@pytest.mark.parametrize("method", SIMULATIONS)
def test_overload_is_named_though_it_can_be_run(method: str) -> None:
    crowded = replace(SCENARIO, broker_threads=3)
    assert METHODS[method](crowded, replace(RUN, replications=2)).unstable == ("broker",)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("more", [{"visibility_timeout": 5.0}, {"failure": "timer"}])
def test_timeout_and_timer_are_refused_without_each_other_by_every_method(
    method: str, more: dict[str, Any]
) -> None:
    with pytest.raises(ModelError, match="visibility_timeout"):
        METHODS[method](replace(SCENARIO, **more), RUN)


@pytest.mark.parametrize("horizon", ["-5", "0", "inf", "1e300"])
@pytest.mark.parametrize("method", ["kernel", "petri"])
def test_impossible_length_of_a_run_is_refused(
    capsys: pytest.CaptureFixture[str], method: str, horizon: str
) -> None:
    asked = ["model", "vma", "--arrival-rate", "30", "--service-rate", "10", "--threads", "6"]
    assert main([*asked, "--method", method, "--horizon", horizon]) == 2
    assert "is needed" in capsys.readouterr().err


def test_figure_that_was_not_measured_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "model vma --arrival-rate 30 --service-rate 10 --threads 6 --method kernel"
    assert main([*asked.split(), "--horizon", "1e-9"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("delivery_time_s ") and "unknown" in line for line in lines)


@pytest.mark.parametrize("method", SIMULATIONS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"gets_max": 3.0},
        {"arrival_rate": 0.0},
        {"sender_threads": 2.5},
        {"reliability": 1.5},
        {"broker_rate": -1.0},
    ],
)
def test_what_a_simulation_cannot_do_is_refused(method: str, wrong: dict[str, float]) -> None:
    with pytest.raises(ModelError):
        METHODS[method](replace(SCENARIO, **wrong), RUN)  # type: ignore[arg-type]


def test_decomposition_is_near_the_kernel_for_each_class() -> None:
    network = paper_network(consumers=(2, 2, 1, 4))
    model = network_measures(network).response_time
    found = simulate_network(network, SimulationRun(2_000.0, warm_up=200.0, replications=4, seed=1))
    for place, job in enumerate(network.jobs):
        assert float(model[place]) == pytest.approx(found.sojourn_of[job.name].mean, rel=0.12)


def test_network_is_simulated_at_a_multiple_of_its_load() -> None:
    network = paper_network().at_load(0.1)
    assert [job.arrival_rate for job in network.jobs] == pytest.approx([0.3, 0.35, 0.3])


def test_commands_take_the_method(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = "model vma --arrival-rate 30 --service-rate 10 --threads 6 --order in --method kernel"
    assert main([*asked.split(), "--replications", "3", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (
        result["delivery_time_s_low"] < result["delivery_time_s"] < result["delivery_time_s_high"]
    )
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    args = ["--factor", "0.2", "--method", "kernel", "--horizon", "2000", "--json"]
    assert main(["model", "network", str(path), *args]) == 0
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert all(job["low_s"] < job["response_time_s"] < job["high_s"] for job in jobs)


def test_run_is_chosen_for_the_load_and_leaves_its_start_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run of 100 s that starts empty gives 1.66 s; the closed form is 2.757 s."""
    crowded = VmaParameters(39.0, 10.0, 10.0, 4, 4, reliability=0.99)
    exact = METHODS["analytic"](crowded, RUN).measures["delivery_time"].mean
    asked = "model vma --arrival-rate 39 --service-rate 10,10 --threads 4,4 --reliability 0.99"
    simulated = [*asked.split(), "--method", "kernel"]
    assert main([*simulated, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["results"]
    assert found["warnings"] == []
    assert found["delivery_time_s"] == pytest.approx(exact, rel=0.12)
    assert found["delivery_p95_s"] > 2 * found["delivery_time_s"]
    assert main([*simulated, "--horizon", "100"]) == 0
    assert "warning: the run is too short for its load" in capsys.readouterr().out


def test_run_in_which_the_number_grows_says_that_no_steady_state_was_reached() -> None:
    grown = timed_vma(
        Exponential(1.0), Deterministic(0.5), Deterministic(3.0), 1, 2, 1.0, order="in"
    )
    found = simulate_tandem(grown, SimulationRun(500.0, replications=5))
    assert "no steady state was reached" in (found.steadiness or "")
    settled = simulate_tandem(SCENARIO, SimulationRun(500.0, warm_up=50.0, replications=5))
    assert settled.steadiness is None
    short = replace(SCENARIO, arrival_rate=50.0, failure="timer", visibility_timeout=0.05)
    answer = METHODS["kernel"](short, replace(RUN, replications=2))
    assert "no steady state" in answer.warnings[0]


def test_every_figure_of_a_simulated_network_is_simulated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    asked = ["model", "network", str(path), "--factor", "0.3", "--json"]
    assert main(asked) == 0
    model = json.loads(capsys.readouterr().out)
    reports = []
    for seed in ("1", "2"):
        simulated = ["--method", "kernel", "--horizon", "2000", "--seed", seed]
        assert main([*asked, *simulated]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    for figure in ("work_in_progress", "time_per_job_s"):
        assert reports[0][figure] != reports[1][figure]
        assert reports[0][figure] == pytest.approx(model[figure], rel=0.1)
    assert reports[0]["method"] == "kernel"
    for one, other, exact in zip(
        reports[0]["topics"], reports[1]["topics"], model["topics"], strict=True
    ):
        for figure in ("utilisation", "work_in_progress", "time_s"):
            assert one[figure] != other[figure]
            assert one[figure] == pytest.approx(exact[figure], rel=0.15)
