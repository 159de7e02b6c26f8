"""Quantiles of times that are known by a tail or by a Laplace transform.

Transforms are inverted by the Euler algorithm of Abate and Whitt (1995), for functions without
jumps after 0. `EULER_TERMS` and the alternating sum give eight digits where the function is smooth,
and four or more near a kink.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import special

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.distributions import Complex

Transform = Callable[[Complex], Complex]

_DISCRETISATION: Final = 18.4
"""A of the paper: the error of discretisation is about e^−A = 1e-8."""
_TERMS_PLAIN: Final = 60
EULER_TERMS: Final = 14
_BISECTIONS: Final = 100
_DOUBLINGS_MAX: Final = 1_000
_DIGITS: Final = 1e-13
"""The relative width at which bisection ends: rounding is not much less."""


def inverted(transform: Transform, times: Floats) -> Floats:
    """Returns the function with that transform, at times above 0."""
    at = times[..., None]
    terms = np.arange(_TERMS_PLAIN + EULER_TERMS + 1)
    points = np.asarray((_DISCRETISATION + 2j * np.pi * terms) / (2.0 * at), dtype=np.complex128)
    values = np.real(transform(points)) * (-1.0) ** terms
    values[..., 0] *= 0.5
    sums = np.cumsum(values, axis=-1)[..., _TERMS_PLAIN:]
    weights = special.binom(EULER_TERMS, np.arange(EULER_TERMS + 1)) * 2.0**-EULER_TERMS
    answer: Floats = np.exp(_DISCRETISATION / 2.0) / times * (sums @ weights)
    return answer


def tail_of(transform: Transform, time: Floats) -> Floats:
    """Returns P(T > time) by E[exp(−sT)]."""
    return inverted(lambda s: np.asarray((1.0 - transform(s)) / s), time)


def quantile_of(transform: Transform, level: float, first: float, above_0: float = 1.0) -> float:
    """Returns the quantile of a time T by E[exp(−sT)].

    `first` is a time of its order, and `above_0` is P(T > 0).
    """
    tail = 1.0 - float(checks.level(level))
    if above_0 <= tail:
        return 0.0
    found = time_at_tail(
        lambda time: tail_of(transform, time), np.asarray(tail), np.asarray(first, dtype=float)
    )
    return float(found)


def time_at_tail(tail_at: Callable[[Floats], Floats], tail: Floats, first: Floats) -> Floats:
    """Finds the time at which a falling tail reaches a level, by doubling and bisection."""
    low, high = np.zeros(first.shape), first
    for _ in range(_DOUBLINGS_MAX):
        short = tail_at(high) > tail
        if not short.any():
            break
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
    for _ in range(_BISECTIONS):
        if (high - low <= _DIGITS * high).all():
            break
        middle = 0.5 * (low + high)
        above = tail_at(middle) > tail
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return high
