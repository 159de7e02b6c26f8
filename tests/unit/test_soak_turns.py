"""The turns of the faults of a soak."""

import itertools
from collections.abc import Iterator

import pytest

from bench.soak.turns import TOGETHER, Schedule, TurnedCourses
from dovemq.load.faults.decisions import NETWORK, Decision, Mishap

NAMES = ("network", "kill", "power_cut", TOGETHER)
SCHEDULE = Schedule.of(NAMES, turn_s=10, quiet_s=5, seconds=65)


class Regular:
    """Courses with a fault of each kind every three seconds, and one in each exchange."""

    def course(self, name: str) -> Iterator[Decision | None]:
        mishap = Mishap.CUT if name == NETWORK else Mishap(name)
        if mishap is Mishap.KILL:
            mishap = Mishap.POWER_CUT
        return itertools.repeat(Decision(mishap, after_ms=3_000))


def strikes(course: str, schedule: Schedule = SCHEDULE) -> list[tuple[float, Mishap]]:
    """When each fault of a course in time strikes, if none lasts."""
    now = 0.0
    found = []
    decisions = TurnedCourses(Regular(), schedule, lambda: now).course(course)
    for decision in decisions:
        if decision is None:
            break
        now += decision.after_ms / 1_000
        found.append((now, decision.mishap))
    assert next(decisions) is None
    return found


def test_each_turn_lies_between_two_quiet_spells() -> None:
    begins = [turn.begins_s for turn in SCHEDULE.turns]
    assert [turn.name for turn in SCHEDULE.turns] == list(NAMES)
    assert begins == [5, 20, 35, 50]
    assert SCHEDULE.quiet() == [(0, 5), (15, 20), (30, 35), (45, 50), (60, 65)]


def test_fault_that_outlives_its_turn_shortens_the_quiet_spell() -> None:
    quiet = SCHEDULE.quiet([12, 33, 52])
    assert quiet == [(0, 5), (15, 20), (33, 35), (60, 65)]


def test_turns_begin_again_with_the_first_fault() -> None:
    long = Schedule.of(NAMES, turn_s=10, quiet_s=5, seconds=100)
    assert [turn.name for turn in long.turns] == [*NAMES, "network", "kill"]


def test_run_that_is_too_short_for_a_turn_has_no_fault() -> None:
    short = Schedule.of(NAMES, turn_s=10, quiet_s=5, seconds=19)
    assert short.turns == ()
    assert short.quiet() == [(0, 19)]
    assert strikes("kill", short) == []


def test_faults_in_time_strike_in_their_turns_alone() -> None:
    assert strikes("power_cut") == [
        (38, Mishap.POWER_CUT),
        (41, Mishap.POWER_CUT),
        (44, Mishap.POWER_CUT),
        # One second of these three belongs to the turn before.
        (52, Mishap.POWER_CUT),
        (55, Mishap.POWER_CUT),
        (58, Mishap.POWER_CUT),
    ]


def test_kill_takes_the_power_away_except_in_the_turn_of_plain_kills() -> None:
    by_turn = {"kill": set(), "power_cut": set(), TOGETHER: set()}  # type: dict[str, set[Mishap]]
    for at_s, mishap in strikes("kill"):
        [turn] = [each for each in SCHEDULE.turns if each.begins_s <= at_s < each.ends_s]
        by_turn[turn.name].add(mishap)
    assert by_turn == {
        "kill": {Mishap.KILL},
        "power_cut": {Mishap.POWER_CUT},
        TOGETHER: {Mishap.POWER_CUT},
    }


@pytest.mark.parametrize(("at_s", "fails"), [(4, False), (5, True), (15, False), (55, True)])
def test_network_fails_in_its_turns_alone(at_s: float, fails: bool) -> None:
    course = TurnedCourses(Regular(), SCHEDULE, lambda: at_s).course(NETWORK)
    assert (next(course) is not None) is fails
