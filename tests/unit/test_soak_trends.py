"""Slopes of a soak, their intervals, and the verdicts that follow from them."""

import math
import random

import pytest

from bench.soak.trends import Sample, bounded, slope_per_hour, spell_means
from dovemq.models.estimates import Interval

MINUTES = range(20)


def noisy(slope: float, spread: float, seed: int) -> list[tuple[float, float]]:
    """One value a minute with that slope an hour, and independent noise."""
    rng = random.Random(seed)
    return [(60.0 * each, 100 + slope * each / 60 + rng.gauss(0, spread)) for each in MINUTES]


def test_interval_of_independent_noise_covers_the_slope_as_often_as_it_says() -> None:
    runs = 400
    intervals = [slope_per_hour(noisy(3.0, 0.5, seed)) for seed in range(runs)]
    covered = sum(each.low <= 3.0 <= each.high for each in intervals)
    assert covered / runs > 0.93


def test_interval_widens_if_neighbouring_values_depend_on_each_other() -> None:
    rng = random.Random(1)
    level, wandering = 0.0, []
    for each in MINUTES:
        level = 0.8 * level + rng.gauss(0, 0.5)
        wandering.append((60.0 * each, 100 + level))
    shuffled = [value for _, value in wandering]
    rng.shuffle(shuffled)
    mixed = [(at_s, value) for (at_s, _), value in zip(wandering, shuffled, strict=True)]
    widths = [each.high - each.low for each in map(slope_per_hour, (wandering, mixed))]
    assert widths[0] > widths[1]


def test_values_that_never_change_have_no_slope() -> None:
    assert slope_per_hour([(each, 7.0) for each in range(9)]) == Interval(0.0, 0.0, 0.0)


def test_few_values_tell_nothing() -> None:
    slope = slope_per_hour([(0.0, 1.0), (60.0, 2.0), (120.0, 3.5)])
    assert math.isinf(slope.high)
    assert bounded("It does not grow", slope, 4, "MiB", 3).holds is None


@pytest.mark.parametrize(
    ("low", "high", "holds"), [(-1, 3.9, True), (4.1, 9, False), (-1, 9, None), (-9, -5, True)]
)
def test_claim_holds_only_if_the_whole_interval_is_below_the_bar(
    low: float, high: float, holds: bool | None
) -> None:
    verdict = bounded("It does not grow", Interval((low + high) / 2, low, high), 4, "MiB", 20)
    assert verdict.holds is holds


def test_samples_of_the_later_half_of_a_quiet_spell_make_one_value() -> None:
    samples = [Sample(at_s, "server", 1, int(10 * at_s), 5) for at_s in range(40)]
    means = spell_means(samples, [(0, 4), (10, 20), (30, 34)], "resident_bytes", from_s=8)
    assert means == [(17.0, 170.0), (32.5, 325.0)]
