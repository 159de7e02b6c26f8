"""The sleep of rds follows what was measured, within its bounds; costs are summed by eq. 4, 5."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.core.errors import InvariantError
from dovemq.fabric.dequeue import (
    DequeueCounts,
    SleepMemory,
    SleepObservation,
    SleepSettings,
    summarise,
    tune_sleep,
)
from dovemq.fabric.dequeue.costs import PAPER_UNIT_COSTS
from dovemq.fabric.dequeue.tuning import REACH_MAX

SETTINGS = SleepSettings(rest_periods=5)


def _hill(sleep_ms: int, best_ms: float, noise: float = 0.0) -> SleepObservation:
    """A throughput that falls by half for each factor of ten away from the best sleep."""
    distance = math.log10(sleep_ms / best_ms)
    received = 2_000 * 0.5 ** abs(distance) * (1 + noise)
    return SleepObservation(9_000, received, latency_ms=sleep_ms)


def _tuned(best_ms: float, periods: int, noise: float = 0.0) -> list[int]:
    rng, memory, sleeps = random.Random(5), SleepMemory.first(SETTINGS), []
    for _ in range(periods):
        observation = _hill(memory.sleep_ms, best_ms, rng.uniform(-noise, noise))
        decision, memory = tune_sleep(observation, memory, SETTINGS)
        sleeps.append(decision.sleep_ms)
    return sleeps


@pytest.mark.parametrize("best_ms", [15, 60, 100, 300, 900])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_tuned_sleep_comes_close_to_the_best_one(best_ms: int, noise: float) -> None:
    last = sorted(_tuned(best_ms, 120, noise)[-40:])
    assert best_ms / 2 <= last[len(last) // 2] <= best_ms * 2


def test_tuner_at_its_best_sleep_mostly_rests() -> None:
    sleeps = _tuned(100, 100)
    assert sleeps.count(100) >= 60


def test_noise_below_the_least_gain_moves_nothing() -> None:
    rng, memory = random.Random(1), SleepMemory.first(SETTINGS)
    for _ in range(200):
        observation = SleepObservation(9_000, 1_000 * (1 + rng.uniform(-0.02, 0.02)), 100.0)
        _, memory = tune_sleep(observation, memory, SETTINGS)
        assert memory.best_ms == SETTINGS.start_ms


def test_lower_cost_decides_where_all_messages_are_received_in_time() -> None:
    memory = SleepMemory.first(SETTINGS)
    for _ in range(40):
        observation = SleepObservation(900, 900, memory.sleep_ms, cost=1 / memory.sleep_ms)
        _, memory = tune_sleep(observation, memory, SETTINGS)
    assert memory.best_ms > SETTINGS.start_ms * 5


def test_latency_within_its_bound_goes_before_cost() -> None:
    settings = SleepSettings(start_ms=400, latency_ms_max=300, rest_periods=5)
    memory = SleepMemory.first(settings)
    for _ in range(40):
        observation = SleepObservation(9, 9, memory.sleep_ms, cost=1 / memory.sleep_ms)
        _, memory = tune_sleep(observation, memory, settings)
    assert 100 <= memory.best_ms <= 300


def test_overloaded_queue_is_judged_by_what_it_delivers() -> None:
    """Its latency grows whatever the sleep is; with fewer misses it delivers more."""
    memory = SleepMemory.first(SETTINGS)
    for period in range(20):
        observation = SleepObservation(9_000, memory.sleep_ms, 5_000.0 + 100 * period)
        _, memory = tune_sleep(observation, memory, SETTINGS)
    assert memory.best_ms > SETTINGS.start_ms * 5


def test_sleep_shrinks_if_it_alone_makes_the_latency_too_long() -> None:
    settings = SleepSettings(start_ms=2_000, rest_periods=5)
    memory = SleepMemory.first(settings)
    for _ in range(20):
        observation = SleepObservation(100, 100, 2.0 * memory.sleep_ms)
        _, memory = tune_sleep(observation, memory, settings)
    assert memory.best_ms <= 500


def test_sleep_follows_a_load_that_changes() -> None:
    memory = SleepMemory.first(SETTINGS)
    for period in range(200):
        observation = _hill(memory.sleep_ms, 20 if period < 100 else 500)
        _, memory = tune_sleep(observation, memory, SETTINGS)
        if period == 99:
            assert 10 <= memory.best_ms <= 40
    assert 250 <= memory.best_ms <= 1_000


@given(st.lists(st.tuples(*[st.floats(0, 1e6)] * 4), max_size=60))
def test_tuned_sleep_stays_within_its_bounds_and_moves_no_farther_than_its_reach(
    measured: list[tuple[float, float, float, float]],
) -> None:
    memory = SleepMemory.first(SETTINGS)
    for each in measured:
        before = memory.sleep_ms
        decision, memory = tune_sleep(SleepObservation(*each), memory, SETTINGS)
        assert decision.sleep_ms == memory.sleep_ms
        assert SETTINGS.least_ms <= memory.sleep_ms <= SETTINGS.most_ms
        assert memory.sleep_ms <= before * SETTINGS.factor**REACH_MAX + 1
        assert before <= (memory.sleep_ms + 1) * SETTINGS.factor**REACH_MAX


def test_costs_are_the_terms_of_the_paper() -> None:
    counts = DequeueCounts(sent=1_000, hits=50, received=900, misses=150, looks=10)
    found = summarise(counts, PAPER_UNIT_COSTS)
    assert found.total == pytest.approx(1.0 + 1.0 + 0.9 + 3.0 + 0.001)
    assert (found.hit_rate, found.messages_per_hit) == (0.25, 18)
    assert found.cost_per_message == pytest.approx(found.total / 900)


def test_rates_of_nothing_are_unknown() -> None:
    found = summarise(DequeueCounts(), PAPER_UNIT_COSTS)
    assert (found.hit_rate, found.messages_per_hit, found.cost_per_message) == (None, None, None)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(InvariantError):
        SleepSettings(start_ms=5)
    with pytest.raises(InvariantError):
        SleepSettings(factor=1.0)
