"""The scheduler on a simulated service: an unstable start, and a load that swings."""

import itertools
from collections.abc import Callable, Mapping

import pytest

from dovemq.workflows.sizing.decisions import SizingDecision
from dovemq.workflows.sizing.settings import SizingSettings
from tests.workflows.sized_world import SizedWorld, scheduled

LIGHT: Mapping[str, float] = {"1": 0.5, "2": 1.0, "3": 0.5}
HEAVY: Mapping[str, float] = {"1": 3.0, "2": 3.5, "3": 3.0}
ONE_EACH = dict.fromkeys("ABCD", 1)
SECONDS = 900


def square_wave(half_seconds: int) -> Callable[[int], Mapping[str, float]]:
    return lambda now_ms: HEAVY if now_ms // (half_seconds * 1_000) % 2 else LIGHT


def settings_by(goal: str) -> SizingSettings:
    budget = 6.0 if goal == "budget" else None
    return SizingSettings(
        budget=budget,
        target_ms=1_500.0 if budget is None else None,
        threshold_ms=2_000.0 if budget else None,
        cool_down_ms=20_000,
        calm_ms=120_000,
    )


def released(decisions: list[SizingDecision]) -> list[int]:
    """The times at which consumers were released."""
    return [
        each.now_ms for each in decisions if sum(each.after.values()) < sum(each.before.values())
    ]


@pytest.mark.parametrize("goal", ["budget", "target"])
@pytest.mark.parametrize(("half_seconds", "seed"), [(40, 0), (40, 2), (90, 1)])
def test_swinging_load_makes_no_consumers_flap(goal: str, half_seconds: int, seed: int) -> None:
    decisions = scheduled(
        SizedWorld(square_wave(half_seconds), ONE_EACH, seed), settings_by(goal), SECONDS
    )
    swings = SECONDS // (2 * half_seconds)
    # Every mistake doubles the calm time, so releases cannot grow in proportion to the swings.
    assert len(released(decisions)) <= 3 < swings
    changes = [each.now_ms for each in decisions if each.changes]
    assert all(b - a >= 20_000 for a, b in itertools.pairwise(changes))


def test_slow_swings_are_followed() -> None:
    decisions = scheduled(SizedWorld(square_wave(300), ONE_EACH, 0), settings_by("budget"), SECONDS)
    assert released(decisions)
    assert len([each for each in decisions if each.changes]) <= 8


@pytest.mark.parametrize("seed", range(2))
def test_unstable_start_becomes_stable_and_stays_so(seed: int) -> None:
    world = SizedWorld(lambda _: HEAVY, ONE_EACH, seed)
    decisions = scheduled(world, settings_by("budget"), 400)
    first = next(each for each in decisions if each.changes)
    assert first.predicted_before is not None
    assert first.predicted_before.unstable
    assert decisions[-1].predicted_before is not None
    assert not decisions[-1].predicted_before.unstable
    assert decisions[-1].measured_ms is not None
    assert decisions[-1].measured_ms < 2_000.0
    assert len([each for each in decisions if each.changes]) <= 4
