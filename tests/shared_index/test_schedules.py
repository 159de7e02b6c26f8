"""No schedule of two front ends loses a message, whatever replicas, clocks and answers do."""

import os
from collections.abc import Iterator

import msgspec
import pytest

from dovemq.core.coordination import Coordination
from dovemq.testing.memory_tables import ONE, QUORUM, ReplicaNature, TableLevels
from tests.shared_index import bugs
from tests.shared_index.schedules import Plan, run_schedule

SCHEDULES = int(os.environ.get("DOVETEST_SCHEDULES", "20"))
SKEW_MS = 4_000
ROUGH = ReplicaNature(delay_ms_max=40, late_ms_max=1_500, lost=0.15)
LEVELS = {"one": ONE, "quorum": QUORUM}
KINDS: list[tuple[Coordination, str]] = [("none", "one"), ("none", "quorum"), ("serial", "quorum")]
ANY_ORDER = 0
BUG_SEEDS_MAX = 200
"""A planted bug is found by one of so many schedules."""


def plan_of(coordination: Coordination, levels: TableLevels, seed: int) -> Plan:
    """The plan of a seed: K, the clocks and the number of front ends follow from it."""
    return Plan(
        coordination,
        levels,
        seed,
        order_hint=(1, 3, ANY_ORDER)[seed % 3],
        skew_ms=(0, SKEW_MS)[seed % 2],
        front_ends=2 + (seed % 7 == 0),
    )


def _plans(first: Plan) -> Iterator[Plan]:
    return (msgspec.structs.replace(first, seed=seed) for seed in range(BUG_SEEDS_MAX))


@pytest.mark.parametrize(("coordination", "levels"), KINDS)
def test_schedule_loses_nothing(coordination: Coordination, levels: str) -> None:
    received = 0
    for seed in range(SCHEDULES):
        schedule = run_schedule(plan_of(coordination, LEVELS[levels], seed))
        assert not schedule.lost, seed
        if levels == "quorum":
            assert not schedule.returned, seed
        if coordination == "serial":
            assert not schedule.shared_leases, seed
        received += schedule.received.total()
    assert received > 5 * SCHEDULES


@pytest.mark.parametrize(
    ("plant", "plan"),
    [
        (bugs.removes_before_it_inserts, Plan("none", ONE, 0, order_hint=3, skew_ms=SKEW_MS)),
        (bugs.marks_do_not_rise, Plan("none", ONE, 0, skew_ms=SKEW_MS)),
        (
            bugs.takes_a_body_that_is_not_seen_for_deleted,
            Plan("none", ONE, 0, order_hint=3, skew_ms=SKEW_MS),
        ),
        (
            bugs.closes_what_one_replica_shows_empty,
            Plan("none", ONE, 0, order_hint=3, skew_ms=SKEW_MS, idle=0.3),
        ),
        (bugs.closes_the_current_bucket, Plan("none", QUORUM, 0, order_hint=3, skew_ms=SKEW_MS)),
        (
            bugs.adopts_only_what_it_does_not_know,
            Plan("none", QUORUM, 0, skew_ms=SKEW_MS, nature=ROUGH),
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_planted_bug_loses_a_message(
    monkeypatch: pytest.MonkeyPatch, plant: bugs.Plant, plan: Plan
) -> None:
    plant(monkeypatch)
    assert any(run_schedule(each).lost for each in _plans(plan))


def test_settle_without_a_note_lets_a_message_return(monkeypatch: pytest.MonkeyPatch) -> None:
    bugs.settles_without_a_note(monkeypatch)
    plans = _plans(Plan("none", QUORUM, 0, skew_ms=SKEW_MS))
    assert any(run_schedule(each).returned for each in plans)


def test_plain_claims_share_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    bugs.claims_by_plain_writes(monkeypatch)
    plans = _plans(Plan("serial", QUORUM, 0))
    assert any(run_schedule(each).shared_leases for each in plans)
