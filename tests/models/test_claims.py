"""Verdicts on claims, and the pictures that are drawn beside them."""

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dovemq.experiments.catalogue import CITATIONS, EXPERIMENTS
from dovemq.experiments.claims import agreement, by_simulation, judge, relative_error
from dovemq.experiments.drawing import draw
from dovemq.experiments.figure import Curve, Effort, Figure, Panel, PaperMark
from dovemq.experiments.intervals import ratio
from dovemq.experiments.sweeps import SweepPoint, VmaSweep
from dovemq.models.estimates import Estimate, Interval, exact
from dovemq.models.vma.methods import VmaAnswer
from dovemq.models.vma.parameters import PAPER

SVG_TEXT = "{http://www.w3.org/2000/svg}text"


@pytest.mark.parametrize(
    ("intervals", "holds"),
    [
        ([(1.1, 1.2), (1.0, 1.9)], True),
        ([(1.1, 1.2), (0.9, 1.9)], None),
        ([(0.9, 1.1), (2.1, 2.2)], False),
        ([(0.2, 0.9)], False),
        ([(math.nan, math.nan)], None),
    ],
)
def test_a_claim_is_decided_only_if_no_interval_crosses_its_threshold(
    intervals: list[tuple[float, float]], holds: bool | None
) -> None:
    values = [Interval((low + high) / 2, low, high) for low, high in intervals]
    assert judge("a claim", "a ratio", values, least=1.0, most=2.0).holds is holds


def test_a_verdict_states_its_threshold_the_means_and_the_intervals() -> None:
    values = [Interval(1.2, 1.1, 1.3), Interval(1.5, 1.4, 1.7)]
    verdict = judge("a claim", "in order / out of order", values, least=1.0)
    assert verdict.threshold == "in order / out of order: at least 1"
    assert verdict.found == "1.2 to 1.5 (95 %: 1.1 to 1.7)"
    assert judge("a claim", "a ratio", values, most=3.0).threshold == "a ratio: at most 3"
    verdict = judge("a claim", "a ratio", [Interval(2.0, 2.0, 2.0)], least=2.0, most=2.0)
    assert (verdict.threshold, verdict.found) == ("a ratio: 2", "2")


def test_the_interval_of_a_ratio_joins_both_relative_widths() -> None:
    found = ratio(Interval(2.0, 1.4, 2.6), Interval(4.0, 2.4, 5.6))
    assert found.mean == 0.5
    assert found.high - found.mean == pytest.approx(0.25)


def test_an_error_has_no_upper_bound_if_the_mean_may_be_zero() -> None:
    model = Interval(1.1, 1.0, 1.2)
    found = relative_error(model, Interval(1.0, 0.8, 1.25))
    assert [found.mean, found.low, found.high] == pytest.approx([0.1, -0.2, 0.5])
    assert relative_error(model, Interval(1.0, -0.1, 2.1)).high == math.inf


def _sweep(inside: int, count: int) -> VmaSweep:
    """Closed forms of 1 beside simulations, of which some intervals contain 1."""
    points = []
    for number in range(count):
        measures = {"broker_utilisation": exact(0.5)}
        simulated = Estimate((0.99, 1.01)) if number < inside else Estimate((1.99, 2.01))
        for method, value in (("analytic", exact(1.0)), ("kernel", simulated)):
            answer = VmaAnswer(method, {**measures, "delivery_time": value})
            points.append(SweepPoint("s", float(number), answer, PAPER))
    return VmaSweep("x", tuple(points))


@pytest.mark.parametrize(("inside", "holds"), [(14, True), (11, True), (10, False)])
def test_agreement_allows_as_many_misses_as_chance_does(inside: int, holds: bool) -> None:
    (verdict,) = by_simulation(
        _sweep(inside, 14), lambda found, method: [agreement(found, "delivery_time", method)]
    )
    assert verdict.threshold.endswith("at least 11 of 14")
    assert verdict.holds is holds


def test_unstable_points_are_data_but_not_drawn() -> None:
    unstable = VmaAnswer("kernel", {"waiting": Estimate((8.5, 9.5))}, ("sender",))
    found = VmaSweep("x", (SweepPoint("s", 1.0, unstable, PAPER),))
    assert found.columns()["waiting"] == [9.0]
    (curve,) = found.curves("waiting", {"s": ""})
    assert curve.x == ()
    assert curve.label == "kernel, out of order"


def _words(path: Path) -> list[str]:
    return [text.text or "" for text in ElementTree.parse(path).iter(SVG_TEXT)]


def test_the_legend_has_an_entry_for_each_drawn_line_alone(tmp_path: Path) -> None:
    panel = Panel(
        "a panel",
        "job type",
        "time, s",
        (
            Curve("seen", (1.0, 2.0), (3.0, 4.0), (2.0, 3.0), (4.0, 5.0), points=True),
            Curve("unstable", (1.0, 2.0), (math.inf, math.inf)),
        ),
        (PaperMark("paper's text: 3", y=3.0), PaperMark("paper's text: 2", x=2.0)),
        ("one", "two"),
    )
    draw("a title", [panel, panel], [tmp_path / "a.svg"])
    words = _words(tmp_path / "a.svg")
    assert [words.count(each) for each in ("seen", "unstable")] == [1, 0]
    assert [words.count(each) for each in ("paper's text: 3", "paper's text: 2")] == [1, 1]
    assert [words.count(each) for each in ("one", "two", "time, s")] == [2, 2, 2]


def test_a_panel_without_a_finite_value_is_drawn_without_a_legend(tmp_path: Path) -> None:
    panel = Panel("a panel", "x", "y", (Curve("unstable", (1.0,), (math.inf,)),))
    draw("a title", [panel], [tmp_path / "a.svg"])
    assert "unstable" not in _words(tmp_path / "a.svg")


def test_every_figure_is_of_a_cited_paper_or_our_own() -> None:
    assert {name.partition("-")[0] for name in EXPERIMENTS} == {*CITATIONS, "loop"}


QUICK_LOOK = Effort(replications=2, horizon_seconds=2.0)


@pytest.mark.parametrize("name", ["vma-fig11", "vma-fig12", "vma-fig13", "vma-fig14", "vma-fig15"])
def test_every_claim_of_a_swept_figure_has_a_threshold_and_every_axis_a_label(name: str) -> None:
    figure: Figure = EXPERIMENTS[name].run(QUICK_LOOK)
    assert all(verdict.threshold and verdict.found for verdict in figure.verdicts)
    assert all(panel.x_label and panel.y_label for panel in figure.panels)
    assert len({len(column) for column in figure.data.values()}) == 1
