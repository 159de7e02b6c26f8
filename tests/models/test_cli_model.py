"""`dovemq model`, `plan` and `reproduce`: what they print and how they end."""

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import dovemq.models
from dovemq.cli import main
from dovemq.models.analytic import mmc, vma
from dovemq.models.vma.parameters import VmaParameters

Ask = Callable[..., str]
PLAN = """
unit = "minute"
[goal]
budget = 5
[topics]
A = { service_rate = 4.2, service_scv = 0.33 }
B = { service_rate = 3.7, service_scv = 0.5 }
C = { service_rate = 6.7, service_scv = 0.4 }
D = { service_rate = 5.1, service_scv = 0.5 }
[jobs]
1 = { arrival_rate = 3.0, arrival_scv = 0.33, path = ["A", "B", "D"] }
2 = { arrival_rate = 3.5, arrival_scv = 0.5, path = ["A", "D", "D"] }
3 = { arrival_rate = 3.0, arrival_scv = 0.25, path = ["C", "D"] }
"""
ROUTES = """
goal.budget = 4
[topics]
a.service_rate = 2.0
b.service_rate = 1.0
[jobs.j]
arrival_rate = 2.2
routes = [{ share = 0.5, path = ["a"] }, { share = 0.5, path = ["b"] }]
"""
FORK = """
[topics]
a = { service_rate = 5, consumers = 2 }
b = { service_rate = 5, cost = [1, 2, 4], value = 2, consumers_max = 7 }
c = { service_rate = 5, cost = { linear = 1, quadratic = 0.5 } }
[jobs.j]
arrival_rate = 2
[jobs.j.tasks]
start.topic = "a"
left = { topic = "b", after = ["start"] }
right = { topic = "c", after = ["start"] }
end = { topic = "a", after = ["left", "right"] }
"""


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(*args: object, code: int = 0) -> str:
        assert main([str(arg) for arg in args]) == code
        printed = capsys.readouterr()
        # A slow machine prints progress to standard error.
        return printed.err if code == 2 else printed.out

    return asked


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(text)
    return path


VMA = ("model", "vma", "--arrival-rate", 30.3, "--service-rate", "10,10", "--threads", "5,5")


def test_service_of_the_paper_is_one_json_document_with_units(ask: Ask) -> None:
    found = json.loads(ask(*VMA, "--reliability", 0.99, "--order", "out", "--json"))
    (result,) = found["results"]
    exact = vma(VmaParameters(30.3, 10, 10, 5, 5, reliability=0.99))
    assert result["delivery_time_s"] == pytest.approx(float(exact.delivery_time))
    assert result["parameters"]["sender_threads"] == 5
    assert found["units"] == {"time": "s", "rate": "1/s"}


def test_unstable_service_says_so_and_gives_no_number(ask: Ask) -> None:
    out = ask(*VMA[:-1], "3", code=1)
    assert "unstable: more arrives at the sender" in out
    (result,) = json.loads(ask(*VMA[:-1], "3", "--json", code=1))["results"]
    assert result["delivery_time_s"] is None
    assert result["unstable"] == ["sender", "broker"]


def test_sweep_gives_a_row_for_each_value_and_a_picture(ask: Ask, tmp_path: Path) -> None:
    picture = tmp_path / "sweep.svg"
    out = ask(*VMA[:-2], "--sweep", "threads=3:6", "--plot", picture)
    assert len(out.splitlines()) == 5
    assert "<svg" in picture.read_text()


def test_parameters_may_come_from_a_file_and_flags_override_them(ask: Ask, tmp_path: Path) -> None:
    path = _file(tmp_path, "arrival_rate = 30.3\nservice_rate = [10, 10]\nthreads = 9\n")
    found = json.loads(ask("model", "vma", "--from", path, "--threads", 5, "--json"))
    assert found["results"][0]["parameters"]["broker_threads"] == 5


def test_headroom_and_slopes_are_reported_on_request(ask: Ask) -> None:
    found = json.loads(ask(*VMA, "--target", 0.3, "--sensitivity", "--json"))
    assert found["headroom"]["met"] is True
    assert found["headroom"]["factor"] > 1
    assert found["sensitivity_s"]["per_sender_thread"] < 0


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("--order", "in"), "no closed form"),
        (("--reliability", "0"), "reliability is 0"),
        (("--sweep", "weather=1:2"), "weather is none of"),
        (("--plot", "x.png"), "add --sweep"),
        (("--sweep", "threads=4:5", "--target", "1"), "one configuration"),
        (("--threads", "1,2,3"), "SENDER,BROKER"),
        (("--threads", "2.5"), "sender_threads"),
        (("--from", "nowhere.toml"), "cannot be read"),
        (("--as-printed", "--method", "kernel"), "--as-printed is for --method analytic"),
        (("--failure", "timer"), "a time above 0 with failure 'timer' is needed"),
        (("--visibility-timeout", "5"), "failure 'timer', which alone uses it, is needed"),
        (("--sweep", "visibility_timeout=1:3"), "failure 'timer', which alone uses it, is needed"),
    ],
)
def test_wrong_question_about_the_service_is_refused(
    ask: Ask, args: tuple[str, ...], reason: str
) -> None:
    assert reason in ask(*VMA, *args, code=2)


