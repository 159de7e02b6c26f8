"""Decisions about consumers: the paper's case, alarms, calm, and what cannot be reached."""

import math
from typing import Any

import pytest

from dovemq.core.errors import InvariantError
from dovemq.workflows.sizing.decisions import SizingCause, SizingDecision
from dovemq.workflows.sizing.scheduler import SizingMemory, SizingObservation, decide
from dovemq.workflows.sizing.settings import ConsumerBounds, SizingSettings
from dovemq.workflows.sizing.workload import MeasuredWorkload, TopicFigures, TypeFigures
from tests.workflows.sized_world import RATES, ROUTES

ONE_EACH = dict.fromkeys("ABCD", 1)
SCVS = {"A": 0.33, "B": 0.5, "C": 0.4, "D": 0.5}
ARRIVAL_SCVS = {"1": 0.33, "2": 0.5, "3": 0.25}
HEAVY = (3.0, 3.5, 3.0)
"""Jobs a minute of the paper, which are jobs a second here."""


def workload(
    rates: tuple[float, ...], response_ms: float | None, *, samples: int = 100, now_ms: int = 0
) -> MeasuredWorkload:
    types = {
        name: TypeFigures(10, rate, ARRIVAL_SCVS[name], 10 if response_ms else 0, response_ms, 0)
        for name, rate in zip("123", rates, strict=True)
    }
    topics = {name: TopicFigures(samples, RATES[name], SCVS[name], 0, 0) for name in RATES}
    return MeasuredWorkload(now_ms, 60_000, types, topics)


def decided(
    rates: tuple[float, ...],
    response_ms: float | None,
    consumers: dict[str, int] = ONE_EACH,
    memory: SizingMemory | None = None,
    now_ms: int = 0,
    **settings: Any,
) -> tuple[SizingDecision, SizingMemory]:
    if "budget" not in settings and "target_ms" not in settings:
        settings["budget"] = 5
    if "budget" in settings:
        settings.setdefault("threshold_ms", 2_000.0)
    observation = SizingObservation(workload(rates, response_ms, now_ms=now_ms), ROUTES, consumers)
    return decide(observation, memory or SizingMemory(), SizingSettings(**settings))


def test_paper_case_of_an_overload_gets_the_plan_of_min_time() -> None:
    decision, memory = decided(HEAVY, 3_000.0)
    assert decision.cause is SizingCause.SLOW
    assert decision.after == {"A": 2, "B": 2, "C": 1, "D": 4}
    assert decision.predicted_before is not None
    assert decision.predicted_before.all_jobs == math.inf
    assert decision.predicted_before.unstable == ("A", "D")
    assert decision.predicted_after is not None
    assert decision.predicted_after.all_jobs < 1_000.0
    assert decision.text.startswith("A 1 → 2, ")
    assert "3 s, above 2 s" in decision.reason
    assert memory.changes == 1


def test_record_of_a_decision_has_null_for_infinite_times() -> None:
    decision, _ = decided(HEAVY, 3_000.0)
    record = decision.as_dict()
    assert record["predicted_before"]["by_type_ms"] == {"1": None, "2": None, "3": None}
    assert record["predicted_before"]["unstable"] == ["A", "D"]
    assert decision.line().endswith(b"\n")


def test_overload_is_answered_before_the_response_time_has_risen() -> None:
    decision, _ = decided(HEAVY, 100.0)
    assert decision.cause is SizingCause.OVERLOADED
    assert "A with a load of 1.55 per consumer" in decision.reason
    decision, _ = decided(HEAVY, 100.0, foresee=False)
    assert not decision.changes


@pytest.mark.parametrize("method", ["greedy", "exact", "random"])
def test_every_method_spends_the_budget(method: str) -> None:
    decision, _ = decided(HEAVY, 3_000.0, method=method)
    assert sum(decision.after.values()) == 9


