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
    LogNormal,
    Pareto,
    Weibull,
    by_moments,
    moments,
)
from dovemq.models.errors import ModelError
from dovemq.models.named_times import NAMES, heavy_tail, named_time
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
    "log-normal": (
        LogNormal(2.0, 1.5),
        stats.lognorm(math.sqrt(math.log(2.5)), 0, 2 / 2.5**0.5).cdf,
    ),
    "Weibull above 1": (Weibull(math.gamma(1.5), 2.0), stats.weibull_min(2.0).cdf),
    "Weibull below 1": (Weibull(math.gamma(2.25), 0.8), stats.weibull_min(0.8).cdf),
    "Pareto": (Pareto(3.0, 5.0), stats.pareto(5.0, scale=2.4).cdf),
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


KNOWN: dict[str, tuple[Distribution, object]] = {
    "log-normal": (LogNormal(2.0, 1.5), stats.lognorm(math.sqrt(math.log(2.5)), 0, 2 / 2.5**0.5)),
    "Weibull": (Weibull(math.gamma(2.25), 0.8), stats.weibull_min(0.8)),
    "Pareto": (Pareto(3.0, 5.0), stats.pareto(5.0, scale=2.4)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_moments_are_those_of_scipy(name: str) -> None:
    distribution, known = KNOWN[name]
    expected = [known.moment(power) for power in (1, 2, 3)]  # type: ignore[attr-defined]
    assert moments(distribution) == pytest.approx(expected)
    assert distribution.scv == pytest.approx(expected[1] / expected[0] ** 2 - 1)


def test_pareto_times_without_a_third_moment_get_a_warning_and_without_a_second_are_refused() -> (
    None
):
    assert moments(Pareto(1.0, 2.5))[2] == math.inf
    assert "third moment of the service times" in (
        heavy_tail(Pareto(1.0, 3.0), "service times") or ""
    )
    assert heavy_tail(Pareto(1.0, 3.01), "service times") is None
    assert heavy_tail(Exponential(1.0), "service times") is None
    for shape in (2.0, 1.0, -1.0, math.nan, 1e9):
        with pytest.raises(ModelError, match=r"Pareto\.shape"):
            Pareto(1.0, shape)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("exponential", Exponential(2.0)),
        ("deterministic", Deterministic(2.0)),
        ("erlang:stages=3", Erlang(2.0, 3)),
        ("gamma:scv=0.4", Gamma(2.0, 0.4)),
        ("hyperexponential:scv=4", by_moments(2.0, 4.0)),
        ("lognormal:scv=2", LogNormal(2.0, 2.0)),
        ("weibull:shape=0.7", Weibull(2.0, 0.7)),
        ("pareto:shape=2.5", Pareto(2.0, 2.5)),
    ],
)
def test_distribution_is_found_by_its_name(text: str, found: Distribution) -> None:
    assert named_time(text, 2.0) == found
    assert text.partition(":")[0] in NAMES


@pytest.mark.parametrize("name", ["gamma", "hyperexponential", "lognormal", "weibull", "pareto"])
@given(scv=st.floats(1.01, 50.0))
def test_named_distribution_has_the_scv_that_is_asked_for(name: str, scv: float) -> None:
    for found in (named_time(f"{name}:scv={scv}", 3.0), named_time(name, 3.0, scv)):
        assert found.mean == pytest.approx(3.0)
        assert found.scv == pytest.approx(scv, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("normal", "one of exponential, deterministic"),
        ("exponential:scv=2", "exponential alone"),
        ("gamma", "gamma:scv=NUMBER"),
        ("gamma:shape=2", "gamma:scv=NUMBER"),
        ("weibull", "weibull:shape=NUMBER or weibull:scv=NUMBER"),
        ("weibull:shape=x", "weibull:shape=NUMBER"),
        ("weibull:shape=0.01", "a number from 0.1 to 1000"),
        ("weibull:scv=1e9", "weibull:scv is 1e\\+09"),
        ("pareto:shape=2", "so that the variance is finite"),
        ("pareto:scv=-1", "pareto:scv is -1"),
        ("hyperexponential:scv=0.5", "a number above 1"),
        ("erlang:stages=2.5", "Erlang.stages is 2.5"),
        ("lognormal:scv=nan", "LogNormal.scv is nan"),
    ],
)
def test_name_of_no_distribution_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        named_time(text, 1.0)
