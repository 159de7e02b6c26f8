"""Faults in turn, with a quiet spell after each turn: when a fault is on, and when it strikes.

Times are seconds since the start of the faults. Owns no clock and brings about no fault.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dovemq.load.faults.decisions import CLIENT, NETWORK, Courses, Decision, Mishap

TOGETHER: Final = "together"
"""The turn in which all faults are on."""
PLAIN_KILL: Final = str(Mishap.KILL)
POWER_CUT: Final = str(Mishap.POWER_CUT)


class Turn(Struct, frozen=True):
    name: str
    begins_s: float
    ends_s: float

    def has(self, course: str) -> bool:
        """Whether the faults of a course may happen. Kills and power cuts are one course."""
        names = {course, TOGETHER}
        if course == PLAIN_KILL:
            names.add(POWER_CUT)
        return self.name in names


class Schedule(Struct, frozen=True):
    """Whole turns only: the first begins after a quiet spell, and one follows the last."""

    turns: tuple[Turn, ...]
    seconds: float

    @classmethod
    def of(cls, names: Sequence[str], turn_s: float, quiet_s: float, seconds: float) -> "Schedule":
        cycle_s = turn_s + quiet_s
        count = max(0, int((seconds - quiet_s) // cycle_s))
        begins = (quiet_s + number * cycle_s for number in range(count))
        turns = (
            Turn(name, begin, begin + turn_s)
            for name, begin in zip(itertools.cycle(names), begins, strict=False)
        )
        return cls(tuple(turns), seconds)

    @property
    def ends_s(self) -> float:
        """The end of the last turn; no fault strikes after it."""
        return self.turns[-1].ends_s if self.turns else 0.0

    def is_on(self, course: str, at_s: float) -> bool:
        return any(turn.begins_s <= at_s < turn.ends_s and turn.has(course) for turn in self.turns)

    def due(self, course: str, now_s: float, after_s: float) -> tuple[float, Turn] | None:
        """When the next fault strikes, `after_s` of its own turns from now; None for never."""
        for turn in self.turns:
            if turn.ends_s <= now_s or not turn.has(course):
                continue
            begin = max(now_s, turn.begins_s)
            if begin + after_s < turn.ends_s:
                return begin + after_s, turn
            after_s -= turn.ends_s - begin
        return None

    def quiet(self, late_ends_s: Sequence[float] = ()) -> list[tuple[float, float]]:
        """The spells without a fault. `late_ends_s`: when the faults of each turn were over, where
        that was later than the turn."""
        ends = [0.0, *(turn.ends_s for turn in self.turns)]
        for number, late in enumerate(late_ends_s, 1):
            ends[number] = max(ends[number], late)
        begins = [*(turn.begins_s for turn in self.turns), self.seconds]
        spells = zip(itertools.accumulate(ends, max), begins, strict=True)
        return [(begin, end) for begin, end in spells if begin < end]


class TurnedCourses:
    """Implements `Courses`: those of a run, whose faults happen in their turns alone."""

    def __init__(self, courses: Courses, schedule: Schedule, now_s: Callable[[], float]) -> None:
        self._courses = courses
        self._schedule = schedule
        self._now_s = now_s

    def course(self, name: str) -> Iterator[Decision | None]:
        decisions = self._courses.course(name)
        kind = name.partition("/")[0]
        if kind in (NETWORK, CLIENT):
            return self._gated(kind, decisions)
        return decisions if kind == Mishap.SKEW else self._timed(kind, decisions)

    def _gated(self, kind: str, decisions: Iterator[Decision | None]) -> Iterator[Decision | None]:
        for decision in decisions:
            yield decision if self._schedule.is_on(kind, self._now_s()) else None

    def _timed(self, kind: str, decisions: Iterator[Decision | None]) -> Iterator[Decision | None]:
        for decision in decisions:
            if decision is None:
                break
            now_s = self._now_s()
            found = self._schedule.due(kind, now_s, decision.after_ms / 1_000)
            if found is None:
                break
            due_s, turn = found
            mishap = Mishap.KILL if turn.name == PLAIN_KILL else decision.mishap
            yield replace(decision, mishap=mishap, after_ms=round(1_000 * (due_s - now_s)))
        yield from itertools.repeat(None)
