"""A server whose rate depends on its number: against M/M/1, M/M/c and a finite sum."""

import numpy as np
import pytest

from dovemq.models.analytic import ParameterInvalid, arrival_rate_at, load_dependent, mm1, mmc


@pytest.mark.parametrize("servers", [1, 3, 8, 40])
@pytest.mark.parametrize("utilisation", [0.1, 0.85, 0.99])
def test_rates_that_rise_to_c_are_m_m_c(servers: int, utilisation: float) -> None:
    found = load_dependent(utilisation * servers, [float(n + 1) for n in range(servers)])
    exact = mmc(utilisation * servers, 1.0, servers)
    assert found.stable
    assert found.number == pytest.approx(float(exact.number))
    assert found.sojourn_time == pytest.approx(float(exact.sojourn_time))
    assert found.busy == pytest.approx(float(exact.any_busy))


def test_one_rate_is_m_m_1_however_often_it_is_told() -> None:
    exact = float(mm1(0.7, 1.0).number)
    assert load_dependent(0.7, [1.0]).number == pytest.approx(exact)
    assert load_dependent(0.7, [1.0] * 3_000).number == pytest.approx(exact)


def test_any_rates_agree_with_the_sum_over_the_chain() -> None:
    rates = [0.5, 2.0, 1.5, 3.0]
    weights = np.cumprod([1.0, *(2.0 / (rates[min(n, 3)]) for n in range(400))])
    weights /= weights.sum()
    found = load_dependent(2.0, rates)
    assert found.number == pytest.approx(weights @ np.arange(401))
    assert found.busy == pytest.approx(1.0 - weights[0])


def test_more_than_the_last_rate_is_unstable() -> None:
    found = load_dependent(3.0, [9.0, 3.0])
    assert not found.stable
    assert found.number == np.inf


@pytest.mark.parametrize("rates", [[0.0], [1.0, -1.0], [float("nan")]])
def test_rates_must_be_above_0(rates: list[float]) -> None:
    with pytest.raises(ParameterInvalid):
        load_dependent(1.0, rates)


@pytest.mark.parametrize("load", [0.01, 0.5, 0.85, 0.999])
def test_the_load_of_a_server_of_one_speed_is_its_utilisation(load: float) -> None:
    assert arrival_rate_at(load, [300.0]) == pytest.approx(300.0 * load)


def test_a_server_that_is_faster_with_more_in_hand_takes_more_at_the_same_load() -> None:
    rates = [300.0, 500.0, 600.0]
    assert load_dependent(arrival_rate_at(0.7, rates), rates).busy == pytest.approx(0.7)
    assert arrival_rate_at(0.7, rates) > arrival_rate_at(0.7, rates[:1])
