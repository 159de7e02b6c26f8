"""`dovemq model queue`, `jackson` and `closed`: disciplines, giving up, bounds, networks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dovemq.cli import main
from dovemq.models.analytic import mmc
from dovemq.models.analytic.abandonment import ImpatientStation, with_returns
from dovemq.models.analytic.finite import mmck
from dovemq.models.analytic.sharing import SharedStation

Ask = Callable[..., Any]

CLOSED = """
classes.orders.population = 20
[stations]
think = { kind = "delay", service_time = 5.0 }
workers = { service_time = 0.2, servers = 2 }
store = { service_time = 0.05, visits = 3 }
"""
OPEN = """
front = { arrival_rate = 10, service_rate = 8, servers = 2, next = { back = 0.7 } }
back = { rates = [5, 9, 12], next = { front = 0.1 } }
"""


def quantiles(found: Any) -> Any:
    """The only row of the percentiles of an answer."""
    (row,) = found["percentiles"]["quantiles"]
    return row


def test_those_that_wait_may_give_up(ask_model: Ask) -> None:
    args = ("--arrival-rate", 9, "--service-rate", 2, "--servers", 4, "--patience", 1.5)
    found = ask_model("queue", *args, "--percentile", 95, "--tail", 1)
    known = ImpatientStation(9, 2, 4, 1.5)
    row = found["results"][0]
    assert row["abandonment_probability"] == pytest.approx(known.abandonment_probability)
    assert row["stable"]
    assert quantiles(found)["served_wait"] == known.served_wait_quantile(0.95)
    assert found["wait_tail"]["P(wait > 1)"] == known.wait_tail(1)


def test_messages_that_gave_up_come_back_until_their_gets_are_used(ask_model: Ask) -> None:
    args = ("--arrival-rate", 7, "--service-rate", 2, "--servers", 4, "--patience", 0.5)
    row = ask_model("queue", *args, "--gets-max", 3)["results"][0]
    known = with_returns(ImpatientStation(7, 2, 4, 0.5), 3)
    assert row["exhausted_share"] == pytest.approx(known.exhausted_share)
    assert row["gets"] == pytest.approx(known.gets)
    assert row["throughput"] == pytest.approx(7 * (1 - known.exhausted_share))


def test_blocked_arrivals_may_try_again(ask_model: Ask) -> None:
    args = ("--arrival-rate", 0.7, "--service-rate", 1, "--retry-time", 2)
    row = ask_model("queue", *args)["results"][0]
    assert row["retrying"] == pytest.approx(4.9)
    assert not ask_model("queue", *args, "--arrival-rate", 1, code=1)["results"][0]["stable"]
    row = ask_model("queue", *args, "--persistence", 0.5)["results"][0]
    assert row["throughput"] == pytest.approx(0.7 * (1 - row["lost_share"]))


def test_shared_servers_have_the_means_of_a_queue_and_other_quantiles(ask_model: Ask) -> None:
    args = ("--arrival-rate", 7, "--service-rate", 10, "--discipline", "ps")
    found = ask_model("queue", *args, "--percentile", 95)
    assert found["results"][0]["sojourn_time"] == pytest.approx(1 / 3)
    assert quantiles(found)["sojourn"] == SharedStation(7, 10).sojourn_quantile(0.95)
    assert ask_model("queue", *args, "--service-scv", 4)["results"] == found["results"]


def test_urgent_classes_may_interrupt(ask_model: Ask) -> None:
    args = ("--arrival-rate", "2,3", "--service-rate", 10, "--discipline", "preemptive")
    rows = ask_model("queue", *args)["results"]
    assert rows[0]["sojourn_time"] == pytest.approx(1 / 8)
    assert rows[1]["sojourn_time"] == pytest.approx(0.1 / (0.8 * 0.5))
    several = ask_model("queue", *args, "--servers", 3)["results"]
    assert several[0]["sojourn_time"] == pytest.approx(float(mmc(2, 10, 3).sojourn_time))


def test_bounds_stand_beside_the_approximation(ask_model: Ask) -> None:
    args = ("--arrival-rate", 0.9, "--service-rate", 1, "--arrival-scv", 0.5, "--service-scv", 2)
    row = ask_model("queue", *args)["results"][0]
    low, high = row["waiting_time_low"], row["waiting_time_high"]
    assert low < row["waiting_time"] < high < row["waiting_time_kingman"]
    assert "waiting_time_low" not in ask_model("queue", *args, "--servers", 2)["results"][0]


def test_sweep_over_servers_has_bounds_for_one(ask_model: Ask) -> None:
    args = ("--arrival-rate", 0.9, "--service-rate", 1, "--arrival-scv", 0.5)
    rows = ask_model("queue", *args, "--sweep", "servers=1:2")["results"]
    assert rows[0]["waiting_time_high"] > 0
    assert rows[1]["waiting_time_high"] is None


def test_finite_station_has_exact_quantiles(ask_model: Ask) -> None:
    args = ("--arrival-rate", 9, "--service-rate", 2, "--servers", 4, "--capacity", 12)
    found = quantiles(ask_model("queue", *args, "--percentile", 95))
    known = mmck(9, 2, 4, 12)
    assert float(known.wait_tail(found["wait"])) == pytest.approx(0.05)
    # Without room to wait the sojourn is the service.
    args = ("--arrival-rate", 9, "--service-rate", 2, "--servers", 4, "--capacity", 4)
    found = quantiles(ask_model("queue", *args, "--percentile", 95))
    assert found["wait"] == 0.0
    assert found["sojourn"] == pytest.approx(np.log(20) / 2, rel=1e-6)


def test_large_room_has_the_quantiles_of_unlimited_room(ask_model: Ask) -> None:
    args = ("--arrival-rate", 6, "--service-rate", 2, "--servers", 4, "--percentile", 95)
    found = quantiles(ask_model("queue", *args, "--capacity", 300))
    assert found == pytest.approx(quantiles(ask_model("queue", *args)), rel=1e-5)


def test_sweep_has_quantiles_in_its_rows(ask_model: Ask) -> None:
    args = ("--arrival-rate", 30, "--service-rate", 10, "--percentile", "50,95")
    rows = ask_model("queue", *args, "--sweep", "servers=4:6")["results"]
    for row in rows:
        known = mmc(30, 10, row["servers"])
        assert row["sojourn_p95"] == pytest.approx(float(known.sojourn_quantile(0.95)))
        assert row["wait_p50"] == pytest.approx(float(known.wait_quantile(0.5)))
    rows = ask_model("queue", *args, "--service-scv", 2, "--sweep", "servers=4:6")["results"]
    assert rows[0]["sojourn_p95"] > rows[2]["sojourn_p95"]


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("--arrival-rate", "1", "--patience", "0"), "patience is 0"),
        (("--arrival-rate", "1", "--patience", "1", "--capacity", "3"), "exclude each other"),
        (("--arrival-rate", "1", "--gets-max", "3"), "gets_max is for patience"),
        (("--arrival-rate", "1", "--persistence", "0.5"), "persistence is for retry_time"),
        (("--arrival-rate", "1", "--retry-time", "1", "--service-scv", "2"), "leave out the scvs"),
        (("--arrival-rate", "1", "--discipline", "preemptive"), "several arrival rates"),
        (("--arrival-rate", "1,2", "--discipline", "ps"), "add their arrival rates"),
        (("--arrival-rate", "1", "--discipline", "ps", "--arrival-scv", "2"), "Poisson"),
        (("--arrival-rate", "1", "--discipline", "ps", "--patience", "2"), "discipline fcfs"),
        (("--arrival-rate", "1,1", "--patience", "2"), "leave out patience"),
        (
            (
                *("--arrival-rate", "1", "--discipline", "ps", "--service-scv", "2"),
                *("--percentile", "90", "--sweep", "servers=1:2"),
            ),
            "leave out --sweep",
        ),
    ],
)
def test_wrong_question_is_refused(ask_model: Ask, args: tuple[str, ...], reason: str) -> None:
    assert reason in ask_model("queue", "--service-rate", 10, *args, code=2)


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "network.toml"
    path.write_text(text)
    return path


def test_closed_network_of_a_file_is_solved_by_each_method(ask_model: Ask, tmp_path: Path) -> None:
    path = _file(tmp_path, CLOSED)
    exact = ask_model("closed", path)
    assert exact["method"] == "convolution, exact"
    assert sum(row["number"] for row in exact["stations"]) == pytest.approx(20)
    rough = ask_model("closed", path, "--method", "schweitzer")
    rates = [each["classes"][0]["throughput"] for each in (exact, rough)]
    assert rates[1] == pytest.approx(rates[0], rel=0.05)
    assert "knows one speed" in ask_model("closed", path, "--method", "mva", code=2)
    single = _file(tmp_path, CLOSED.replace("servers = 2", "servers = 1"))
    assert ask_model("closed", single)["method"] == "mean value analysis, exact"


def test_open_network_of_a_file_is_solved(ask_model: Ask, tmp_path: Path) -> None:
    path = _file(tmp_path, f"[stations]\n{OPEN}")
    found = ask_model("jackson", path, "--percentile", "50,95")
    assert found["sojourn_time"] == pytest.approx(found["number"] / 10)
    assert "visits are independent" in found["quantiles"]["how"]
    assert found["stations"][1]["sojourn_p95"] is None
    busy = _file(tmp_path, f"[stations]\n{OPEN.replace('10', '18')}")
    assert ask_model("jackson", busy, code=1)["sojourn_time"] is None


def test_networks_are_printed_as_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "closed", str(_file(tmp_path, CLOSED))]) == 0
    assert "workers" in capsys.readouterr().out
    assert main(["model", "jackson", str(_file(tmp_path, f"[stations]\n{OPEN}"))]) == 0
    assert "approximate: visits are independent" in capsys.readouterr().out