def test_what_is_absent_is_named(ask: Ask) -> None:
    assert "--threads is needed" in ask(*VMA[:-2], code=2)


QUEUE = ("model", "queue", "--service-rate", 10)


@pytest.mark.parametrize(
    ("args", "model"),
    [
        (("--arrival-rate", 30, "--servers", 4), "M/M/c"),
        (("--arrival-rate", 30, "--servers", 4, "--capacity", 9), "M/M/c/K"),
        (("--arrival-rate", 7, "--service-scv", 0.3), "M/G/1"),
        (("--arrival-rate", 7, "--arrival-scv", 0.3), "GI/G/m by allen-cunneen"),
        (("--arrival-rate", "1,2", "--servers", 2), "priority"),
        (("--arrival-rate", "1,2", "--service-rate", "10,20"), "priority"),
    ],
)
def test_station_is_answered_by_the_form_that_fits(
    ask: Ask, args: tuple[object, ...], model: str
) -> None:
    found = json.loads(ask(*QUEUE, *args, "--json"))
    assert found["model"] == model
    assert all(row["sojourn_time"] > 0 for row in found["results"])
    assert model in ask(*QUEUE, *args)


def test_station_reports_quantiles_tails_and_headroom(ask: Ask) -> None:
    args = ("--arrival-rate", 30, "--servers", 4, "--percentile", 95, "--tail", 0.1)
    found = json.loads(ask(*QUEUE, *args, "--target", 0.4, "--sensitivity", "--json"))
    station = mmc(30, 10, 4)
    assert found["percentiles"]["how"] == "exact"
    (row,) = found["percentiles"]["quantiles"]
    assert row["wait"] == pytest.approx(float(station.wait_quantile(0.95)))
    assert found["wait_tail"]["P(wait > 0.1)"] == pytest.approx(float(station.wait_tail(0.1)))
    assert found["headroom"]["servers_needed"] == 5
    tail = json.loads(ask(*QUEUE, "--arrival-rate", 5, "--service-scv", 0, "--tail", 0.1, "--json"))
    assert 0 < tail["wait_tail"]["P(wait > 0.1)"] < 0.5


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("--arrival-rate", "-1"), "arrival_rate is -1"),
        (("--arrival-rate", "1", "--capacity", "3", "--service-scv", "2"), "leave out the scvs"),
        (("--arrival-rate", "1,2", "--capacity", "3"), "unlimited places"),
        (("--arrival-rate", "1", "--service-scv", "2", "--target", "1"), "not M/G/1"),
        (
            ("--arrival-rate", "1", "--percentile", "90,95", "--target", "1"),
            "--target bounds one percentile",
        ),
        (("--arrival-rate", "1,2", "--tail", "1"), "not known for priority"),
        (("--arrival-rate", "1,2", "--servers", "2", "--service-rate", "1,2"), "one service rate"),
        (("--sweep", "arrival_rate=1:3", "--tail", "1"), "one configuration"),
    ],
)
def test_wrong_question_about_a_station_is_refused(
    ask: Ask, args: tuple[str, ...], reason: str
) -> None:
    assert reason in ask(*QUEUE, *args, code=2)


def test_overloaded_station_fails_the_check_and_a_sweep_does_not(ask: Ask) -> None:
    assert "unstable" in ask(*QUEUE, "--arrival-rate", 50, code=1)
    assert "unstable" in ask(*QUEUE, "--sweep", "arrival_rate=5,50")


def test_plan_of_the_paper_reports_its_steps(ask: Ask, plan_file: Path) -> None:
    out = ask("plan", plan_file)
    assert "2 2 1 4" in out
    assert "MinTime: the budget is spent; cost 5" in out
    found = json.loads(ask("plan", plan_file, "--target", 50, "--json"))["plan"]
    assert found["consumers"] == {"A": 2, "B": 2, "C": 1, "D": 4}
    assert len(found["steps"]) == 5
    assert found["time_per_job_s"] < 50
    exact = json.loads(ask("plan", plan_file, "--method", "exact", "--json"))["plan"]
    assert exact["consumers"] == found["consumers"]


def test_what_if_plans_again_with_other_values(ask: Ask, plan_file: Path) -> None:
    changes = ("--what-if", "load=0.5", "--what-if", "topics.D.service_rate=20")
    found = json.loads(ask("plan", plan_file, *changes, "--json"))
    assert found["what_if"]["work_in_progress"] < found["plan"]["work_in_progress"] / 2
    assert "what if:" in ask("plan", plan_file, "--what-if", "goal.budget=6")
    path = plan_file.with_suffix(".svg")
    ask("plan", plan_file, "--what-if", "load=1.2", "--target", 50, "--plot", path)
    assert "what if: MinCost" in path.read_text()
    assert "no table topics.X" in ask("plan", plan_file, "--what-if", "topics.X.y=1", code=2)