def test_random_makes_another_choice_after_each_change() -> None:
    found = set()
    for turn in range(10):
        decision, _ = decided(HEAVY, 3_000.0, memory=SizingMemory(turn), method="random")
        found.add(tuple(decision.after.values()))
    assert len(found) > 3


@pytest.mark.parametrize("method", ["greedy", "exact"])
def test_target_is_reached_with_the_fewest_consumers(method: str) -> None:
    decision, _ = decided(HEAVY, 3_000.0, target_ms=50_000 / 60, method=method)
    assert decision.predicted_after is not None
    assert decision.predicted_after.all_jobs <= 50_000 / 60
    assert decision.after == {"A": 2, "B": 2, "C": 1, "D": 4}


def test_budget_that_stabilises_nothing_goes_to_the_largest_deficits() -> None:
    decision, _ = decided(HEAVY, 3_000.0, budget=2)
    assert decision.after == {"A": 1, "B": 1, "C": 1, "D": 3}
    assert decision.missing == {"A": 1}
    assert "infeasible: to make every topic stable costs 3, the budget is 2" in decision.reason
    assert "A lacks 1" in decision.reason


def test_target_below_the_service_time_is_reported_and_approached() -> None:
    decision, _ = decided(HEAVY, 3_000.0, target_ms=100.0)
    assert "infeasible: service alone takes" in decision.reason
    assert decision.predicted_after is not None
    assert math.isfinite(decision.predicted_after.all_jobs)


def test_bounds_of_a_topic_hold_at_once() -> None:
    bounds = {"B": ConsumerBounds(2, 4), "D": ConsumerBounds(1, 3)}
    decision, _ = decided((0.5, 1.0, 0.5), 100.0, {"A": 1, "B": 1, "C": 1, "D": 5}, bounds=bounds)
    assert decision.cause is SizingCause.BOUNDS
    assert decision.after == {"A": 1, "B": 2, "C": 1, "D": 3}
    decision, _ = decided(HEAVY, 3_000.0, {**ONE_EACH, "B": 2}, bounds=bounds)
    assert decision.after["D"] == 3


def test_second_change_waits_for_the_cool_down() -> None:
    _, memory = decided(HEAVY, 3_000.0, budget=3, now_ms=1_000)
    decision, memory = decided(HEAVY, 3_000.0, memory=memory, now_ms=30_999, cool_down_ms=30_000)
    assert decision.cause is SizingCause.COOLING_DOWN
    assert "0.001 s are left" in decision.reason
    decision, _ = decided(HEAVY, 3_000.0, memory=memory, now_ms=31_000, cool_down_ms=30_000)
    assert decision.changes


def test_change_that_saves_little_is_not_made() -> None:
    decision, _ = decided(HEAVY, 3_000.0)
    other = {**decision.after, "B": decision.after["B"] + 1, "D": decision.after["D"] - 1}
    decision, _ = decided(HEAVY, 3_000.0, other, gain_min=0.9)
    assert decision.cause is SizingCause.SMALL_GAIN
    assert not decision.changes


def test_consumers_are_released_after_a_calm_time() -> None:
    many = {"A": 2, "B": 2, "C": 1, "D": 4}
    decision, memory = decided((0.5, 1.0, 0.5), 600.0, many, now_ms=0, calm_ms=10_000)
    assert decision.cause is SizingCause.GETTING_CALM
    decision, _ = decided((0.5, 1.0, 0.5), 600.0, many, memory, 10_000, calm_ms=10_000)
    assert decision.cause is SizingCause.CALM
    assert decision.after == {"A": 1, "B": 1, "C": 1, "D": 1}
    assert decision.predicted_after is not None
    assert decision.predicted_after.all_jobs <= 1_400.0


