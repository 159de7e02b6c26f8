"""The fit finds the distribution that the times were drawn from, and its parameters."""

import numpy as np
import pytest

from dovemq.models.calibration import TimeSample, fits
from dovemq.models.distributions import Deterministic, Erlang, Exponential, Gamma, HyperExponential

COUNT = 5_000


def _sample(times: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> TimeSample:
    return TimeSample.of_values(np.round(1e6 * times).astype(np.int64))


def test_exponential_times_are_recognised() -> None:
    best = fits(_sample(np.random.default_rng(1).exponential(0.02, COUNT)))[0]
    assert isinstance(best.distribution, Exponential)
    assert best.distribution.mean == pytest.approx(0.02, rel=0.05)
    assert best.distance < 0.03


def test_stages_of_an_erlang_are_found() -> None:
    best = fits(_sample(np.random.default_rng(2).gamma(5.0, 0.004, COUNT)))[0]
    assert isinstance(best.distribution, Erlang)
    assert best.distribution.stages == 5
    assert best.distribution.mean == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize("shape", [0.4, 2.6])
def test_a_shape_between_stages_is_gamma(shape: float) -> None:
    best = fits(_sample(np.random.default_rng(3).gamma(shape, 0.01, COUNT)))[0]
    assert isinstance(best.distribution, Gamma)
    assert best.distribution.scv == pytest.approx(1.0 / shape, rel=0.1)


def test_two_phases_are_found_with_their_shares() -> None:
    rng = np.random.default_rng(4)
    means = np.where(rng.random(COUNT) < 0.8, 0.005, 0.08)
    best = fits(_sample(rng.exponential(means)))[0]
    assert isinstance(best.distribution, HyperExponential)
    pairs = sorted(zip(best.distribution.means, best.distribution.shares, strict=True))
    assert pairs[0] == pytest.approx((0.005, 0.8), rel=0.1)
    assert pairs[1] == pytest.approx((0.08, 0.2), rel=0.1)


def test_equal_times_are_deterministic_and_nothing_else() -> None:
    (only,) = fits(TimeSample.of_values([20_000] * 100))
    assert only.distribution == Deterministic(0.02)


def test_nearly_equal_times_are_no_constant() -> None:
    names = [fit.name for fit in fits(TimeSample.of_values([20_000] * 50 + [20_400] * 50))]
    assert names[0] == "gamma"
    assert "deterministic" not in names


def test_the_fit_has_the_largest_likelihood_of_its_kind() -> None:
    times = np.random.default_rng(5).gamma(1.7, 0.02, 800)
    sample = _sample(times)
    gamma = next(fit for fit in fits(sample) if fit.name == "gamma")
    assert gamma.distribution.mean == pytest.approx(float(times.mean()), rel=1e-3)
    from scipy import stats

    shape = 1.0 / gamma.distribution.scv
    drawn = np.round(1e6 * times) / 1e6
    best = stats.gamma.logpdf(drawn, shape, scale=gamma.distribution.mean / shape).sum()
    assert gamma.log_likelihood == pytest.approx(best, rel=1e-4)
    for other in (0.9 * shape, 1.1 * shape):
        assert stats.gamma.logpdf(drawn, other, scale=times.mean() / other).sum() < best


def test_times_below_the_clock_do_not_stop_a_fit() -> None:
    times = np.concatenate([np.zeros(200), np.random.default_rng(6).exponential(0.01, 800)])
    found = fits(_sample(times))
    assert all(np.isfinite(fit.aic) for fit in found)


def test_no_times_have_no_fit() -> None:
    assert fits(TimeSample.of_values([])) == ()
    assert fits(TimeSample.of_values([0, 0, 0])) == ()
