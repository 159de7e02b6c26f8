"""`dovemq pipeline capacity` in closed form: no Spark is needed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dovemq.cli import main
from dovemq.models.analytic import mmc

Ask = Callable[..., str]
QUEUE = ("--arrival-rate", 30, "--service-rate", 10)
GRID = ("--partitions", "1:3", "--consumers", "4:8")
PLAN = """
unit = "minute"
[topics]
A = { service_rate = 600, consumers = 8 }
B = { service_rate = 60, service_scv = 0.5, consumers = 200 }
[jobs]
1 = { arrival_rate = 1200, path = ["A", "B"] }
2 = { arrival_rate = 600, path = ["A"] }
"""


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(*args: object, code: int = 0) -> str:
        assert main(["pipeline", "capacity", *map(str, args)]) == code
        printed = capsys.readouterr()
        return printed.err if code == 2 else printed.out

    return asked


def test_the_cheapest_that_keeps_the_target_is_marked_at_each_load(ask: Ask) -> None:
    reported = ask(*QUEUE, *GRID, "--load", "0.5,1", "--target", 0.15)
    assert "load 0.5: mean of the latency" in reported
    assert "cheapest: 1 partitions, 4 consumers; cost 5" in reported
    assert "cheapest: 1 partitions, 5 consumers; cost 6" in reported
    assert "(unstable)" in reported


def test_json_lists_every_configuration(ask: Ask) -> None:
    more = ("--target", 0.3, "--percentile", 90, "--partition-cost", 5, "--json")
    found = json.loads(ask(*QUEUE, *GRID, *more))
    assert len(found["configurations"]) == 15
    first = found["configurations"][0]
    assert first["latency_s"] == pytest.approx(float(mmc(30, 10, 4).sojourn_quantile(0.9)))
    assert first["cost"] == 9
    unstable = next(row for row in found["configurations"] if not row["stable"])
    assert unstable["latency_s"] is None
    assert not unstable["met"]
    assert found["cheapest"][0]["partitions"] == 1


def test_target_that_no_configuration_meets_fails(ask: Ask, tmp_path: Path) -> None:
    picture = tmp_path / "capacity.svg"
    more = ("--load", "0.5,1,9", "--target", 0.2, "--plot", picture)
    reported = ask(*QUEUE, *GRID, *more, code=1)
    assert "no configuration certainly meets" in reported
    drawn = picture.read_text()
    assert "load 9: none meets the target" in drawn
    assert "load 1: 1 × 4 for 5" in drawn


def test_rates_come_from_a_planning_file(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    found = json.loads(ask(path, "--topic", "A", *GRID, "--target", 0.2, "--json"))
    assert found["queue"]["arrival_rate"] == pytest.approx(30)
    assert found["queue"]["service_rate"] == pytest.approx(10)
    assert "name one of A, B" in ask(path, *GRID, "--target", 1, code=2)
    varied = json.loads(
        ask(path, "--topic", "B", "--arrival-rate", 3, *GRID, "--target", 2, "--json")
    )
    assert varied["queue"]["service_scv"] == 0.5
    assert varied["queue"]["arrival_rate"] == 3


def test_questions_without_sense_are_wrong_use(ask: Ask) -> None:
    assert "--service-rate is needed" in ask("--arrival-rate", 1, *GRID, "--target", 1, code=2)
    few = ("--partitions", "5", "--consumers", "2")
    assert "needs a consumer" in ask(*QUEUE, *few, "--target", 1, code=2)
    for wrong in ("0:3", "1.5", "a"):
        with pytest.raises(SystemExit):
            main(["pipeline", "capacity", "--partitions", wrong])


def test_quantiles_of_measured_scvs_are_approximate_and_say_so(ask: Ask) -> None:
    scv = ("--arrival-scv", 1.1, "--service-scv", 2, "--percentile", 90, "--target", 1)
    assert "approximate, since an scv is not 1" in ask(*QUEUE, *GRID, *scv)
    assert not json.loads(ask(*QUEUE, *GRID, *scv, "--json"))["exact"]