def test_infeasible_plan_fails_and_says_what_is_missing(ask: Ask, plan_file: Path) -> None:
    out = ask("plan", plan_file, "--budget", 2, code=1)
    assert "infeasible" in out
    assert "D lacks 2 consumers" in out


def test_routes_are_chosen_with_the_plan(ask: Ask, tmp_path: Path) -> None:
    path = _file(tmp_path, ROUTES)
    found = json.loads(ask("plan", path, "--optimise-routes", "--json"))["plan"]
    assert sum(found["shares"]["j"]) == pytest.approx(1)
    assert "takes its routes by" in ask("plan", path, "--optimise-routes")


def test_planned_consumers_are_written_to_a_file_that_can_be_evaluated(
    ask: Ask, plan_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "planned.toml"
    plan = json.loads(ask("plan", plan_file, "--out", path, "--json"))["plan"]
    found = json.loads(ask("model", "network", path, "--json"))
    assert {each["topic"]: each["consumers"] for each in found["topics"]} == plan["consumers"]
    assert found["time_per_job_s"] == pytest.approx(plan["time_per_job_s"])
    assert "leave out --what-if" in ask(
        "plan", plan_file, "--out", path, "--what-if", "load=2", code=2
    )


def test_chosen_shares_of_routes_are_written_with_the_plan(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "planned.toml"
    asked = ("plan", _file(tmp_path, ROUTES), "--optimise-routes", "--out", path, "--json")
    plan = json.loads(ask(*asked))["plan"]
    routes = tomllib.loads(path.read_text())["jobs"]["j"]["routes"]
    assert [route["share"] for route in routes] == plan["shares"]["j"]


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_output_that_cannot_be_written_is_refused_before_the_work(
    ask: Ask, plan_file: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["plan", str(plan_file), option, "nowhere/plan.svg"])
    assert refused.value.code == 2
    assert "there is no directory 'nowhere'" in capsys.readouterr().err


def test_network_of_a_file_is_reported_topic_by_topic(ask: Ask, tmp_path: Path) -> None:
    found = json.loads(
        ask("model", "network", _file(tmp_path, FORK), "--target", 9, "--sensitivity", "--json")
    )
    assert found["stable"] is True
    assert found["headroom"]["factor"] > 1
    assert "one consumer more at topic b" in found["sensitivity"]
    assert found["jobs"][0]["response_time_s"] == pytest.approx(found["time_per_job_s"])
    assert found["work_in_progress"] > 2 * found["time_per_job_s"]
    assert found["jobs"][0]["p95_s"] > found["jobs"][0]["response_time_s"]


def test_overloaded_network_fails_the_check(ask: Ask, plan_file: Path) -> None:
    out = ask("model", "network", plan_file, code=1)
    assert "unstable" in out
    assert "passes on all that arrives" in out


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("service_rate = 4.2", "speed = 4.2", "topics.A.speed: unknown key"),
        ("service_rate = 4.2, ", "", "topics.A.service_rate: missing"),
        (
            "service_rate = 4.2",
            "service_rate = 'fast'",
            "topics.A.service_rate: Expected `float`",
        ),
        ("service_rate = 4.2", "service_rate = nan", "topic A: service_rate is nan"),
        ("service_rate = 4.2", "service_rate = -4.2", "topic A: service_rate is -4.2"),
        (
            "service_rate = 4.2",
            "service_rate = 4.2, consumers = 1.5",
            "topics.A.consumers: Expected `int`, got `float`",
        ),
        ("service_rate = 4.2", "service_rate = 4.2, cost = -1", "cost"),
        ('"A", "B", "D"', '"A", "X", "D"', "no topic is named 'X'"),
        (', path = ["C", "D"]', "", "one of path and tasks"),
        ('path = ["C", "D"]', "path = [1]", "jobs.3.path[0]: Expected `str`, got `int`"),
        ('"minute"', '"day"', "unit: 'day' is none of"),
        ("budget = 5", "budget = 5\ntarget_seconds = 3", "exclude each other"),
        ("budget = 5", "method = 'magic'", "goal: method 'magic' is none of greedy"),
        ("budget = 5", "", "budget or target_seconds is needed"),
        ("[goal]", "[goal", "cannot be read"),
    ],
)
def test_mistake_in_a_file_is_refused_with_its_place(
    ask: Ask, tmp_path: Path, old: str, new: str, reason: str
) -> None:
    assert old in PLAN
    assert reason in ask("plan", _file(tmp_path, PLAN.replace(old, new)), code=2)


@pytest.mark.parametrize(
    "args", [VMA, (*QUEUE, "--arrival-rate", 1), ("reproduce", "list")], ids=lambda args: args[1]
)
def test_missing_extra_is_named(
    ask: Ask, args: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = ("dovemq.models.", "dovemq.experiments")
    for name in [name for name in sys.modules if name.startswith(loaded)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(dovemq.models, "analytic")
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert "make setup EXTRAS=models" in ask(*args, code=2)
