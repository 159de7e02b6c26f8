"""Times that the kernels draw have the given distribution."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    by_moments,
)
from tests.models.simulation.records import drawn

COUNT = 40_000
SIGNIFICANCE = 0.001


def phases_cdf(distribution: HyperExponential, time: object) -> object:
    pairs = zip(distribution.shares, distribution.means, strict=True)
    return sum(share * stats.expon.cdf(time, scale=mean) for share, mean in pairs)


CONTINUOUS: dict[str, tuple[Distribution, object]] = {
    "exponential": (Exponential(0.3), stats.expon(scale=0.3).cdf),
    "Erlang of 3": (Erlang(2.0, 3), stats.erlang(3, scale=2 / 3).cdf),
    "Erlang of 50": (Erlang(2.0, 50), stats.gamma(50, scale=2 / 50).cdf),
    "gamma above 1": (Gamma(1.5, 4.0), stats.gamma(0.25, scale=6.0).cdf),
    "gamma below 1": (Gamma(1.5, 0.4), stats.gamma(2.5, scale=0.6).cdf),
    "hyper-exponential": (
        HyperExponential((0.2, 0.5, 0.3), (5.0, 0.1, 1.0)),
        lambda time: phases_cdf(HyperExponential((0.2, 0.5, 0.3), (5.0, 0.1, 1.0)), time),
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_drawn_times_pass_the_test_of_kolmogorov_and_smirnov(name: str) -> None:
    distribution, cdf = CONTINUOUS[name]
    assert stats.kstest(drawn(distribution, COUNT), cdf).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("name", CONTINUOUS)
def test_drawn_times_have_the_stated_mean_and_scv(name: str) -> None:
    distribution, _ = CONTINUOUS[name]
    times = drawn(distribution, COUNT)
    error = math.sqrt(distribution.scv / COUNT)
    assert np.mean(times) / distribution.mean == pytest.approx(1, abs=4 * error)
    assert np.var(times) / np.mean(times) ** 2 == pytest.approx(distribution.scv, rel=0.15)


def test_far_tail_of_the_exponential_is_there() -> None:
    """Beyond the lowest layer of the ziggurat, where times come by a logarithm."""
    times = drawn(Exponential(1.0), 400_000)
    beyond = int(np.sum(times > 7.7))
    assert stats.binomtest(beyond, len(times), math.exp(-7.7)).pvalue > SIGNIFICANCE


def test_deterministic_time_is_always_the_same() -> None:
    assert drawn(Deterministic(0.25), 1_000) == pytest.approx(0.25)


def test_empirical_times_are_the_observed_ones_equally_often() -> None:
    times = drawn(Empirical((3.0, 1.0, 1.0, 0.5)), COUNT).round(6)
    values, counts = np.unique(times, return_counts=True)
    assert values.tolist() == [0.5, 1.0, 3.0]
    assert stats.chisquare(counts, np.array([1, 2, 1]) * COUNT / 4).pvalue > SIGNIFICANCE


def test_successive_times_are_not_correlated() -> None:
    times = drawn(Exponential(1.0), 400_000)
    for lag in range(1, 6):
        correlation = np.corrcoef(times[:-lag], times[lag:])[0, 1]
        assert abs(correlation) < 4 / math.sqrt(len(times))


@given(st.floats(1e-6, 1e6), st.one_of(st.just(0.0), st.just(1.0), st.floats(0.001, 50)))
def test_distribution_by_moments_has_these_moments(mean: float, scv: float) -> None:
    found = by_moments(mean, scv)
    assert found.mean == pytest.approx(mean)
    assert found.scv == pytest.approx(scv, abs=1e-9)
