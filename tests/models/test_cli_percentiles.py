"""`--percentile` of all commands on models: one spelling, and how good each answer is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dovemq.cli import main
from dovemq.models.analytic.orbit import RetrialTimes
from dovemq.models.analytic.pollaczek import single_server
from dovemq.models.analytic.urgency import class_times
from dovemq.models.distributions import Exponential, by_moments

Ask = Callable[..., Any]
PLAN = """
[topics]
A.service_rate = 4
B = { service_rate = 5, consumers = 2 }
[jobs.one]
arrival_rate = 2
path = ["A", "B"]
[jobs.two]
arrival_rate = 1
path = ["B"]
"""
CLOSED = """
classes.orders.population = 20
[stations]
think = { kind = "delay", service_time = 5.0 }
workers = { service_time = 0.2, servers = 2 }
"""
RETURNING = "[stations]\na = { arrival_rate = 0.42, service_rate = 1, next = { a = 0.4 } }\n"
FLAT = {
    "queue": ("--arrival-rate", "1", "--service-rate", "2"),
    "vma": ("--arrival-rate", "1", "--service-rate", "2", "--threads", "2"),
}


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        path = tmp_path / "model.toml"
        path.write_text(text)
        return path

    return written


@pytest.mark.parametrize("value", ["0", "100", "-5", "nan", "high", "0.95", "95,0.99"])
@pytest.mark.parametrize(
    "command",
    [
        ("model", "queue", *FLAT["queue"]),
        ("model", "vma", *FLAT["vma"]),
        ("plan", *FLAT["queue"], "--target", "9"),
        ("pipeline", "capacity", "--partitions", "1", "--consumers", "1", "--target", "1"),
    ],
)
def test_percentile_is_in_per_cent_in_every_command(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], value: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--percentile", value])
    assert ended.value.code == 2
    assert "--percentile" in capsys.readouterr().err


def test_classes_of_priority_have_exact_quantiles(ask_model: Ask) -> None:
    args = ("--arrival-rate", "2,3", "--service-rate", 10, "--percentile", "50,99")
    found = ask_model("queue", *args)["percentiles"]
    assert found["how"] == "exact"
    known = class_times([2, 3], [Exponential(0.1)] * 2)
    assert [(row["percentile"], row["class"]) for row in found["quantiles"]] == [
        (50, 1), (50, 2), (99, 1), (99, 2),
    ]  # fmt: skip
    assert found["quantiles"][3]["wait"] == known[1].wait_quantile(0.99)
    assert found["quantiles"][2]["sojourn"] == known[0].sojourn_quantile(0.99)
    interrupted = ask_model("queue", *args, "--discipline", "preemptive", "--service-scv", 0.5)
    assert interrupted["percentiles"]["how"] == "exact for gamma services"
    assert "wait" not in interrupted["percentiles"]["quantiles"][0]
    rows = ask_model("queue", *args, "--sweep", "servers=1:2")["results"]
    assert rows[1]["wait_p99"] == known[1].wait_quantile(0.99)


def test_single_server_has_the_quantiles_of_its_tail(ask_model: Ask) -> None:
    args = ("--arrival-rate", 7, "--service-rate", 10, "--service-scv", 2)
    found = ask_model("queue", *args, "--percentile", 95, "--tail", 1)
    assert found["percentiles"]["how"] == "exact for hyperexponential services"
    wait = found["percentiles"]["quantiles"][0]["wait"]
    station = single_server(7, by_moments(0.1, 2))
    assert float(station.wait_tail(wait)) == pytest.approx(0.05, rel=1e-6)
    assert found["wait_tail"]["P(wait > 1)"] == pytest.approx(float(station.wait_tail(1.0)))


def test_retrials_have_exact_quantiles(ask_model: Ask) -> None:
    args = ("--arrival-rate", 0.7, "--service-rate", 1, "--retry-time", 2, "--persistence", 0.5)
    found = ask_model("queue", *args, "--percentile", 95)["percentiles"]
    known = RetrialTimes(0.7, 1, 1, 2, 0.5)
    assert found["how"] == "exact"
    assert found["quantiles"][0] == {
        "percentile": 95,
        "wait": known.wait_quantile(0.95),
        "served_wait": known.served_wait_quantile(0.95),
        "sojourn": known.sojourn_quantile(0.95),
    }


def test_quantiles_that_no_closed_form_knows_are_simulated(ask_model: Ask) -> None:
    args = ("--arrival-rate", "8,5,60", "--service-rate", 10, "--servers", 2, "--percentile", 95)
    found = ask_model("queue", *args, "--discipline", "preemptive", code=1)["percentiles"]
    assert found["how"].startswith("simulated")
    urgent, other, overloaded = found["quantiles"]
    # The first class does not notice the others: it is M/M/2 with a load of 0.8.
    (known,) = ask_model("queue", "--arrival-rate", 8, *args[2:])["percentiles"]["quantiles"]
    assert urgent["sojourn"] == pytest.approx(known["sojourn"], rel=0.03)
    assert urgent["sojourn_low"] < urgent["sojourn"] < other["sojourn_low"]
    assert overloaded["sojourn"] is None


def test_topics_and_jobs_have_the_quantiles_that_are_asked_for(ask_model: Ask, file: Any) -> None:
    path = file(PLAN)
    jobs = ask_model("network", path, "--percentile", "50,99")["jobs"]
    assert all(job["p50_s"] < job["response_time_s"] < job["p99_s"] for job in jobs)
    assert "p95_s" not in jobs[0]
    assert "p95_s" in ask_model("network", path)["jobs"][0]
    simulated = ask_model("network", path, "--percentile", 99, "--method", "kernel")["jobs"]
    for one, other in zip(simulated, jobs, strict=True):
        assert one["p99_low_s"] < one["p99_s"] < one["p99_high_s"]
        assert one["p99_s"] == pytest.approx(other["p99_s"], rel=0.15)


def test_target_of_a_network_is_for_the_percentile_of_every_job(ask_model: Ask, file: Any) -> None:
    path = file(PLAN)
    longest = max(job["p95_s"] for job in ask_model("network", path)["jobs"])
    room = ask_model("network", path, "--target", longest, "--percentile", 95)["headroom"]
    assert room["factor"] == pytest.approx(1.0, rel=1e-6)
    assert ask_model("network", path, "--target", longest)["headroom"]["factor"] > 1.1


def test_target_of_vma_is_for_its_percentile(ask_model: Ask) -> None:
    args = ("--arrival-rate", 30, "--service-rate", 10, "--threads", 5, "--reliability", 0.99)
    time = ask_model("vma", *args, "--percentile", 99.9)["results"][0]["delivery_p99.9_s"]
    room = ask_model("vma", *args, "--percentile", 99.9, "--target", time)["headroom"]
    assert room["factor"] == pytest.approx(1.0, rel=1e-6)


def test_visits_of_a_closed_network_have_quantiles_where_they_are_known(
    ask_model: Ask, file: Any
) -> None:
    path = file(CLOSED)
    thinking, working = ask_model("closed", path, "--percentile", 95)["visits"]
    assert thinking["visit_p95"] is None
    assert working["visit_p95"] > 2 * working["time_per_visit"]
    single = file(CLOSED.replace("servers = 2", "servers = 1"))
    found = ask_model("closed", single, "--percentile", 95)
    assert found["method"] == "convolution, exact"
    refused = ask_model("closed", single, "--percentile", 95, "--method", "schweitzer", code=2)
    assert "exact or convolution" in refused


def test_time_in_a_network_with_returns_is_simulated(ask_model: Ask, file: Any) -> None:
    path = file(RETURNING)
    found = ask_model("jackson", path, "--percentile", 99, "--replications", 4)["quantiles"]
    assert found["how"].startswith("simulated: 4 runs")
    rough = ask_model("jackson", path, "--percentile", 99, "--approximate")["quantiles"]
    assert rough["how"] == "approximate: visits are independent"
    assert rough["sojourn_p99"] < found["sojourn_p99_low"]
    refused = ask_model("jackson", path, "--approximate", "--seed", 2, code=2)
    assert "--seed is for the methods that simulate" in refused
