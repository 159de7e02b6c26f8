"""Verdicts on claims: estimates with their intervals, compared with a stated threshold."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dovemq.experiments.figure import Verdict
from dovemq.experiments.sweeps import VmaSweep
from dovemq.models.estimates import Interval

_COVERAGE = 0.95
_UTILISATION_MAX = 0.9
_CHANCE_MIN = 0.01
_WORDS = {"delivery_time": "mean delivery time", "waiting": "number of waiting messages"}


def exact(values: Iterable[float]) -> list[Interval]:
    """Values without uncertainty."""
    return [Interval(value, value, value) for value in values]


def relative_error(model: Interval, measured: Interval) -> Interval:
    """The error of a model relative to a measured mean, with an interval that covers both."""
    most = model.high / measured.low - 1.0 if measured.low > 0.0 else math.inf
    return Interval(model.mean / measured.mean - 1.0, model.low / measured.high - 1.0, most)


def judge(
    claim: str,
    quantity: str,
    values: Sequence[Interval],
    least: float = -math.inf,
    most: float = math.inf,
) -> Verdict:
    """The claim holds if all intervals lie within the bounds, and fails if one lies outside.

    Otherwise an interval crosses a bound, and the run was too short to tell.
    """
    holds: bool | None = all(least <= each.low and each.high <= most for each in values)
    if not holds and not any(each.high < least or each.low > most for each in values):
        holds = None
    bounds = f"at least {least:g}" if math.isinf(most) else f"at most {most:g}"
    if math.isfinite(least) and math.isfinite(most):
        bounds = f"{least:g}" if least == most else f"from {least:g} to {most:g}"
    return Verdict(claim, f"{quantity}: {bounds}", holds, _span(values))


def _span(values: Sequence[Interval]) -> str:
    parts = [
        f"{least:.3g}" if f"{least:.3g}" == f"{most:.3g}" else f"{least:.3g} to {most:.3g}"
        for least, most in (
            (min(each.mean for each in values), max(each.mean for each in values)),
            (min(each.low for each in values), max(each.high for each in values)),
        )
    ]
    return parts[0] if parts[0] == parts[1] else f"{parts[0]} (95 %: {parts[1]})"


def by_simulation(
    sweep: VmaSweep, claims: Callable[[VmaSweep, str], Iterable[Verdict]]
) -> list[Verdict]:
    """The claims for each simulation that took part, with its name."""
    return [
        replace(verdict, claim=f"{verdict.claim} ({method})")
        for method in sweep.simulations
        for verdict in claims(sweep, method)
    ]


def agreement(sweep: VmaSweep, measure: str, method: str) -> Verdict:
    """Enough of the 95 % intervals contain the closed form, at a level of significance of 1 %.

    Points above a utilisation of `_UTILISATION_MAX` do not count: a run of 100 s that starts
    empty does not reach a steady state there.
    """
    pairs = [
        (closed.answer.measures[measure], simulated.answer.measures[measure].interval)
        for setting in sweep.settings
        for closed, simulated in zip(
            sweep.select(setting), sweep.select(setting, method), strict=True
        )
        if closed.answer.measures["broker_utilisation"].mean <= _UTILISATION_MAX
    ]
    inside = sum(one.low <= closed.mean <= one.high for closed, one in pairs)
    apart = max(abs(one.mean / closed.mean - 1.0) for closed, one in pairs)
    least = _fewest_inside(len(pairs))
    return Verdict(
        f"analysis and simulation out of order agree on the {_WORDS[measure]}",
        f"95 % intervals that contain the closed form, where ρ is at most {_UTILISATION_MAX:g}: "
        f"at least {least} of {len(pairs)}",
        inside >= least,
        f"{inside}; means at most {apart:.1%} apart",
    )


def _fewest_inside(count: int) -> int:
    """The smallest number that chance alone does not fall below in 99 of 100 cases."""
    chance, inside = 0.0, -1
    while chance < _CHANCE_MIN:
        inside += 1
        missed = count - inside
        chance += math.comb(count, inside) * _COVERAGE**inside * (1.0 - _COVERAGE) ** missed
    return inside


def in_order_is_larger(sweep: VmaSweep, measure: str, method: str) -> Verdict:
    return judge(
        f"the {_WORDS[measure]} is larger in order than out of order",
        "in order / out of order, at every point",
        sweep.order_ratios(measure, method),
        least=1.0,
    )
