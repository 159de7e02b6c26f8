"""bdqs-adaptive: adaptive K and fixed ones while receivers come and go, simulated."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovemq.experiments.adaptive_claims import AdaptiveHints, ReceiverPhases, in_phases
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.intervals import interval_columns
from dovemq.models.estimates import Estimate, Interval
from dovemq.models.simulation.claims import ClaimParameters, FixedHint

RUNS: Final = 5
RUNS_QUICK: Final = 3
FRONT_ENDS: Final = 3
ADAPTIVE: Final = "adaptive"
ANY: Final = "any"
ANY_K: Final = 1_000
HINTS: Final = ("1", "2", "3", "5", "8", "16", ANY)
PHASE_S: Final = 30.0
PHASE_QUICK_S: Final = 10.0
COURSES: Final[Mapping[str, tuple[int, ...]]] = {
    "few": (1, 3, 1, 4, 2),
    "even": (1, 4, 2, 8, 1),
    "bursts": (1, 20, 1, 20, 1),
}
"""Receivers in one phase after another."""
CLAIMS: Final = ClaimParameters(front_ends=FRONT_ENDS, lag=0.005, work=0.05, backlog=200_000)
MEASURES: Final = ("duplication_rate", "average_displacement")
LABELS: Final = ("duplicates per message", "mean displacement")


@dataclass(frozen=True, slots=True)
class HintOutcome:
    """Both measures of each run with one K."""

    duplication_rate: tuple[float, ...]
    average_displacement: tuple[float, ...]

    def mean(self, measure: str) -> Interval:
        return Estimate(getattr(self, measure)).interval


Outcomes = Mapping[str, HintOutcome]


def simulated(effort: Effort) -> Figure:
    runs, seconds = (RUNS_QUICK, PHASE_QUICK_S) if effort.quick else (RUNS, PHASE_S)
    found: dict[str, dict[str, HintOutcome]] = {}
    changes: dict[str, float] = {}
    for course, receivers in COURSES.items():
        phases = tuple((count, seconds) for count in receivers)
        found[course] = {}
        for hint in (*HINTS, ADAPTIVE):
            effort.tell(f"{course}, K = {hint}")
            found[course][hint], changed = _runs(phases, hint, effort.seed, runs)
            if hint == ADAPTIVE:
                changes[course] = changed
    return Figure(
        "Adaptive K and fixed ones while receivers come and go, simulated",
        _columns(found),
        tuple(outcome_panel(f"receivers {_told(COURSES[name])}", found[name]) for name in found),
        tuple(adaptive_claims_of(found)),
        (
            f"{FRONT_ENDS} front ends, {runs} runs of each K; each number of receivers stays for "
            f"{seconds:g} s. A read and a claim take 5 ms each on average, others see a claim 5 ms "
            "later, and the work on a message takes 50 ms.",
            "Each front end has the meter and the decisions of a server, and knows nothing of the "
            "others.",
            *(
                f"{name}: K changed {count:.1f} times in a run, at all front ends together."
                for name, count in changes.items()
            ),
        ),
    )


def _runs(phases: ReceiverPhases, hint: str, seed: int, runs: int) -> tuple[HintOutcome, float]:
    """The outcome, and the mean number of changes of K."""
    figures = []
    changes = 0
    for number in range(runs):
        adaptive = AdaptiveHints(FRONT_ENDS)
        fixed = FixedHint(ANY_K if hint == ANY else int(hint)) if hint != ADAPTIVE else None
        queue = in_phases(CLAIMS, phases, fixed or adaptive, seed + number)
        figures.append(queue.consistency())
        changes += len(adaptive.changes)
    columns = (tuple(getattr(each, measure) for each in figures) for measure in MEASURES)
    return HintOutcome(*columns), changes / runs


def _told(receivers: Sequence[int]) -> str:
    return ", ".join(map(str, receivers))


def outcome_panel(title: str, found: Outcomes) -> Panel:
    """Fixed K are points on a line, from K = 1 on the left; `any` is too far away to draw."""
    drawn = {hint: outcome for hint, outcome in found.items() if hint != ANY}
    fixed = [outcome for hint, outcome in drawn.items() if hint != ADAPTIVE]
    names = [hint for hint in drawn if hint != ADAPTIVE]
    x, y = (tuple(each.mean(measure).mean for each in fixed) for measure in reversed(MEASURES))
    adaptive = drawn[ADAPTIVE]
    mean = adaptive.mean(MEASURES[0])
    return Panel(
        title,
        LABELS[1],
        LABELS[0],
        (
            Curve(f"K = {', '.join(names)}, from the left", x, y),
            Curve("fixed K", x, y, points=True, family=f"K = {', '.join(names)}, from the left"),
            Curve(
                "K = adaptive",
                (adaptive.mean(MEASURES[1]).mean,),
                (mean.mean,),
                (mean.low,),
                (mean.high,),
                points=True,
            ),
        ),
    )


def adaptive_claims_of(found: Mapping[str, Outcomes]) -> Iterator[Verdict]:
    for course, outcomes in found.items():
        yield from adaptive_claims(course, outcomes)


def adaptive_claims(course: str, found: Outcomes) -> Iterator[Verdict]:
    """One verdict on each fixed K: it is not better in both measures outside the intervals.

    If only its means are better in both, the runs were too short to tell.
    """
    adaptive = found[ADAPTIVE]
    for hint, outcome in found.items():
        if hint == ADAPTIVE:
            continue
        pairs = [(outcome.mean(measure), adaptive.mean(measure)) for measure in MEASURES]
        better = [one.high < other.low for one, other in pairs]
        holds: bool | None = not all(better)
        if holds and all(one.mean < other.mean for one, other in pairs):
            holds = None
        numbers = ", ".join(
            f"{label} {outcome.mean(measure).mean:.3g} against {adaptive.mean(measure).mean:.3g}"
            for measure, label in zip(MEASURES, LABELS, strict=True)
        )
        yield Verdict(
            f"K = {hint} is not better than adaptive K in both ({course})",
            "measures in which K is better outside the 95 % intervals: at most 1",
            holds,
            f"{sum(better)}; {numbers}",
        )


def _columns(found: Mapping[str, Outcomes]) -> dict[str, Column]:
    rows = list(
        itertools.chain.from_iterable(
            ((course, hint, outcome) for hint, outcome in each.items())
            for course, each in found.items()
        )
    )
    return {
        "course": [course for course, _, _ in rows],
        "order_hint": [hint for _, hint, _ in rows],
        **{
            name: column
            for measure in MEASURES
            for name, column in interval_columns(
                measure, [outcome.mean(measure) for _, _, outcome in rows]
            ).items()
        },
    }
