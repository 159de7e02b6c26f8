"""Drift between two periods: changes are found, and false alarms are rare."""

import math

import numpy as np
import pytest

from dovemq.models.calibration import TimeSample, drift_of, known, rate_of, scv_of, share_of
from dovemq.models.estimates import Parameter


def _period(
    seed: int, mean_us: float = 10_000, shape: float = 1.0, failed: float = 0.1
) -> dict[str, Parameter]:
    rng = np.random.default_rng(seed)
    sample = TimeSample.of_values(rng.gamma(shape, mean_us / shape, 3_000).astype(np.int64))
    found = {
        "q.service_rate": rate_of(sample),
        "q.service_scv": scv_of(sample),
        "q.failure_probability": share_of(int(rng.binomial(2_000, failed)), 2_000),
    }
    return {name: known(each, name) for name, each in found.items()}


def test_what_has_not_changed_drifts_in_one_of_twenty_comparisons() -> None:
    compared = [drift_of(_period(2 * seed), _period(2 * seed + 1)) for seed in range(100)]
    assert sum(any(each.drifted for each in drifts) for drifts in compared) <= 11


@pytest.mark.parametrize(
    ("change", "name", "ratio"),
    [
        ({"mean_us": 11_500.0}, "q.service_rate", 1 / 1.15),
        ({"shape": 2.0}, "q.service_scv", 0.5),
        ({"failed": 0.2}, "q.failure_probability", 2.0),
    ],
)
def test_the_parameter_that_changed_is_named(
    change: dict[str, float], name: str, ratio: float
) -> None:
    drifts = drift_of(_period(1), _period(2, **change))
    assert [each.name for each in drifts if each.drifted] == [name]
    assert drifts[0].ratio == pytest.approx(ratio, rel=0.15)


def test_only_what_both_periods_have_is_compared() -> None:
    first, second = _period(1), _period(2)
    del second["q.service_scv"]
    assert {each.name for each in drift_of(first, second)} == {
        "q.service_rate",
        "q.failure_probability",
    }


def test_numbers_without_error_drift_unless_they_are_equal() -> None:
    def constant(value: float) -> Parameter:
        return Parameter(value, value, value, 100, 0.0)

    (same,) = drift_of({"q.service_scv": constant(0.0)}, {"q.service_scv": constant(0.0)})
    (other,) = drift_of({"q.service_scv": constant(0.0)}, {"q.service_scv": constant(0.5)})
    assert (same.p_value, same.drifted, same.ratio) == (1.0, False, 1.0)
    assert (other.p_value, other.drifted, other.ratio) == (0.0, True, math.inf)


def test_p_values_are_adjusted_for_their_number() -> None:
    first = {f"q{place}.service_rate": Parameter(1.0, 0.9, 1.1, 100, 0.05) for place in range(10)}
    second = dict(first)
    second["q3.service_rate"] = Parameter(1.16, 1.05, 1.28, 100, 0.05)
    alone = drift_of({"q": first["q3.service_rate"]}, {"q": second["q3.service_rate"]})[0]
    among = drift_of(first, second)[0]
    assert alone.drifted
    assert not among.drifted
    assert among.p_value == pytest.approx(10 * alone.p_value)
