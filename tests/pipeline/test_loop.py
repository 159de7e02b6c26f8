"""The loop: the real service in a short run, and the figure that is made of longer ones."""

import math
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dovemq.experiments.loop import figure_of, verdict_on
from dovemq.experiments.loop_cases import Case, LoopPoint, Rounds, consumers, front_end
from dovemq.experiments.publishing import publish
from dovemq.experiments.service_runs import (
    IDLE_LOOKS_MAX,
    LOOK_SECONDS,
    LoadedService,
    loaded_service,
    wait_until_idle,
)
from dovemq.models.estimates import Estimate
from dovemq.pipeline.calibration.periods import Traced

SHORT = Rounds({0.5: 2.0}, 1, pilot_seconds=1.5)


def _ignore(text: str) -> None:
    pass


def test_a_model_of_consumers_is_calibrated_and_measured_in_the_real_service() -> None:
    with loaded_service(LoadedService) as server:
        (point,) = consumers(server, 1, SHORT).points(server, _ignore)
    assert (point.case, point.load, point.measured.samples) == ("consumers", 0.5, 1)
    assert point.utilisation > 0
    assert point.predicted > 0
    assert point.measured.mean > 0


def test_a_model_of_the_front_end_is_calibrated_and_measured_in_the_real_service() -> None:
    with loaded_service(LoadedService) as server:
        (point,) = front_end(server, 1, SHORT).points(server, _ignore)
    assert (point.case, point.load, point.measured.samples) == ("front end", 0.5, 1)
    assert point.arrival_rate > 0
    assert point.measured.mean > 0
    assert point.predicted > 0


def _point(predicted: float, *measured: float) -> LoopPoint:
    """A point whose rounds agree on the prediction."""
    estimate = Estimate(measured, 0.95)
    return LoopPoint("consumers", 0.7, 0.71, 300.0, predicted, estimate, 3 * (predicted,))


@pytest.mark.parametrize(
    ("predicted", "holds"), [(1.1, True), (0.9, True), (1.2, False), (0.8, False), (1.15, None)]
)
def test_a_prediction_holds_within_fifteen_percent(predicted: float, holds: bool | None) -> None:
    assert verdict_on(_point(predicted, 0.99, 1.0, 1.01)).holds is holds


@pytest.mark.parametrize("measured", [(0.5, 1.0, 1.5), (1.0,)])
def test_no_verdict_is_given_on_a_mean_with_a_wide_interval(measured: tuple[float, ...]) -> None:
    assert verdict_on(_point(1.0, *measured)).holds is None


@pytest.mark.parametrize("predictions", [(0.5, 1.0, 1.5), (1.0, 1.0, math.inf), (1.0,)])
def test_no_verdict_is_given_on_a_prediction_that_rounds_do_not_agree_on(
    predictions: tuple[float, ...],
) -> None:
    point = replace(_point(2.0, 0.99, 1.0, 1.01), predictions=predictions)
    assert verdict_on(point).holds is None


def test_a_verdict_states_the_interval_of_the_measured_mean() -> None:
    assert "measured 1000 ms ± 2.5%" in verdict_on(_point(1.0, 0.99, 1.0, 1.01)).found


def test_the_figure_shows_both_means_and_leaves_out_unstable_predictions(tmp_path: Path) -> None:
    figure = figure_of([_point(1.1, 0.99, 1.0, 1.01), _point(math.inf, 0.99, 1.0, 1.01)])
    publish("loop", figure, tmp_path)
    assert pq.read_table(tmp_path / "loop.parquet")["predicted_s"].to_pylist() == [1.1, None]
    assert [curve.label for curve in figure.panels[0].curves] == [
        "measured, 95 %",
        "predicted, 95 %",
    ]
    assert [verdict.holds for verdict in figure.verdicts] == [True, False]


class Unstarted(LoadedService):
    """A service that runs nothing and remembers whose trace was read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read: list[str] = []

    def traced(self, name: str) -> Traced:
        self.read.append(name)
        return super().traced(name)

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass


def test_loads_take_turns_and_all_rounds_count(tmp_path: Path) -> None:
    ran: list[str] = []
    lines: list[str] = []

    def run(load: float, number: int, name: str) -> None:
        ran.append(name)

    def count(load: float, traced: Traced) -> float:
        return float(len(server.read))

    def point(load: float, found: list[float]) -> LoopPoint:
        return LoopPoint("", load, load, 1.0, 1.0, Estimate(tuple(found), 0.95))

    case = Case("consumers", Rounds({0.5: 1.0, 0.7: 1.0}, 2, 1.0), run, count, point)
    server = Unstarted(tmp_path)
    points = case.points(server, lines.append)
    assert ran == ["load-50-0", "load-70-0", "load-50-1", "load-70-1"]
    assert server.read == sorted(ran)
    assert [each.measured.values for each in points] == [(1.0, 2.0), (3.0, 4.0)]
    assert lines[-1] == "consumers at 70%, round 2"


def test_a_load_starts_when_the_server_has_finished_the_one_before() -> None:
    # Read before and after each look: busy twice, then hardly.
    cpu_seconds = [0.0, 0.05, 0.05, 0.06, 0.06, 0.0601]
    slept: list[float] = []
    wait_until_idle(lambda: cpu_seconds.pop(0), slept.append)
    assert cpu_seconds == []
    assert slept == 3 * [LOOK_SECONDS]


def test_the_wait_for_an_idle_server_is_bounded() -> None:
    slept: list[float] = []
    wait_until_idle(lambda: float(len(slept)), slept.append)
    assert len(slept) == IDLE_LOOKS_MAX
