"""K follows the claims that compete, within its bounds, and keeps still otherwise."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.core.adaptive_hint import (
    HintCause,
    HintDecision,
    HintMemory,
    HintObservation,
    HintSettings,
    decide_hint,
)
from dovemq.core.errors import InvariantError
from dovemq.core.hint_meter import PERIOD_MS, HintMeter
from dovemq.experiments.adaptive_claims import AdaptiveHints, ReceiverPhases, in_phases
from dovemq.models.simulation.claims import ClaimedQueue, ClaimParameters, FixedHint

SETTINGS = HintSettings()
CLAIMS = ClaimParameters(front_ends=3, lag=0.005, work=0.05, backlog=100_000)
CHANGING: ReceiverPhases = ((1, 20), (6, 20), (2, 20), (12, 20), (1, 20))
COUNTS = st.integers(0, 1_000)


def _period(crowding: float, k: int, claims: int = 60) -> HintObservation:
    """Counts of a front end that has one receive under way at a time."""
    collisions = round(claims * crowding / k)
    overtaken = round(claims * (k - 1) / 2)
    return HintObservation(claims, claims, collisions, 0, claims, claims, overtaken)


def _settled(crowding: float, memory: HintMemory, periods: int = 30) -> HintMemory:
    for _ in range(periods):
        _, memory = decide_hint(_period(crowding, memory.k), memory, SETTINGS)
    return memory


@pytest.mark.parametrize("crowding", [0.5, 2.0, 8.0, 40.0])
def test_k_is_the_root_of_price_and_crowding(crowding: float) -> None:
    wanted = math.sqrt(SETTINGS.price * crowding / SETTINGS.disturbance)
    assert _settled(crowding, HintMemory()).k == pytest.approx(wanted, rel=0.35)


def test_k_is_1_while_nobody_competes() -> None:
    assert _settled(0.0, HintMemory(k=30)).k == 1


def test_k_rises_at_the_first_decision_and_falls_after_the_third() -> None:
    decision, memory = decide_hint(_period(8.0, 1), HintMemory(), SETTINGS)
    assert decision.k > 5
    assert decision.reason.cause is HintCause.CROWDED
    memory = _settled(8.0, memory)
    causes = []
    for _ in range(100):
        decision, memory = decide_hint(_period(0.0, memory.k), memory, SETTINGS)
        causes.append(decision.reason.cause)
        if decision.changed:
            break
    waited = [HintCause.WAITING] * (SETTINGS.patience - 1)
    assert causes[-SETTINGS.patience :] == [*waited, HintCause.QUIET]


def test_receives_under_way_here_raise_k_before_any_collision() -> None:
    busy = HintObservation(claims=10, checked=10, under_way=30, receives=10, first=10)
    decision, _ = decide_hint(busy, HintMemory(), SETTINGS)
    assert decision.k > 1


def test_order_that_suffers_more_lowers_k() -> None:
    memory = _settled(8.0, HintMemory())
    before = memory.k
    for _ in range(20):
        seen = _period(8.0, memory.k)
        overtaken = 4 * seen.first * (memory.k - 1)
        worse = HintObservation(
            seen.claims, seen.checked, seen.collisions, 0, seen.receives, seen.first, overtaken
        )
        decision, memory = decide_hint(worse, memory, SETTINGS)
        if decision.changed:
            assert decision.reason.cause is HintCause.DISTURBED
            break
    assert memory.k < before


def test_few_claims_change_nothing() -> None:
    seen = HintObservation(SETTINGS.claims_min - 1, 1, 100, 100, 1, 1, 1)
    decision, memory = decide_hint(seen, HintMemory(), SETTINGS)
    assert not decision.changed
    assert memory == HintMemory()
    assert "too few" in decision.reason.text


@given(st.lists(st.tuples(*[COUNTS] * 7), max_size=40), st.integers(1, 8), st.integers(8, 200))
def test_k_never_leaves_its_bounds(periods: list[tuple[int, ...]], least: int, most: int) -> None:
    settings, memory = HintSettings(least=least, most=most), HintMemory(k=least)
    for counts in periods:
        decision, memory = decide_hint(HintObservation(*counts), memory, settings)
        assert least <= memory.k == decision.k <= most
        assert decision.reason.text


def test_settings_out_of_order_are_refused() -> None:
    with pytest.raises(InvariantError):
        HintSettings(least=5, most=4)


def test_meter_counts_receives_under_way_and_messages_overtaken() -> None:
    decisions: list[HintDecision] = []
    meter = HintMeter(changed=lambda decision, now_ms: decisions.append(decision))
    for number in range(20):
        assert meter.began(number) == 1
    meter.claimed(20, [(5, 0), (6, 0)])
    meter.checked(20, 30)
    for _ in range(20):
        meter.ended()
    assert meter.began(PERIOD_MS) > 1
    assert [each.k for each in decisions] == [meter.k]
    assert meter.decision is decisions[0]


def test_meter_decides_once_a_period_at_most() -> None:
    meter = HintMeter()
    for now_ms in range(0, PERIOD_MS, 10):
        meter.began(now_ms)
        meter.claimed(1, [])
        meter.checked(1, 1)
        meter.ended()
    assert meter.decision is None
    meter.began(PERIOD_MS)
    first = meter.decision
    meter.began(PERIOD_MS + 1)
    assert first is not None
    assert meter.decision is first


def test_adaptive_k_follows_the_number_of_receivers() -> None:
    hints = AdaptiveHints(3)
    queue = ClaimedQueue(CLAIMS, hints, seed=3)
    found = []
    for receivers in (1, 12, 1):
        queue.resize(receivers)
        queue.advance(queue.now + 40.0)
        # The only receiver that is always there uses this one; without claims K stays.
        found.append(hints.meters[0].k)
    alone, busy, alone_again = found
    assert alone <= 2
    assert busy >= 5
    assert alone_again <= 3


def test_adaptive_k_does_not_oscillate_while_nothing_changes() -> None:
    hints = AdaptiveHints(3)
    queue = ClaimedQueue(CLAIMS, hints, seed=4)
    queue.resize(9)
    queue.advance(20.0)
    begun = len(hints.changes)
    queue.advance(120.0)
    late = hints.changes[begun:]
    assert len(late) <= 3 * 5, "each of three front ends changes K every 20 s at most"
    turns = 0
    for number in range(3):
        signs = [
            each.decision.k > each.decision.before for each in late if each.front_end == number
        ]
        turns += sum(one != other for one, other in itertools.pairwise(signs))
    assert turns <= 6


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 16, 1_000])
def test_no_fixed_k_is_better_in_both_under_changing_concurrency(k: int) -> None:
    adaptive = in_phases(CLAIMS, CHANGING, AdaptiveHints(3), seed=1).consistency()
    fixed = in_phases(CLAIMS, CHANGING, FixedHint(k), seed=1).consistency()
    fewer = adaptive.duplication_rate < fixed.duplication_rate
    assert fewer or adaptive.average_displacement < fixed.average_displacement
