"""Claims on the queue service of 000 that several figures make, judged from the points of a sweep.

A claim that compares with a simulation is judged for each one that took part, and stays open when
none did.
"""

import math
from collections.abc import Sequence

from dovemq.experiments.figure import Verdict
from dovemq.experiments.sweeps import Point, means, select

_COVERAGE = 0.95
_UTILISATION_MAX = 0.9
_CHANCE_MIN = 0.01
"""Intervals of 95 % miss what they are about now and then; so rarely as this they do not."""


def simulations(found: Sequence[Point]) -> list[str]:
    methods = dict.fromkeys(point.answer.method for point in found)
    return [method for method in methods if method != "analytic"]


def agreement(found: Sequence[Point], measure: str, settings: Sequence[str]) -> list[Verdict]:
    """As many intervals hold the closed form as intervals of 95 % do, at a level of 1 %.

    Only up to a utilisation of `_UTILISATION_MAX`: nearer to 1 a run of 100 s that starts empty
    does not come to a steady state, and is no estimate of one.
    """
    claim = f"analysis and simulation out of order agree on the {measure.replace('_', ' ')}"
    verdicts = []
    for method in simulations(found):
        pairs = [
            (closed.answer.measures[measure], simulated.answer.measures[measure])
            for setting in settings
            for closed, simulated in zip(
                select(found, setting), select(found, setting, method), strict=True
            )
            if _steady(closed)
        ]
        inside = sum(one.low <= exact.mean <= one.high for exact, one in pairs)
        apart = max(abs(one.mean / exact.mean - 1.0) for exact, one in pairs)
        verdicts.append(
            Verdict(
                f"{claim} ({method})",
                _chance_of_fewer(inside, len(pairs)) >= _CHANCE_MIN,
                f"up to ρ = {_UTILISATION_MAX:g}: {inside} of {len(pairs)} in the 95 % interval; "
                f"means at most {apart:.1%} apart",
            )
        )
    return verdicts or [open_claim(claim)]


def _steady(closed: Point) -> bool:
    busy = closed.answer.measures["broker_utilisation"]
    return busy.known and busy.mean <= _UTILISATION_MAX


def _chance_of_fewer(inside: int, count: int) -> float:
    """That at most so many of the intervals hold what they are about."""
    return sum(
        math.comb(count, held) * _COVERAGE**held * (1.0 - _COVERAGE) ** (count - held)
        for held in range(inside + 1)
    )


def in_order_is_larger(
    found: Sequence[Point], measure: str, settings: Sequence[str]
) -> list[Verdict]:
    claim = f"the {measure.replace('_', ' ')} is larger in order than out of order"
    verdicts = []
    for method in simulations(found):
        ratios = order_ratios(found, measure, settings, method)
        verdicts.append(
            Verdict(
                f"{claim} ({method})",
                min(ratios) > 1.0,
                f"in order / out of order: {min(ratios):.2f} to {max(ratios):.2f}",
            )
        )
    return verdicts or [open_claim(claim)]


def order_ratios(
    found: Sequence[Point], measure: str, settings: Sequence[str], method: str
) -> list[float]:
    """In order over out of order, at every point of the settings."""
    ratios = []
    for setting in settings:
        ordered, free = (means(found, measure, setting, method, order) for order in ("in", "out"))
        ratios += [one / other for one, other in zip(ordered, free, strict=True) if other]
    return ratios


def open_claim(claim: str) -> Verdict:
    return Verdict(claim, None, "needs a simulation, and none took part")
