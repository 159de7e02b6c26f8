"""Verdicts on claims: estimates with their intervals, compared with a threshold."""

import math
from collections.abc import Callable, Iterable, Sequence

from dovemq.experiments.figure import Verdict
from dovemq.experiments.scenario import Estimate
from dovemq.experiments.sweeps import VmaSweep

_COVERAGE = 0.95
_UTILISATION_MAX = 0.9
_CHANCE_MIN = 0.01


def exact(values: Iterable[float]) -> list[Estimate]:
    """Values without uncertainty."""
    return [Estimate(value, value, value) for value in values]


def relative_error(model: float, mean: float, low: float, high: float) -> Estimate:
    """The error of a model relative to a measured mean, whose interval is `low` to `high`."""
    most = model / low - 1.0 if low > 0.0 else math.inf
    return Estimate(model / mean - 1.0, model / high - 1.0, most)


def judge(
    claim: str,
    threshold: str,
    values: Sequence[Estimate],
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    found: str = "",
) -> Verdict:
    """The claim holds if all intervals lie within the bounds, and fails if one lies outside.

    Otherwise an interval crosses a bound, and the run was too short to tell. `found` says what
    the values are.
    """
    holds: bool | None = all(at_least <= each.low and each.high <= at_most for each in values)
    outside = any(each.high < at_least or each.low > at_most for each in values)
    if not holds and not outside:
        holds = None
    return Verdict(claim, threshold, holds, f"{found}: {_span(values)}")


def _span(values: Sequence[Estimate]) -> str:
    least, most = (pick(each.mean for each in values) for pick in (min, max))
    low, high = min(each.low for each in values), max(each.high for each in values)
    text = f"{least:.3g}" if least == most else f"{least:.3g} to {most:.3g}"
    return text if (low, high) == (least, most) else f"{text} (95 %: {low:.3g} to {high:.3g})"


def judge_simulations(
    sweep: VmaSweep,
    claim: str,
    threshold: str,
    values: Callable[[str], Sequence[Estimate]],
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    found: str,
) -> list[Verdict]:
    """One verdict for each simulation; `values` takes the name of its method."""
    return [
        judge(
            f"{claim} ({method})",
            threshold,
            values(method),
            at_least=at_least,
            at_most=at_most,
            found=found,
        )
        for method in sweep.simulations
    ]


def agreement(sweep: VmaSweep, measure: str) -> list[Verdict]:
    """Enough of the 95 % intervals contain the closed form, at a level of significance of 1 %.

    Points above a utilisation of `_UTILISATION_MAX` do not count: a run of 100 s that starts
    empty does not reach a steady state there.
    """
    verdicts = []
    for method in sweep.simulations:
        pairs = [
            (closed.answer.measures[measure], simulated.answer.measures[measure])
            for setting in sweep.settings
            for closed, simulated in zip(
                sweep.select(setting), sweep.select(setting, method), strict=True
            )
            if closed.answer.measures["broker_utilisation"].mean <= _UTILISATION_MAX
        ]
        inside = sum(one.low <= closed.mean <= one.high for closed, one in pairs)
        apart = max(abs(one.mean / closed.mean - 1.0) for closed, one in pairs)
        least = _fewest_inside(len(pairs))
        verdicts.append(
            Verdict(
                f"analysis and simulation out of order agree on the {_words(measure)} ({method})",
                f"at least {least} of {len(pairs)} intervals of 95 % contain the closed form, "
                f"where ρ is at most {_UTILISATION_MAX:g}",
                inside >= least,
                f"{inside} of {len(pairs)}; means at most {apart:.1%} apart",
            )
        )
    return verdicts


def _fewest_inside(count: int) -> int:
    """The smallest number that chance alone does not fall below in 99 of 100 cases."""
    chance = 0.0
    for inside in range(count + 1):
        chance += (
            math.comb(count, inside) * _COVERAGE**inside * (1.0 - _COVERAGE) ** (count - inside)
        )
        if chance >= _CHANCE_MIN:
            return inside
    return count


def in_order_is_larger(sweep: VmaSweep, measure: str) -> list[Verdict]:
    return judge_simulations(
        sweep,
        f"the {_words(measure)} is larger in order than out of order",
        "in order / out of order is above 1 at every point",
        lambda method: sweep.order_ratios(measure, method),
        at_least=1.0,
        found="in order / out of order",
    )


def _words(measure: str) -> str:
    return {"waiting": "number of waiting messages"}.get(measure, measure.replace("_", " "))
