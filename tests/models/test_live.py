"""Predictions without numpy agree with the models that use it, and their bands cover the truth."""

import math
import random
import subprocess
import sys

import numpy as np
import pytest

from dovemq.models.analytic.percentiles import GeneralStation
from dovemq.models.calibration.intervals import mean_of, scv_of
from dovemq.models.calibration.samples import TimeSample
from dovemq.models.live import (
    LiveCalibration,
    Scenario,
    calibrated,
    curve,
    forecast,
    known_figure,
    saturation,
    servers_for,
)
from dovemq.models.live.estimating import mean_figure, scv_figure
from dovemq.models.planning.one_queue import plan_queue

NODES = 4_000
EXPONENTIAL = tuple(-math.log(1 - (part + 0.5) / NODES) for part in range(NODES))
TRIALS = 200


def _known(rate: float, arrival_scv: float = 1.0) -> LiveCalibration:
    mean = math.fsum(EXPONENTIAL) / NODES
    nodes = tuple(each / mean for each in EXPONENTIAL)
    one = known_figure(1.0)
    return LiveCalibration(known_figure(rate), known_figure(arrival_scv), one, one, nodes)


@pytest.mark.parametrize("servers", [1, 3, 10])
@pytest.mark.parametrize("load", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("arrival_scv", [0.3, 1.0, 2.5])
def test_forecast_agrees_with_the_station_of_the_models(
    servers: int, load: float, arrival_scv: float
) -> None:
    found = forecast(_known(load * servers, arrival_scv), Scenario(servers, 1, 0.95))
    model = GeneralStation(load * servers, 1.0, servers, arrival_scv, 1.0)
    assert found.response.value == pytest.approx(model.sojourn_time, rel=1e-9)
    assert found.response_quantile.value == pytest.approx(model.sojourn_quantile(0.95), rel=2e-3)
    assert found.utilisation.value == pytest.approx(model.utilisation)
    if servers > 1:
        wanted = model.wait_quantile(0.95)
        assert found.wait_quantile.value == pytest.approx(wanted, rel=1e-3, abs=1e-9)


def test_number_of_servers_for_a_target_is_that_of_the_plan() -> None:
    for rate in (0.5, 2.5, 8.0):
        plan = plan_queue(GeneralStation(rate, 1.0), 4.0, 0.95)
        assert servers_for(_known(rate), 4.0, 0.95) == plan.station.servers
    assert servers_for(_known(1.0), 0.1, 0.95) is None


def test_estimates_agree_with_those_of_the_calibration() -> None:
    rng = np.random.default_rng(3)
    times_us = np.rint(rng.exponential(20_000, 3_000)).astype(np.int64)
    sample = TimeSample.of_values(times_us)
    for own, exact in (
        (mean_figure(times_us.tolist()), mean_of(sample)),
        (scv_figure(times_us.tolist()), scv_of(sample)),
    ):
        assert own is not None
        assert exact is not None
        assert own.value == pytest.approx(exact.value, rel=0.01)
        assert (own.low, own.high) == pytest.approx((exact.low, exact.high), rel=0.05)


def test_band_covers_the_true_response_nearly_always() -> None:
    """The parameters of M/M/2 are estimated from 400 messages, again and again."""
    rng = random.Random(11)
    rate, truth, held = 1.4, GeneralStation(1.4, 1.0, 2), 0
    for _ in range(TRIALS):
        gaps = [rng.expovariate(rate) for _ in range(400)]
        services = [rng.expovariate(1.0) for _ in range(400)]
        known = calibrated(400, math.fsum(gaps), gaps, services)
        assert known is not None
        band = forecast(known, Scenario(2)).response
        held += band.low <= truth.sojourn_time <= band.high
    assert held >= 0.9 * TRIALS


def test_curve_rises_to_the_saturation_and_divided_consumers_are_slower() -> None:
    known = _known(2.0)
    rates = [point.arrival_rate for point in curve(known, Scenario(4))]
    means = [point.response.value for point in curve(known, Scenario(4))]
    assert rates[-1] < saturation(known, Scenario(4)).value == pytest.approx(4.0)
    assert means == sorted(means)
    pooled, divided = (forecast(known, Scenario(4, each)) for each in (1, 4))
    assert divided.response.value == pytest.approx(2.0)
    assert divided.response.value > pooled.response.value
    uneven = forecast(known, Scenario(4, 3))
    assert uneven.utilisation.value == pytest.approx(2 / 3)


def test_overload_has_no_end_and_the_throughput_of_its_servers() -> None:
    found = forecast(_known(9.0), Scenario(4))
    assert math.isinf(found.response.value)
    assert math.isinf(found.wait_quantile.value)
    assert found.throughput.value == pytest.approx(4.0)
    assert not found.stable


def test_few_samples_give_no_calibration() -> None:
    times = [1.0, 2.0] * 4
    assert calibrated(8, 10.0, times, times) is None
    assert calibrated(0, 0.0, [], []) is None
    constant = calibrated(20, 20.0, [1.0] * 20, [0.5] * 20)
    assert constant is not None
    assert forecast(constant, Scenario(1)).wait.value == 0.0


def test_predictions_import_no_numpy() -> None:
    script = "import sys, dovemq.models.live; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
