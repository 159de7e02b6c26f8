"""Claims on the queue service of 000 that several figures make, judged from the points of a sweep.

A claim that compares with a simulation is judged for each one that took part, and stays open when
none did.
"""

from collections.abc import Sequence

from dovemq.experiments.figure import Verdict
from dovemq.experiments.sweeps import Point, means, select

_TOLERANCE = 0.05
"""How far a short simulation of 100 s may be off beyond its interval: it starts empty."""


def simulations(found: Sequence[Point]) -> list[str]:
    methods = dict.fromkeys(point.answer.method for point in found)
    return [method for method in methods if method != "analytic"]


def agreement(found: Sequence[Point], measure: str, settings: Sequence[str]) -> list[Verdict]:
    """The closed form lies in the interval of each point, or within 5 % of its mean."""
    claim = f"analysis and simulation out of order agree on the {measure.replace('_', ' ')}"
    verdicts = []
    for method in simulations(found):
        apart, inside, count = 0.0, 0, 0
        for setting in settings:
            pairs = zip(select(found, setting), select(found, setting, method), strict=True)
            for closed, simulated in pairs:
                exact = closed.answer.measures[measure]
                estimate = simulated.answer.measures[measure]
                if not exact.known:
                    continue
                count += 1
                inside += estimate.low <= exact.mean <= estimate.high
                apart = max(apart, _beyond(exact.mean, estimate.low, estimate.high))
        verdicts.append(
            Verdict(
                f"{claim} ({method})",
                apart <= _TOLERANCE,
                f"{inside} of {count} within the 95 % interval; at most {apart:.1%} beyond one",
            )
        )
    return verdicts or [open_claim(claim)]


def _beyond(value: float, low: float, high: float) -> float:
    distance = max(low - value, value - high, 0.0)
    return distance / value if value else distance


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
