"""Estimates and their intervals: what they hold, and in how many of a hundred cases."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dovemq.models.calibration import TimeSample, known, mean_of, rate_of, scv_of, share_of
from dovemq.models.calibration.samples import TIME_US_MAX, bins_of
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.estimates import Parameter

SEEDS = 100
RIGHT = range(90, 100)
"""The number of intervals of 95 %, of a hundred, that contain the true value."""
MEAN_US = 20_000

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def _phases(scv: float) -> Draw:
    share = (1.0 + np.sqrt((scv - 1.0) / (scv + 1.0))) / 2.0

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        first = rng.random(count) < share
        times: NDArray[np.float64] = rng.exponential(size=count) / (
            2.0 * np.where(first, share, 1.0 - share)
        )
        return times

    return draw


TIMES: dict[str, tuple[Draw, float]] = {
    "exponential": (lambda rng, count: rng.exponential(size=count), 1.0),
    "erlang": (lambda rng, count: rng.gamma(4.0, 0.25, count), 0.25),
    "gamma": (lambda rng, count: rng.gamma(0.5, 2.0, count), 2.0),
    "two phases": (_phases(4.0), 4.0),
    "far phases": (_phases(10.0), 10.0),
}


def _sample(draw: Draw, seed: int, count: int) -> TimeSample:
    times = MEAN_US * draw(np.random.default_rng(seed), count)
    return TimeSample.of_values(np.round(times).astype(np.int64))


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("count", [2_000, 10_000])
def test_intervals_of_rate_and_scv_hold_the_truth_as_often_as_they_say(
    name: str, count: int
) -> None:
    draw, scv = TIMES[name]
    samples = [_sample(draw, seed, count) for seed in range(SEEDS)]
    rates = [known(rate_of(sample), "rate").holds(1e6 / MEAN_US) for sample in samples]
    scvs = [known(scv_of(sample), "scv").holds(scv) for sample in samples]
    assert sum(rates) in RIGHT
    assert sum(scvs) in RIGHT


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.97])
def test_intervals_of_a_share_hold_the_truth_as_often_as_they_say(share: float) -> None:
    rng = np.random.default_rng(3)
    found = [share_of(int(rng.binomial(1_500, share)), 1_500) for _ in range(SEEDS)]
    assert sum(known(each, "share").holds(share) for each in found) in RIGHT


def test_a_wider_confidence_makes_wider_intervals() -> None:
    sample = _sample(TIMES["exponential"][0], 1, 500)
    narrow, wide = (known(rate_of(sample, level), "rate") for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_a_share_of_nothing_and_of_all_keeps_its_bounds() -> None:
    none, all_of_them = known(share_of(0, 50), "share"), known(share_of(50, 50), "share")
    assert 0.0 == none.low == none.value < none.high < 0.1
    assert 0.9 < all_of_them.low < all_of_them.value == all_of_them.high == 1.0
    assert share_of(0, 0) is None
    with pytest.raises(ModelParameterInvalid):
        share_of(3, 2)


def test_too_few_times_have_no_interval() -> None:
    few = TimeSample.of_values([5, 6, 7])
    assert rate_of(few) is scv_of(few) is mean_of(few) is None
    with pytest.raises(ModelParameterInvalid, match="rate is unknown"):
        known(rate_of(few), "rate")


def test_constant_times_have_no_variation() -> None:
    assert scv_of(TimeSample.of_values([700] * 30)) == Parameter(0.0, 0.0, 0.0, 30, 0.0)
    rate = known(rate_of(TimeSample.of_values([500] * 30)), "rate")
    assert (rate.low, rate.high) == pytest.approx((2_000.0, 2_000.0))


def test_times_of_one_observation_count_once_for_the_interval() -> None:
    alone = _sample(TIMES["gamma"][0], 4, 400)
    tenfold = TimeSample.of_bins(alone.bins, 10 * alone.counts, 10 * alone.sums_us, 400)
    one, ten = known(rate_of(alone), "rate"), known(rate_of(tenfold), "rate")
    assert (ten.value, ten.low, ten.high) == pytest.approx((one.value, one.low, one.high))


def test_bins_lose_nothing_of_a_mean_and_hardly_anything_of_an_scv() -> None:
    times = np.random.default_rng(8).gamma(2.0, 5e5, 5_000).astype(np.int64)
    sample = TimeSample.of_values(times)
    assert known(mean_of(sample), "mean").value == pytest.approx(times.mean(), rel=1e-12)
    exact = times.var(ddof=1) / times.mean() ** 2
    assert known(scv_of(sample), "scv").value == pytest.approx(exact, abs=2e-6)


def test_every_time_lies_in_its_bin_and_bins_rise() -> None:
    powers = 2 ** np.arange(41)
    drawn = np.random.default_rng(2).integers(0, TIME_US_MAX, 20_000)
    times = np.unique(np.concatenate([np.arange(1_500), powers, powers - 1, powers + 1, drawn]))
    assert (np.diff(bins_of(times)) >= 0).all()
    sample = TimeSample.of_values(times)
    below = np.concatenate([[0.0], sample.edges_us[:-1]])
    assert ((below <= sample.means_us) & (sample.means_us < sample.edges_us)).all()
    assert TimeSample.of_values([-5, TIME_US_MAX + 9]).total_us == TIME_US_MAX


def test_times_must_be_whole() -> None:
    with pytest.raises(ModelParameterInvalid):
        TimeSample.of_values(np.array([0.5, 1.5]))
