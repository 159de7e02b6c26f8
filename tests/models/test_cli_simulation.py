"""The commands that simulate: warm-up, precision, sources of figures, and stations with rules."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dovemq.cli import main
from dovemq.models.analytic import mmck, vma
from dovemq.models.errors import ModelError
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.vma.methods import METHODS
from dovemq.models.vma.parameters import PAPER, VmaParameters
from tests.models.chains import birth_death
from tests.models.simulation import theory

Ask = Callable[..., dict[str, Any]]
QUEUE = "model queue --service-rate 1 --method kernel --arrival-rate"
FILE = """
unit = "minute"
[topics]
a = { service_rate = 2.0, consumers = 2 }
b.service_rate = 3.0
[jobs.1]
arrival_rate = 1.5
path = ["a", "b"]
[jobs.2]
arrival_rate = 0.5
path = ["b"]
"""
SIMULATED = """
[simulation.topics.a]
service = "lognormal:scv=2"
discipline = "ps"
[simulation.topics.b]
room = 2
full = "lost"
[simulation.jobs.1]
steps = { rates = [1.0, 2.0], lengths = [5.0, 5.0] }
[simulation.jobs.2]
batch = 2
"""


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(command: str, *more: str, code: int = 0) -> dict[str, Any]:
        assert main([*command.split(), *more, "--json"]) == code
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return asked


def refused(capsys: pytest.CaptureFixture[str], command: str, *more: str) -> str:
    assert main([*command.split(), *more]) == 2
    return capsys.readouterr().err


def test_simulated_queue_holds_the_closed_form_with_the_asked_precision(ask: Ask) -> None:
    found = ask(f"{QUEUE} 0.6 --precision 0.03 --confidence 0.99")
    (row,) = found["results"]
    assert row["sojourn_time_low"] < 2.5 < row["sojourn_time_high"]
    assert row["sojourn_time_high"] - row["sojourn_time"] <= 0.03 * row["sojourn_time"]
    assert found["run"]["replications"] % 20 == 0
    assert found["method"] == "kernel"
    assert found["warnings"] == []


def test_run_that_ends_at_its_bound_says_so(ask: Ask) -> None:
    command = f"{QUEUE} 0.9 --precision 0.001 --replications 3 --replications-max 6 --horizon 2000"
    found = ask(command)
    assert found["run"]["replications"] == 6
    assert "not within 0.001 of itself after 6 replications" in " ".join(found["warnings"])


def test_overloaded_queue_has_no_steady_state(ask: Ask) -> None:
    found = ask(f"{QUEUE} 1.0 --horizon 500", code=1)
    assert found["warnings"] == [
        "no steady state can be reached: the figures grow with the horizon"
    ]
    assert not found["results"][0]["stable"]


def test_queue_with_room_and_impatience_meets_theory(ask: Ask) -> None:
    found = ask(f"{QUEUE} 1.4 --servers 2 --capacity 4 --confidence 0.999")["results"][-1]
    exact = mmck(1.4, 1.0, 2, 4)
    assert found["sojourn_time_low"] < float(exact.sojourn_time) < found["sojourn_time_high"]
    assert found["lost_share"] == pytest.approx(float(exact.blocking_probability), rel=0.1)
    found = ask(f"{QUEUE} 3 --servers 2 --patience 0.5 --confidence 0.999")["results"][-1]
    chances = birth_death(lambda _: 3.0, lambda n: min(n, 2) + 2.0 * max(n - 2, 0), 100)
    line = sum(chance * max(n - 2, 0) for n, chance in enumerate(chances))
    assert found["waiting_low"] < line < found["waiting_high"]
    assert found["abandoned"] == pytest.approx(2.0 * line / 3.0, rel=0.05)


def test_classes_of_a_queue_interrupt_or_share(ask: Ask) -> None:
    first, second, both = ask(f"{QUEUE} 0.3,0.4 --discipline preemptive")["results"]
    assert first["sojourn_time"] == pytest.approx(1 / 0.7, rel=0.05)
    assert both["sojourn_time_low"] < 1 / 0.3 < both["sojourn_time_high"]
    shared = ask(f"{QUEUE} 0.3,0.4 --discipline ps")["results"]
    assert shared[0]["sojourn_time"] == pytest.approx(shared[1]["sojourn_time"], rel=0.1)
    assert second["sojourn_time"] > shared[1]["sojourn_time"]


@pytest.mark.parametrize(
    ("flags", "number"),
    [
        ("--arrival-rate 0.6 --batch 4", 0.6 * 5 / 0.8),
        ("--arrival-rate 0.6 --batch 4 --batch-sizes geometric", 0.6 * 8 / 0.8),
        ("--arrival-rate 0.7 --service pareto:shape=4", 0.7 + 0.49 * 1.125 / 2 / 0.3),
        ("--arrival-rate 0.7 --service weibull --service-scv 2", 0.7 + 0.49 * 3 / 2 / 0.3),
        ("--rate-steps 0.5@10,0.5@5", 1.0),
        ("--states 0.5@1,0.5@2", 1.0),
    ],
)
def test_arrivals_and_services_are_named_by_flags(ask: Ask, flags: str, number: float) -> None:
    command = f"model queue --service-rate 1 --method kernel --confidence 0.999 {flags}"
    (row,) = ask(command)["results"]
    assert row["number_low"] < number < row["number_high"]


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (f"{QUEUE} 0.5 --tail 3", "--tail is for --method analytic"),
        (f"{QUEUE} 0.5 --states 1@1,2@2", "--states replaces --arrival-rate"),
        (f"{QUEUE} 0.5 --batch-sizes fixed", "--batch-sizes is for --batch"),
        (f"{QUEUE} 0.5 --persistence 0.5", "--persistence is for --retry-time"),
        (f"{QUEUE} 0.5 --replications-max 5", "--replications-max is for --precision"),
        (f"{QUEUE} 0.5 --precision 2", "precision is 2"),
        (f"{QUEUE} 0.5 --precision 0.1 --replications 1", "replications is 1"),
        (f"{QUEUE} 0.5 --service pareto:shape=1.5", "so that the variance is finite"),
        (f"{QUEUE} 0.5 --capacity 0", "room is 0"),
        (f"{QUEUE} 0.5 --discipline ps --patience 3", "patience is for fcfs"),
        (f"{QUEUE} 0", "arrival_rate"),
        ("model queue --arrival-rate 1 --service-rate 2 --seed 3", "--seed is for the methods"),
        (
            "model queue --arrival-rate 1 --service-rate 2 --batch 3",
            "--batch needs --method kernel",
        ),
        (
            "model vma --arrival-rate 1 --service-rate 2 --threads 1 --precision 0.1",
            "--precision is",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str], command: str, problem: str
) -> None:
    assert problem in refused(capsys, command)


def test_table_of_the_file_changes_the_simulated_network(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(FILE + SIMULATED)
    found = ask("model network --method kernel --replications 5", str(path))
    topics = {each["topic"]: each for each in found["topics"]}
    assert topics["b"]["refused"] > 0.05
    assert found["run"]["horizon"] % 10 == pytest.approx(0.0)
    assert topics["a"]["time_s"] == pytest.approx(
        60 * (theory.wait_mmc(1.5, 2.0, 2) + 0.5), rel=0.15
    )
    assert {each["job"]: each["lost_share"] > 0 for each in found["jobs"]} == {"1": True, "2": True}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("[simulation.topics.c]\nroom = 2", "simulation.topics.c: none of a, b"),
        ("[simulation.topics.a]\nservice = 'normal'", "one of exponential"),
        ("[simulation.topics.a]\nroom = 1", "room is 1"),
        ("[simulation.topics.a]\nspeed = 1", "unknown key"),
        ("[simulation.jobs.1]\nbatch = 0.5", "Batches.size_mean is 0.5"),
        ("[simulation.jobs.1]\nsteps = { rates = [9], lengths = [1] }", "has a rate of 9"),
    ],
)
def test_wrong_table_of_a_simulated_network_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: str, problem: str
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(FILE + table)
    assert problem in refused(capsys, "model network --method kernel", str(path))


def test_closed_form_refuses_the_table_of_simulations(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(FILE + SIMULATED)
    assert "for --method kernel" in refused(capsys, "model network", str(path))
    assert "simulation: unknown key" in refused(capsys, "plan", str(path))


def test_net_of_the_service_leaves_its_start_out_and_labels_its_figures(ask: Ask) -> None:
    """A net that started empty would give a mean that is too small near saturation."""
    found = ask(
        "model vma --arrival-rate 18 --service-rate 10 --threads 2 --method petri --replications 4 "
        "--target 2 --horizon 300"
    )
    (row,) = found["results"]
    assert row["run"]["warm_up"] > 0
    assert found["headroom"]["method"] == "analytic"
    assert row["delivery_time_s_low"] < row["delivery_time_s"] < row["delivery_time_s_high"]


def test_net_adds_runs_until_it_is_precise() -> None:
    run = SimulationRun(
        40.0, warm_up=5.0, replications=3, precision=0.04, replications_max=30, seed=2
    )
    found = METHODS["petri"](PAPER, run)
    mean = found.measures["delivery_time"]
    assert mean.samples % 3 == 0
    assert mean.half_width <= 0.04 * mean.mean
    assert found.warnings == ()


def test_kernel_adds_runs_until_it_is_precise_and_keeps_the_first_ones() -> None:
    few = simulate_tandem(PAPER, SimulationRun(50.0, 5.0, replications=4))
    many = simulate_tandem(PAPER, SimulationRun(50.0, 5.0, replications=4, precision=0.01))
    assert many.sojourn.values[:4] == few.sojourn.values
    assert many.sojourn.half_width <= 0.01 * many.sojourn.mean
    assert many.sojourn.samples % 4 == 0
    assert few.imprecision is None


@pytest.mark.parametrize("link", [0.0, 0.05])
@pytest.mark.parametrize("timeout", [0.05, 0.2, 0.6, 5.0])
def test_analytic_petri_and_kernel_agree_or_the_closed_form_ends_by_name(
    timeout: float, link: float
) -> None:
    """The closed form is refused or within 3 %; both simulations hold each other at 99 %."""
    given = VmaParameters(
        *(8.0, 7.1, 9.4, 4, 3), 0.93, "out", "timer", visibility_timeout=timeout, link_delay=link
    )
    run = SimulationRun(60.0, 5.0, replications=6, seed=4, confidence=0.99)
    net = METHODS["petri"](given, run).measures["delivery_time"]
    long = SimulationRun(400.0, 5.0, replications=20, seed=4, confidence=0.99)
    kernel = METHODS["kernel"](given, long).measures["delivery_time"]
    assert abs(net.mean - kernel.mean) < net.half_width + kernel.half_width
    if timeout < 0.5:
        assert "the closed form ends at" in _refusal_of(given)
    else:
        assert float(vma(given).delivery_time) == pytest.approx(kernel.mean, rel=0.03)


def _refusal_of(given: VmaParameters) -> str:
    try:
        vma(given)
    except ModelError as error:
        return str(error)
    return ""
