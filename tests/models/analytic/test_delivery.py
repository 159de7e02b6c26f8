"""Quantiles of the delivery time of `vma`: exact in tandem, near the kernel elsewhere."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dovemq.cli import main
from dovemq.models.analytic import mmc, vma
from dovemq.models.analytic.delivery import delivery_quantile, has_exact_quantiles
from dovemq.models.analytic.inversion import inverted
from dovemq.models.analytic.station import sojourn_transform
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.vma.parameters import PAPER, VmaParameters


def _quantile(model: VmaParameters, level: float) -> float:
    return delivery_quantile(model, vma(model), level)


def test_single_threads_take_a_sum_of_two_exponential_times() -> None:
    # Rates 4 − 2 and 5 − 2: the density is hypoexponential (Reich 1963).
    model = VmaParameters(2.0, 4.0, 5.0, 1, 1)
    for level in (0.5, 0.95, 0.99):
        time = _quantile(model, level)
        assert 3 * np.exp(-2 * time) - 2 * np.exp(-3 * time) == pytest.approx(1 - level, rel=1e-6)


def test_failures_that_are_known_at_once_make_the_service_longer() -> None:
    plain = VmaParameters(2.0, 4.0, 5.0, 2, 2)
    failing = VmaParameters(2.0, 4.0, 5.0 / 0.8, 2, 2, reliability=0.8)
    assert _quantile(failing, 0.95) == pytest.approx(_quantile(plain, 0.95), rel=1e-9)


def test_exact_quantiles_lie_in_the_interval_of_the_kernel() -> None:
    model = VmaParameters(22.5, 7.1, 9.4, 4, 3, reliability=0.93)
    run = SimulationRun(8_000.0, warm_up=500.0, replications=10, seed=3, confidence=0.99)
    found = simulate_tandem(model, run)
    assert has_exact_quantiles(model)
    for level in (0.5, 0.95):
        estimate = found.quantile(level)
        # The kernel counts times in bins.
        width = estimate.half_width + 0.008 * estimate.mean
        assert abs(_quantile(model, level) - estimate.mean) <= width


@pytest.mark.parametrize(
    "more",
    [
        {"link_delay": 0.02},
        {"failure": "timer", "visibility_timeout": 2.0},
        {"failure": "timer", "visibility_timeout": 1.0, "link_delay": 0.02},
    ],
)
def test_links_and_timers_are_near_the_kernel(more: dict[str, float]) -> None:
    model = VmaParameters(22.5, 7.1, 9.4, 4, 3, reliability=0.9, **more)  # type: ignore[arg-type]
    run = SimulationRun(4_000.0, warm_up=400.0, replications=4, seed=3)
    found = simulate_tandem(model, run)
    assert not has_exact_quantiles(model)
    for level in (0.5, 0.99):
        assert _quantile(model, level) == pytest.approx(found.quantile(level).mean, rel=0.04)


def test_messages_that_are_given_up_end_with_their_last_get() -> None:
    endless = VmaParameters(10.0, 10.0, 10.0, 5, 5, reliability=0.5)
    times = [_quantile(replace(endless, gets_max=gets), 0.99) for gets in (1, 2, 40)]
    assert times[0] < times[1] < times[2]
    # One get of whatever outcome is a service of the broker.
    assert times[0] == pytest.approx(
        _quantile(VmaParameters(10.0, 10.0, 10.0, 5, 5), 0.99), rel=1e-9
    )


def test_unstable_service_has_no_quantile() -> None:
    assert _quantile(VmaParameters(50.0, 10.0, 10.0, 5, 5), 0.95) == np.inf


def test_transform_of_a_station_gives_its_tail() -> None:
    station = mmc(4.0, 1.0, 5)
    times = np.array([0.3, 2.0, 9.0])
    tails = inverted(lambda s: (1 - sojourn_transform(station, s)) / s, times)
    assert tails == pytest.approx(station.sojourn_tail(times), abs=1e-7)


def test_command_reports_quantiles_also_in_a_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["model", "vma", "--arrival-rate", "30.3", "--service-rate", "10", "--threads", "5"]
    args += ["--reliability", "0.99"]
    assert main([*args, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["results"][0]
    assert row["delivery_p95_s"] == pytest.approx(_quantile(PAPER, 0.95))
    assert main([*args, "--percentile", "50,90", "--sweep", "threads=4:6", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert all(row["delivery_p50_s"] < row["delivery_p90_s"] for row in rows)
    assert main([*args, "--percentile", "50", "--as-printed"]) == 2
    assert "without --as-printed" in capsys.readouterr().err
