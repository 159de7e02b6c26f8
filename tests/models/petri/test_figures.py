"""The Petri net in experiments: its pages as figures, and its answers beside other methods."""

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dovemq.cli import main
from dovemq.experiments.catalogue import EXPERIMENTS
from dovemq.experiments.figure import Effort
from dovemq.experiments.methods import METHODS
from dovemq.experiments.net_runs import by_petri_net
from dovemq.experiments.scenario import Scenario, by_formula
from dovemq.experiments.vma_pages import TITLES
from dovemq.models.errors import NetworkInvalid
from dovemq.models.petri.vma import Mode, Order, VmaParameters, simulate_vma
from dovemq.models.simulation import Exponential, Run, Tandem, simulate_tandem


@pytest.mark.parametrize("name", TITLES)
def test_page_of_the_paper_is_drawn_with_its_nodes(name: str) -> None:
    figure = EXPERIMENTS[name].run(Effort())
    assert ElementTree.fromstring(figure.drawings["page"]) is not None
    assert len({len(column) for column in figure.data.values()}) == 1
    assert len(figure.data["name"]) > 2


def test_verdicts_on_the_pages_are_computed() -> None:
    (verdict,) = EXPERIMENTS["vma-fig6"].run(Effort()).verdicts
    assert verdict.holds is False
    assert "9 and 4" in verdict.found
    (verdict,) = EXPERIMENTS["vma-fig3"].run(Effort()).verdicts
    assert verdict.found.startswith("4")


def test_page_is_written_as_files(tmp_path: Path) -> None:
    assert main(["reproduce", "vma-fig7", "--out", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"vma-fig7-page.svg", "vma-fig7.csv", "vma-fig7.parquet"} <= names


def test_net_answers_like_the_closed_form() -> None:
    scenario = Scenario(30.3, 10.0, 10.0, 6, 6, reliability=0.88)
    exact = by_formula(scenario, Effort()).measures
    found = by_petri_net(scenario, Effort(replications=6, horizon_seconds=60)).measures
    assert METHODS["petri"] is by_petri_net
    assert set(found) == set(exact)
    for name, estimate in found.items():
        assert estimate.mean == pytest.approx(exact[name].mean, rel=0.25), name


def test_net_tells_overload_and_refuses_what_it_does_not_know() -> None:
    overload = Scenario(30.3, 10.0, 10.0, 3, 6, reliability=0.9)
    answer = by_petri_net(overload, Effort(replications=2, horizon_seconds=5))
    assert answer.unstable == ("sender",)
    with pytest.raises(NetworkInvalid, match="no whole number"):
        by_petri_net(Scenario(1, 1, 1, 2.5, 2), Effort())  # type: ignore[arg-type]
    with pytest.raises(NetworkInvalid, match="closed form"):
        by_petri_net(Scenario(1, 2, 2, 2, 2, gets_max=3), Effort())


@pytest.mark.parametrize("order", ["out", "in"])
@pytest.mark.parametrize("mode", ["ideal", "timer"])
def test_net_agrees_with_the_kernel_where_no_formula_does(order: Order, mode: Mode) -> None:
    net = simulate_vma(
        VmaParameters(reliability=0.88, order=order, mode=mode, visibility_ms=2_000),
        replications=8,
        duration_s=60,
        warmup_s=10,
        seed=3,
        confidence=0.99,
    )
    kernel = simulate_tandem(
        Tandem(
            Exponential(1 / 30.3), Exponential(0.1), Exponential(0.1), 5, 5, 0.88,
            order=order, recovery=mode, visibility_timeout=2.0,
        ),
        Run(horizon=1_000, warm_up=100, replications=8, seed=4),
    )  # fmt: skip
    ours = {"delivery": net.delivery_time_s, "waiting": net.waiting, "busy": net.broker_any_busy}
    theirs = {
        "delivery": kernel.sojourn, "waiting": kernel.waiting, "busy": kernel.broker_any_busy
    }  # fmt: skip
    for name, interval in ours.items():
        assert interval.mean is not None
        assert interval.half_width is not None
        other = theirs[name]
        width = math.hypot(interval.half_width, 2 * (other.half_width or 0.0))
        assert abs(interval.mean - other.mean) <= width, name
