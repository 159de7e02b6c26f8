"""Distributions of times by their names, as flags and files write them.

    exponential                       deterministic
    erlang:stages=3                   gamma:scv=0.4
    hyperexponential:scv=4            lognormal:scv=2
    weibull:shape=0.7 or weibull:scv=2
    pareto:shape=2.5 or pareto:scv=0.8

The mean comes from a rate, which is given elsewhere.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from dovemq.models.distributions import (
    WEIBULL_SHAPE_MAX,
    WEIBULL_SHAPE_MIN,
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Pareto,
    Weibull,
    by_moments,
    moments,
)
from dovemq.models.errors import ModelParameterInvalid

Named = Callable[[float, float], Distribution]
"""Makes a distribution of a mean and one more number."""

_HALVINGS: Final = 200


def _hyper(mean: float, scv: float) -> Distribution:
    found = by_moments(mean, scv)
    if not isinstance(found, HyperExponential):
        raise ModelParameterInvalid("hyperexponential:scv", f"{scv:g}", "a number above 1")
    return found


def _stages(mean: float, stages: float) -> Distribution:
    whole: Any = int(stages) if math.isfinite(stages) and stages == int(stages) else stages
    return Erlang(mean, whole)


def weibull_of(mean: float, scv: float) -> Weibull:
    """Returns the Weibull distribution with this scv; found by halving, as the scv falls."""
    low, high = WEIBULL_SHAPE_MIN, WEIBULL_SHAPE_MAX
    least, most = Weibull(mean, high).scv, Weibull(mean, low).scv
    if not least <= scv <= most:
        needed = f"a number from {least:.3g} to {most:.6g}"
        raise ModelParameterInvalid("weibull:scv", f"{scv:g}", needed)
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if Weibull(mean, middle).scv > scv:
            low = middle
        else:
            high = middle
    return Weibull(mean, high)


def pareto_of(mean: float, scv: float) -> Pareto:
    """Returns the Pareto distribution with this scv, whose shape is always above 2."""
    if not 0.0 < scv < math.inf:
        raise ModelParameterInvalid("pareto:scv", f"{scv:g}", "a finite number above 0")
    return Pareto(mean, 1.0 + math.sqrt(1.0 + 1.0 / scv))


ALONE: Final[Mapping[str, Callable[[float], Distribution]]] = {
    "exponential": Exponential,
    "deterministic": Deterministic,
}
"""Distributions that their mean determines."""
SHAPED: Final[Mapping[str, Mapping[str, Named]]] = {
    "erlang": {"stages": _stages},
    "gamma": {"scv": Gamma},
    "hyperexponential": {"scv": _hyper},
    "lognormal": {"scv": LogNormal},
    "weibull": {"shape": Weibull, "scv": weibull_of},
    "pareto": {"shape": Pareto, "scv": pareto_of},
}
"""Distributions that need one more number, by its name."""
NAMES: Final = (*ALONE, *SHAPED)


def named_time(
    text: str, mean: float, scv: float | None = None, name: str = "times"
) -> Distribution:
    """Returns the distribution that a text such as `weibull:shape=0.7` names.

    `scv` is used where the text has no number. `name` is that of the parameter, for errors.
    """
    kind, _, rest = text.partition(":")
    if kind in ALONE:
        if rest or (scv is not None and scv != ALONE[kind](1.0).scv):
            needed = f"{kind} alone: its scv is {ALONE[kind](1.0).scv:g}"
            raise ModelParameterInvalid(name, repr(text), needed)
        return ALONE[kind](mean)
    if kind not in SHAPED:
        raise ModelParameterInvalid(name, repr(text), f"one of {', '.join(NAMES)}")
    key, _, number = rest.partition("=") if rest else ("scv", "", "" if scv is None else repr(scv))
    made, value = SHAPED[kind].get(key), _number(number)
    if made is None or value is None:
        needed = " or ".join(f"{kind}:{each}=NUMBER" for each in SHAPED[kind])
        raise ModelParameterInvalid(name, repr(text), needed)
    return made(mean, value)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def heavy_tail(times: Distribution, name: str) -> str | None:
    """Returns a warning about times whose third moment does not exist."""
    if math.isfinite(moments(times)[2]):
        return None
    return (
        f"the third moment of the {name} is infinite, and with it the variance of the wait: "
        "means converge slowly, and intervals are too narrow"
    )
