"""Figures of rds and joram by simulation: claims, axes and columns are complete."""

import math

import pytest

from dovemq.experiments import rds_readings, rds_sleeps
from dovemq.experiments.catalogue import EXPERIMENTS
from dovemq.experiments.figure import Effort, Figure
from dovemq.experiments.intervals import interval_curve, ratio
from dovemq.models.estimates import Interval

QUICK_LOOK = Effort(replications=2, horizon_seconds=1.0)
REAL_SERVICE = {"rds-fig14", *(f"joram-fig{number}" for number in range(4, 12))}
NAMES = [name for name in EXPERIMENTS if name.startswith(("rds-", "joram-model-"))]
SIMULATED = [name for name in NAMES if name not in REAL_SERVICE]


@pytest.mark.parametrize("name", SIMULATED)
def test_every_claim_has_a_threshold_and_every_axis_a_label(name: str) -> None:
    figure: Figure = EXPERIMENTS[name].run(QUICK_LOOK)
    assert figure.verdicts
    assert figure.readings
    assert all(verdict.threshold and verdict.found for verdict in figure.verdicts)
    assert all(panel.x_label and panel.y_label and panel.curves for panel in figure.panels)
    assert len({len(column) for column in figure.data.values()}) == 1


def test_figures_of_the_real_service_have_the_numbers_of_the_papers() -> None:
    assert set(EXPERIMENTS) >= REAL_SERVICE


def test_figure_of_the_sleep_has_a_verdict_for_every_case() -> None:
    figure = rds_sleeps.sleep_time(QUICK_LOOK)
    cases = len(rds_sleeps.ENQUEUE_RATES) * len(rds_sleeps.REQUEST_RATES)
    best = [each for each in figure.verdicts if "is the best sleep" in each.claim]
    assert len(best) == cases
    assert all("; the best is " in each.found for each in best)
    assert all(panel.x_names for panel in figure.panels)


def test_other_readings_keep_the_columns_of_all_sweeps() -> None:
    figure = rds_readings.readings(QUICK_LOOK)
    points = len(rds_readings.SYSTEMS) * len(rds_readings.REQUEST_RATES) * len(rds_readings.LOOPS)
    points += 4 * len(rds_readings.ENQUEUE_RATES) + 2 * len(rds_readings.PERIODS)
    assert {len(column) for column in figure.data.values()} == {points}


def test_quotient_of_nothing_is_nothing() -> None:
    found = ratio(Interval(0.0, 0.0, 0.0), Interval(2.0, 1.0, 3.0))
    assert (found.mean, found.low, found.high) == (0.0, 0.0, 0.0)


def test_quotient_has_the_width_of_both_parts() -> None:
    found = ratio(Interval(3.0, 2.7, 3.3), Interval(2.0, 1.9, 2.1))
    assert found.mean == 1.5
    assert found.high - found.mean == pytest.approx(1.5 * math.hypot(0.1, 0.05))


def test_curve_of_intervals_has_a_band() -> None:
    curve = interval_curve("a", {1.0: Interval(2.0, 1.0, 3.0), 2.0: Interval(5.0, 4.0, 6.0)})
    assert (curve.x, curve.y, curve.low, curve.high) == (
        (1.0, 2.0),
        (2.0, 5.0),
        (1.0, 4.0),
        (3.0, 6.0),
    )
