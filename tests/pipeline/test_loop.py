"""The loop: the real service in a short run, and what is made of longer ones."""

import math
from pathlib import Path

import pytest

from dovemq.experiments.loop import figure_of, verdict_on
from dovemq.experiments.loop_cases import (
    WORK_MS,
    Point,
    Scale,
    consumers,
    front_end,
    interpolated,
)
from dovemq.experiments.service_runs import Service
from dovemq.models.simulation.estimates import Estimate

SHORT = Scale(
    {0.5: 2.0}, {0.5: 1.5}, pilot=1.5, closed=1.0, consumers_rounds=1, rounds=1, populations=(1, 8)
)


def test_a_model_of_consumers_is_calibrated_and_measured_in_the_real_service() -> None:
    (point,) = consumers(1, SHORT)
    assert (point.case, point.load) == ("consumers", 0.5)
    assert 0.0 < point.utilisation < 1.5
    # The work alone takes so long, on average of some hundred messages.
    assert min(point.predicted, point.measured.mean) > 0.5 * WORK_MS / 1_000


def test_a_model_of_the_front_end_is_calibrated_and_measured_in_the_real_service() -> None:
    (point,) = front_end(1, SHORT)
    assert (point.case, point.load) == ("front end", 0.5)
    assert point.arrival_rate > 0
    assert point.measured.mean > 0
    assert point.predicted > 0


def _point(predicted: float, *measured: float) -> Point:
    return Point("consumers", 0.7, 0.71, 300.0, predicted, Estimate(measured, 0.95, "batches"))


@pytest.mark.parametrize(
    ("predicted", "holds"), [(1.1, True), (0.9, True), (1.2, False), (0.8, False)]
)
def test_a_prediction_holds_within_fifteen_percent(predicted: float, holds: bool) -> None:
    assert verdict_on(_point(predicted, 0.99, 1.0, 1.01)).holds is holds


def test_nothing_is_told_of_a_mean_that_is_not_known() -> None:
    assert verdict_on(_point(1.0, 0.5, 1.0, 1.5)).holds is None


def test_the_figure_shows_both_and_tells_of_what_was_not_stable() -> None:
    figure = figure_of([_point(1.1, 0.99, 1.0, 1.01), _point(math.inf, 0.99, 1.0, 1.01)])
    assert figure.data["predicted_s"] == [1.1, None]
    assert [curve.label for curve in figure.panels[0].curves] == ["measured, 95 %", "predicted"]
    assert [verdict.holds for verdict in figure.verdicts] == [True, False]


def test_rates_lie_on_lines_between_what_was_measured() -> None:
    rates = interpolated([(0.5, 100.0), (4.5, 500.0), (2.5, 300.0)])
    assert rates == pytest.approx([150.0, 250.0, 350.0, 450.0, 500.0])


def test_one_slow_client_gives_one_rate() -> None:
    assert interpolated([(0.4, 100.0)]) == pytest.approx([100.0, 100.0])


def test_sends_that_stayed_disturbed_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Service(tmp_path)
    monkeypatch.setattr(server, "_quiet", {"a", "c"})
    assert server.quiet(["a", "b", "c"]) == ["a", "c"]
    assert server.quiet(["b"]) == ["b"]
