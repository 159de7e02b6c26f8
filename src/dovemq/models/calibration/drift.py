"""Tests whether parameters of two periods differ by more than chance.

Rates and scv are compared by the logarithm of their ratio, shares by the score test of two
proportions. Among many tests some are small by chance, so p-values are adjusted by Holm (1979).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scipy.special import ndtr

from dovemq.models.estimates import CONFIDENCE, Parameter

SHARES: Final = frozenset(("failure_probability",))


@dataclass(frozen=True, slots=True)
class Drift:
    """`p_value` is adjusted for all comparisons; `ratio` is the second value over the first."""

    name: str
    first: Parameter
    second: Parameter
    ratio: float
    p_value: float
    drifted: bool


def drift_of(
    first: Mapping[str, Parameter], second: Mapping[str, Parameter], confidence: float = CONFIDENCE
) -> tuple[Drift, ...]:
    """Compares the parameters that both have; the smallest p-value comes first."""
    names = [name for name in first if name in second]
    plain = {name: _p_value(name, first[name], second[name]) for name in names}
    found, reached = [], 0.0
    for place, name in enumerate(sorted(names, key=plain.__getitem__)):
        one, other = first[name], second[name]
        reached = min(1.0, max(reached, (len(names) - place) * plain[name]))
        ratio = other.value / one.value if one.value else math.inf if other.value else 1.0
        found.append(Drift(name, one, other, ratio, reached, reached < 1.0 - confidence))
    return tuple(found)


def _p_value(name: str, first: Parameter, second: Parameter) -> float:
    if name.rpartition(".")[2] in SHARES:
        apart, error = second.value - first.value, _pooled_error(first, second)
    elif first.value > 0.0 and second.value > 0.0:
        apart = math.log(second.value / first.value)
        error = math.hypot(first.error, second.error)
    else:
        apart, error = second.value - first.value, 0.0
    if error == 0.0:
        return 1.0 if apart == 0.0 else 0.0
    return 2.0 * float(ndtr(-abs(apart) / error))


def _pooled_error(first: Parameter, second: Parameter) -> float:
    total = first.samples + second.samples
    share = (first.value * first.samples + second.value * second.samples) / total
    return math.sqrt(share * (1.0 - share) * (1.0 / first.samples + 1.0 / second.samples))
