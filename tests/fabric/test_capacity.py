"""The capacity of a partition is estimated from what its clients cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.core.errors import InvariantError
from dovemq.fabric.autonomic import (
    CapacityEstimate,
    CapacitySample,
    CapacitySettings,
    estimate_capacity,
    typical_capacity,
)

SETTINGS = CapacitySettings(start=12, least=2, most=100, time_constant_ms=1_000)


def _after(samples: int, clients: int, utilisation: float, messages: int = 9) -> float:
    estimate = estimate_capacity(CapacitySample(0, 0, 0.0, 0), None, SETTINGS)
    for number in range(1, samples + 1):
        sample = CapacitySample(number * 500, clients, utilisation, messages)
        estimate = estimate_capacity(sample, estimate, SETTINGS)
    return estimate.value


def test_partition_without_a_sample_has_the_start_value() -> None:
    assert _after(0, 6, 0.5) == 12


def test_estimate_tends_to_clients_at_the_wanted_utilisation() -> None:
    assert _after(40, 6, 0.2) == pytest.approx(24)


def test_estimate_follows_by_its_time_constant() -> None:
    assert _after(2, 6, 0.2) == pytest.approx(12 + 12 * 0.632, abs=0.01)


def test_saturated_partition_sustains_fewer_clients_than_it_has() -> None:
    assert _after(40, 20, 1.0) == pytest.approx(16)


@pytest.mark.parametrize(
    ("clients", "utilisation", "messages"), [(0, 0.9, 9), (3, 0.01, 9), (3, 0.9, 0)]
)
def test_sample_that_says_nothing_changes_nothing(
    clients: int, utilisation: float, messages: int
) -> None:
    assert _after(10, clients, utilisation, messages) == 12


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 500), st.floats(0, 2), st.integers(0, 3)))
)
def test_estimate_stays_within_its_bounds(samples: list[tuple[int, int, float, int]]) -> None:
    estimate, now_ms = None, 0
    for passed_ms, clients, utilisation, messages in samples:
        now_ms += passed_ms
        sample = CapacitySample(now_ms, clients, utilisation, messages)
        estimate = estimate_capacity(sample, estimate, SETTINGS)
        assert SETTINGS.least <= estimate.value <= SETTINGS.most


def test_partition_that_is_not_measured_counts_as_a_typical_one() -> None:
    estimates = [CapacityEstimate(v, 0, measured=True) for v in (4.0, 8.0)]
    assert typical_capacity([*estimates, CapacityEstimate(90.0, 0)], SETTINGS) == 6
    assert typical_capacity([CapacityEstimate(90.0, 0)], SETTINGS) == 12


def test_estimate_is_measured_once_a_sample_says_something() -> None:
    first = estimate_capacity(CapacitySample(0, 5, 0.5, 9), None, SETTINGS)
    assert not first.measured
    idle = estimate_capacity(CapacitySample(500, 0, 0.0, 0), first, SETTINGS)
    assert not idle.measured
    assert estimate_capacity(CapacitySample(900, 5, 0.5, 9), idle, SETTINGS).measured


def test_estimate_of_other_bounds_is_brought_within_them() -> None:
    sample = CapacitySample(1, 0, 0.0, 0)
    assert estimate_capacity(sample, CapacityEstimate(1e9, 0), SETTINGS).value == 100


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(InvariantError):
        CapacitySettings(start=1, least=2)
    with pytest.raises(InvariantError):
        CapacitySettings(utilisation_wanted=1.2)
