"""Quantiles of any station: exact where that is known, near the simulation elsewhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.models.analytic import mmc, single_server
from dovemq.models.analytic.completion import TimeMoments
from dovemq.models.analytic.percentiles import GeneralStation, response_quantile, service_nodes
from dovemq.models.distributions import by_moments
from dovemq.models.planning.checking import network_of
from dovemq.models.planning.one_queue import plan_queue
from dovemq.models.simulation import SimulationRun, simulate_network


@settings(deadline=None)
@given(st.floats(0.05, 0.98), st.integers(1, 20), st.floats(0.5, 0.999))
def test_station_with_exponential_times_is_exact(
    utilisation: float, servers: int, level: float
) -> None:
    found = GeneralStation(utilisation * servers, 1.0, servers)
    exact = mmc(utilisation * servers, 1.0, servers)
    assert found.sojourn_quantile(level) == pytest.approx(float(exact.sojourn_quantile(level)))
    wait = pytest.approx(float(exact.wait_quantile(level)), rel=1e-6, abs=1e-6)
    assert found.wait_quantile(level) == wait
    assert found.sojourn_time == pytest.approx(float(exact.sojourn_time))


@settings(deadline=None)
@given(st.floats(0.1, 0.9), st.floats(0.999, 1.001))
def test_quantile_hardly_changes_with_an_scv_near_1(utilisation: float, scv: float) -> None:
    exact = GeneralStation(3 * utilisation, 1.0, 3).sojourn_quantile(0.95)
    near = GeneralStation(3 * utilisation, 1.0, 3, scv, scv).sojourn_quantile(0.95)
    assert near == pytest.approx(exact, rel=5e-3)


@settings(deadline=None)
@given(st.floats(0.0, 5.0), st.floats(0.1, 10.0))
def test_nodes_of_a_service_have_its_mean_and_scv(scv: float, mean: float) -> None:
    times, weights = service_nodes(mean, scv)
    assert weights @ times == pytest.approx(mean, rel=2e-3)
    assert weights @ times**2 == pytest.approx(mean**2 * (1 + scv), rel=2e-2)


@pytest.mark.parametrize(
    ("servers", "utilisation", "arrival_scv", "service_scv"),
    [(1, 0.8, 0.5, 0.5), (3, 0.8, 1.1, 1.1), (5, 0.86, 2.0, 0.5), (10, 0.9, 0.5, 2.0)],
)
def test_quantiles_are_near_the_simulated_ones(
    servers: int, utilisation: float, arrival_scv: float, service_scv: float
) -> None:
    station = GeneralStation(utilisation * servers, 1.0, servers, arrival_scv, service_scv)
    run = SimulationRun(20_000.0, warm_up=2_000.0, replications=4, seed=1)
    found = simulate_network(network_of(station), run)
    for level in (0.9, 0.95):
        simulated = found.quantile(level).mean
        assert station.sojourn_quantile(level) == pytest.approx(simulated, rel=0.1)


def test_wait_of_one_server_with_poisson_arrivals_is_near_the_exact_one() -> None:
    for scv in (0.25, 2.0):
        exact = single_server(0.8, by_moments(1.0, scv))
        time = GeneralStation(0.8, 1.0, 1, 1.0, scv).wait_quantile(0.95)
        assert float(exact.wait_tail(time)) == pytest.approx(0.05, abs=0.012)


def test_full_load_has_no_quantile() -> None:
    assert GeneralStation(0.3, 0.1, 3, 0.5, 0.5).sojourn_quantile(0.5) == np.inf
    assert GeneralStation(0.3, 0.1, 3).wait_quantile(0.5) == np.inf


def test_nothing_varies_and_nobody_waits() -> None:
    assert GeneralStation(2.0, 1.0, 3, 0.0, 0.0).sojourn_quantile(0.95) == pytest.approx(1.0)


def test_response_times_that_are_exponential_keep_their_quantile() -> None:
    means = np.array([1.0, 3.0, np.inf, 0.0])
    found = response_quantile(TimeMoments(means, means**2), 0.95)
    assert found[:2] == pytest.approx(means[:2] * -np.log(0.05))
    assert found[2] == np.inf
    assert found[3] == 0.0


@settings(deadline=None, max_examples=30)
@given(st.floats(0.5, 30.0), st.floats(0.0, 3.0), st.floats(0.0, 3.0), st.floats(1.1, 4.0))
def test_plan_is_the_fewest_consumers_that_meet_the_target(
    rate: float, arrival_scv: float, service_scv: float, factor: float
) -> None:
    station = GeneralStation(rate, 1.0, 1, arrival_scv, service_scv)
    target = factor * station.service_quantile(0.95)
    plan = plan_queue(station, target, 0.95)
    assert plan.time <= target
    assert plan.less_time is None or plan.less_time > target
    assert plan.station.utilisation < 1
