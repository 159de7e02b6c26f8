"""Estimates: means, intervals, and differences of paired runs."""

import math
import statistics

import pytest

from dovemq.models.errors import ModelError
from dovemq.models.estimates import Estimate, exact, t_quantile


def test_t_quantiles_are_those_of_the_tables() -> None:
    for confidence, samples, value in (
        (0.95, 2, 12.7062), (0.95, 3, 4.30265), (0.95, 20, 2.09302), (0.99, 20, 2.86093),
        (0.9, 6, 2.01505), (0.99, 201, 2.60063),
    ):  # fmt: skip
        assert t_quantile(confidence, samples) == pytest.approx(value, abs=1e-4)


def test_estimate_of_few_values_has_no_width() -> None:
    assert math.isnan(Estimate(()).mean)
    assert math.isnan(Estimate((2.0,)).half_width)
    values = (1.0, 2.0, 4.0, 5.0)
    found = Estimate(values)
    width = 3.18245 * statistics.stdev(values) / math.sqrt(4)
    assert found.half_width == pytest.approx(width, rel=1e-4)
    assert (found.least, found.most, found.samples) == (1.0, 5.0, 4)
    assert found.holds(3.0)
    assert not found.holds(9.0)


def test_value_of_a_formula_is_its_own_interval() -> None:
    found = exact(2.5)
    assert (found.low, found.mean, found.high) == (2.5, 2.5, 2.5)
    assert not exact(math.inf).known


def test_scaled_estimate_keeps_its_relative_width() -> None:
    found = Estimate((1.0, 2.0, 4.0))
    assert found.scaled(10.0).half_width == pytest.approx(10.0 * found.half_width)


def test_confidence_outside_0_and_1_is_refused() -> None:
    with pytest.raises(ModelError, match="confidence is"):
        Estimate((1.0, 2.0), 1.5)
