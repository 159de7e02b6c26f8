"""The functions that expressions may call. The table is fixed, so a net file can call no others.

Random functions draw from the generator of the simulation; guards and state spaces refuse them.
"""

import builtins
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dovemq.models.petri.colours import (
    Bool,
    Colour,
    ColourFit,
    Int,
    List,
    Nothing,
    Real,
    fits,
    joined,
)
from dovemq.models.petri.errors import ExpressionInvalid

Colours = Sequence[Colour]
NUMBERS: Final = List(Real())


@dataclass(frozen=True, slots=True)
class Function:
    """A function of expressions.

    `result` maps the colours of the arguments to the colour of the value, or raises an error.
    """

    result: Callable[[str, Colours], Colour]
    chance: bool = False


def takes(*wanted: Colour, gives: Colour) -> Callable[[str, Colours], Colour]:
    def result(name: str, found: Colours) -> Colour:
        if len(found) != len(wanted):
            raise ExpressionInvalid(f"{name} takes {len(wanted)} arguments, not {len(found)}")
        for number, (one, other) in enumerate(zip(found, wanted, strict=True), 1):
            if fits(one, other) is ColourFit.NO:
                raise ExpressionInvalid(f"argument {number} of {name} is {one}, not {other}")
        return gives

    return result


def join(one: Colour, other: Colour, problem: str) -> Colour:
    """The colour set that holds both, or an error whose text names them."""
    both = joined(one, other)
    if both is None:
        raise ExpressionInvalid(problem.format(one, other))
    return both


def _list_of(name: str, found: Colours) -> List:
    if len(found) != 1 or not isinstance(found[0], List):
        raise ExpressionInvalid(f"{name} takes one list")
    return found[0]


def _length(name: str, found: Colours) -> Colour:
    _list_of(name, found)
    return Int(0)


def _truth(name: str, found: Colours) -> Colour:
    if fits(_list_of(name, found).element, Bool()) is ColourFit.NO:
        raise ExpressionInvalid(f"{name} takes a list of bool, not {found[0]}")
    return Bool()


def _sum(name: str, found: Colours) -> Colour:
    element = _list_of(name, found).element
    if fits(element, Real()) is ColourFit.NO:
        raise ExpressionInvalid(f"{name} takes a list of numbers, not {found[0]}")
    return Int() if isinstance(element, Int | Nothing) else Real()


def _extreme(name: str, found: Colours) -> Colour:
    """The colour of the least or greatest of several values, or of the elements of one list."""
    parts: Colours = [_list_of(name, found).element] if len(found) == 1 else found
    colour = parts[0] if parts else Nothing()
    for part in parts[1:]:
        colour = join(colour, part, name + " cannot compare {} and {}")
    return colour


def _number(name: str, found: Colours) -> Colour:
    takes(Real(), gives=Int())(name, found)
    return Int() if isinstance(found[0], Int) else Real()


def _drawn(name: str, found: Colours) -> Colour:
    return _list_of(name, found).element


PURE: Final[Mapping[str, Function]] = {
    "abs": Function(_number),
    "all": Function(_truth),
    "any": Function(_truth),
    "len": Function(_length),
    "max": Function(_extreme),
    "min": Function(_extreme),
    "round": Function(takes(Real(), gives=Int())),
    "sum": Function(_sum),
}
CHANCE: Final[Mapping[str, Function]] = {
    "bernoulli": Function(takes(Real(), gives=Bool()), chance=True),
    "discrete": Function(takes(Int(), Int(), gives=Int()), chance=True),
    "erlang": Function(takes(Int(1), Real(), gives=Real()), chance=True),
    "exponential": Function(takes(Real(), gives=Real()), chance=True),
    "gamma": Function(takes(Real(), Real(), gives=Real()), chance=True),
    "hyperexponential": Function(takes(NUMBERS, NUMBERS, gives=Real()), chance=True),
    "lognormal": Function(takes(Real(), Real(), gives=Real()), chance=True),
    "pareto": Function(takes(Real(), Real(), gives=Real()), chance=True),
    "pick": Function(_drawn, chance=True),
    "uniform": Function(takes(Real(), Real(), gives=Real()), chance=True),
    "weibull": Function(takes(Real(), Real(), gives=Real()), chance=True),
}
"""`erlang(k, rate)`, `gamma(shape, rate)`, `hyperexponential(shares, rates)`, `lognormal(median,
spread)` with the standard deviation of the logarithm, `weibull(shape, scale)`, `pareto(shape,
least)`; `pick` draws one element of a list, `discrete(a, b)` a whole number of a to b."""
FUNCTIONS: Final = {**PURE, **CHANCE}
BAG_WORDS: Final = frozenset(("tokens", "times", "all_of"))
"""The words for multisets, allowed only on arcs and in initial markings."""
WORDS: Final = frozenset((*FUNCTIONS, *BAG_WORDS, "none", "now", "replace", "size", "length"))
"""Names that a net may not declare."""

PURE_CALLS: Final[Mapping[str, Callable[..., Any]]] = {
    name: getattr(builtins, name) for name in PURE
}


def chance_calls(rng: random.Random) -> dict[str, Callable[..., Any]]:
    """Returns the random functions over one generator."""
    draw = rng.random
    log = math.log

    def exponential(rate: float) -> float:
        if not rate > 0:
            raise ValueError(f"exponential needs a rate above 0, not {rate}")
        return -log(1.0 - draw()) / rate

    def gamma(shape: float, rate: float) -> float:
        if not (shape > 0 and rate > 0):
            raise ValueError(f"gamma needs shape and rate above 0, not {shape} and {rate}")
        return rng.gammavariate(shape, 1.0 / rate)

    def hyperexponential(shares: Sequence[float], rates: Sequence[float]) -> float:
        if len(shares) != len(rates) or not rates or not abs(sum(shares) - 1) < 1e-9:
            raise ValueError("hyperexponential needs a share for each rate, 1 in all")
        return exponential(rng.choices(rates, shares)[0])

    def lognormal(median: float, spread: float) -> float:
        if not (median > 0 and spread >= 0):
            raise ValueError(f"lognormal needs a median above 0, not {median}, {spread}")
        return median * math.exp(spread * rng.gauss(0.0, 1.0))

    def weibull(shape: float, scale: float) -> float:
        if not (shape > 0 and scale > 0):
            raise ValueError(f"weibull needs shape and scale above 0, not {shape} and {scale}")
        return float(scale * exponential(1.0) ** (1.0 / shape))

    def pareto(shape: float, least: float) -> float:
        if not (shape > 1 and least > 0):
            raise ValueError(f"pareto needs a shape above 1 and a least time, not {shape}, {least}")
        return least * math.exp(exponential(shape))

    def uniform(least: float, most: float) -> float:
        return least + (most - least) * draw()

    def bernoulli(share: float) -> bool:
        if not 0 <= share <= 1:
            raise ValueError(f"bernoulli needs a probability, not {share}")
        return draw() < share

    return {
        "bernoulli": bernoulli,
        "discrete": rng.randint,
        "erlang": gamma,
        "exponential": exponential,
        "gamma": gamma,
        "hyperexponential": hyperexponential,
        "lognormal": lognormal,
        "pareto": pareto,
        "pick": rng.choice,
        "uniform": uniform,
        "weibull": weibull,
    }
