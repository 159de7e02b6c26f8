"""`dovemq plan --percentile`: the consumers of one queue and of a planning file."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dovemq.cli import main
from dovemq.models.analytic import mmc

Ask = Callable[..., str]
QUEUE = ("--arrival-rate", 8, "--service-rate", 2)
GOAL = ("--percentile", 95, "--target", 2)
FORK = """
unit = "minute"
[topics]
a = { service_rate = 300 }
b = { service_rate = 300 }
c = { service_rate = 240, service_scv = 1.5 }
[jobs.j]
arrival_rate = 360
[jobs.j.tasks]
fetch.topic = "a"
text = { topic = "b", after = ["fetch"] }
image = { topic = "c", after = ["fetch"] }
join = { topic = "a", after = ["text", "image"] }
"""


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(*args: object, code: int = 0) -> str:
        assert main(["plan", *map(str, args)]) == code
        printed = capsys.readouterr()
        return printed.err if code == 2 else printed.out

    return asked


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    path = tmp_path / "fork.toml"
    path.write_text(FORK)
    return path


def test_answer_for_one_queue_is_the_first_line(ask: Ask) -> None:
    first, second, third = ask(*QUEUE, *GOAL).splitlines()
    assert first == "6 consumers: 95 % within 1.619 s (target 2 s), utilisation 0.67"
    assert second == "with 5: 2.099 s"
    assert third == "method: M/M/c, exact"


def test_json_has_the_figures_of_one_queue(ask: Ask) -> None:
    found = json.loads(ask(*QUEUE, *GOAL, "--json"))
    assert found["consumers"] == 6
    assert found["exact"] is True
    assert found["time_s"] == pytest.approx(float(mmc(8, 2, 6).sojourn_quantile(0.95)))


def test_measured_scvs_are_answered_with_the_error_of_the_approximation(ask: Ask) -> None:
    text = ask(*QUEUE, "--arrival-scv", 1.1, "--service-scv", 1.1, *GOAL)
    assert text.startswith("6 consumers: 95 % within 1.672 s (target 2 s)")
    assert "an approximation; in 216 trials" in text


def test_simulation_confirms_the_answer(ask: Ask) -> None:
    scvs = ("--arrival-scv", 1.1, "--service-scv", 1.1)
    found = json.loads(ask(*QUEUE, *scvs, *GOAL, "--check", "--json"))["simulated"]
    assert found["low_s"] < 1.672 < found["high_s"] * 1.05
    assert found["added_consumers"] == 0
    assert "simulated: 95 % within" in ask(*QUEUE, *GOAL, "--check")


def test_simulation_adds_consumers_where_the_approximation_is_too_low(ask: Ask) -> None:
    hard = ("--arrival-rate", 5, "--service-rate", 1, "--arrival-scv", 4, "--service-scv", 0)
    plain = json.loads(ask(*hard, "--percentile", 95, "--target", 1.85, "--json"))
    found = json.loads(ask(*hard, "--percentile", 95, "--target", 1.85, "--check", "--json"))
    assert found["simulated"]["added_consumers"] == found["consumers"] - plain["consumers"]
    assert found["simulated"]["low_s"] <= 1.85


def test_mean_is_planned_without_a_percentile(ask: Ask) -> None:
    assert ask(*QUEUE, "--target", 0.6).startswith("6 consumers: the mean is 0.5")


def test_target_below_the_service_alone_is_infeasible(ask: Ask) -> None:
    text = ask(*QUEUE, "--percentile", 95, "--target", 1, code=1)
    assert text.startswith("infeasible: 95 % within 1.498 s by the service alone")


def test_topic_of_a_file_is_one_queue(ask: Ask, fork: Path) -> None:
    found = json.loads(ask("--from", fork, "--topic", "c", *GOAL, "--json"))
    assert found["arrival_rate"] == pytest.approx(6.0)
    assert found["service_rate"] == pytest.approx(4.0)
    assert found["consumers"] == 2


def test_plan_of_a_file_with_a_join_meets_the_percentile(ask: Ask, fork: Path) -> None:
    text = ask(fork, *GOAL, "--check")
    first, second, *_ = text.splitlines()
    assert first.startswith("9 consumers (a 4, b 2, c 3): 95 % of every type of job within 1.8")
    assert first.endswith("(target 2 s), highest utilisation 0.60 (a)")
    assert second.startswith("simulated: job j: 95 % within 1.")
    assert "misses" not in second


def test_mean_target_counts_branches_once(ask: Ask, fork: Path) -> None:
    """The four tasks take 0.85 s together without any wait, the job less."""
    found = json.loads(ask(fork, "--target", 0.84, "--json"))["plan"]
    assert found["feasible"] is True
    assert found["time_per_job_s"] <= 0.84


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ((), "--target is needed"),
        (("--target", 2), "--arrival-rate is needed"),
        ((*QUEUE, "--budget", 2), "--budget is for a planning file"),
        ((*QUEUE, "--target", 2, "--topic", "a"), "--topic is for a file of --from"),
    ],
)
def test_wrong_question_is_refused(ask: Ask, args: tuple[object, ...], reason: str) -> None:
    assert reason in ask(*args, code=2)


def test_flags_of_one_queue_are_refused_beside_a_file(ask: Ask, fork: Path) -> None:
    assert "leave out the options of one queue" in ask(fork, *QUEUE, *GOAL, code=2)
    assert "percentile needs target_seconds" in ask(fork, "--percentile", 95, code=2)