def test_lull_within_the_calm_time_releases_nothing() -> None:
    many = {"A": 2, "B": 2, "C": 1, "D": 4}
    _, memory = decided(HEAVY, 700.0, many, now_ms=0, calm_ms=10_000)
    decision, memory = decided((0.5, 1.0, 0.5), 600.0, many, memory, 5_000, calm_ms=10_000)
    decision, _ = decided((0.5, 1.0, 0.5), 600.0, many, memory, 10_000, calm_ms=10_000)
    assert decision.after["D"] >= 3


def test_nothing_changes_within_the_band() -> None:
    decision, memory = decided((0.5, 1.0, 0.5), 1_700.0)
    assert decision.cause is SizingCause.IN_BAND
    assert memory.calm_since_ms is None


def test_idle_system_returns_to_the_least_consumers() -> None:
    many = {"A": 2, "B": 2, "C": 1, "D": 4}
    _, memory = decided((0.0, 0.0, 0.0), None, many, calm_ms=10_000)
    decision, _ = decided((0.0, 0.0, 0.0), None, many, memory, 10_000, calm_ms=10_000)
    assert decision.cause is SizingCause.IDLE
    assert decision.after == ONE_EACH


def test_overdue_jobs_without_arrivals_change_nothing() -> None:
    types = {name: TypeFigures(0, 0.0, 1.0, 0, None, 5, 5, 50_000.0) for name in "123"}
    topics = {name: TopicFigures(0, 1.0, 1.0, 5, 0) for name in RATES}
    observed = SizingObservation(MeasuredWorkload(0, 60_000, types, topics), ROUTES, ONE_EACH)
    settings = SizingSettings(budget=5, threshold_ms=2_000.0)
    decision, _ = decide(observed, SizingMemory(), settings)
    assert not decision.changes
    assert "nothing arrives" in decision.reason


def test_assumed_service_times_are_named() -> None:
    load = workload(HEAVY, 3_000.0, samples=0)
    settings = SizingSettings(budget=5, threshold_ms=2_000.0)
    decision, _ = decide(SizingObservation(load, ROUTES, ONE_EACH), SizingMemory(), settings)
    assert "no service was measured yet at A, B, C, D" in decision.reason


def test_nothing_is_decided_before_jobs_were_watched() -> None:
    types = {name: TypeFigures(2, 1_000.0, 1.0, 0, None, 2) for name in "123"}
    topics = {name: TopicFigures(0, 1.0, 1.0, 0, 0) for name in RATES}
    observed = SizingObservation(MeasuredWorkload(2, 2, types, topics), ROUTES, ONE_EACH)
    settings = SizingSettings(budget=5, threshold_ms=2_000.0)
    decision, _ = decide(observed, SizingMemory(), settings)
    assert decision.cause is SizingCause.WATCHING


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"budget": 1},
        {"budget": 1, "target_ms": 1.0},
        {"target_ms": 1.0, "hysteresis": 1.0},
    ],
)
def test_contradictory_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvariantError):
        SizingSettings(**wrong)  # type: ignore[arg-type]


def test_release_that_is_taken_back_doubles_the_calm_time() -> None:
    many = {"A": 2, "B": 2, "C": 1, "D": 4}
    light = (0.5, 1.0, 0.5)
    _, memory = decided(light, 600.0, many, None, 0, calm_ms=10_000, cool_down_ms=0)
    _, memory = decided(light, 600.0, many, memory, 10_000, calm_ms=10_000, cool_down_ms=0)
    assert (memory.mistakes, memory.released_ms) == (0, 10_000)
    grown, memory = decided(
        HEAVY, 3_000.0, ONE_EACH, memory, 25_000, cool_down_ms=0, calm_ms=10_000
    )
    assert grown.changes
    assert memory.mistakes == 1
    _, memory = decided(light, 600.0, many, memory, 30_000, calm_ms=10_000)
    decision, memory = decided(light, 600.0, many, memory, 49_999, calm_ms=10_000)
    assert decision.cause is SizingCause.GETTING_CALM
    decision, memory = decided(light, 600.0, many, memory, 60_000, calm_ms=10_000)
    assert decision.cause is SizingCause.CALM
