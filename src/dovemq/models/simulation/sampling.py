"""Draws times in a kernel: one row per distribution, one table of values for all.

Exponential times use the ziggurat of Marsaglia and Tsang (2000), whose tables are the head of the
values; gamma times use their squeeze of a normal variate (2000); log-normal times are powers of a
normal variate by Box and Muller; Weibull and Pareto times are powers of an exponential one; the
others use inversion.
"""

import functools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models.checks import Floats
from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Pareto,
    Weibull,
)
from dovemq.models.simulation.compiled import inlined, part
from dovemq.models.simulation.streams import Words, uniform, word

EXPONENTIAL, DETERMINISTIC, STAGES, GAMMA, PHASES, EMPIRICAL, LOG_NORMAL, WEIBULL, PARETO = range(9)
STAGES_SUMMED_MAX: Final = 12
"""A gamma variate is cheaper than the sum of more stages."""
LAYERS: Final = 256
_HEIGHTS: Final = LAYERS + 1
"""The place of the heights in the values; the widths come before them."""
_TAIL: Final = 7.69711747013104972
_AREA: Final = 0.0039496598225815571993
_UNIT: Final = 2.0**-53

Rows = NDArray[np.void]


def row_type(**names: str) -> np.dtype[np.void]:
    """The type of the rows of a table: names of fields by their numpy type, such as `f8="x y"`."""
    fields = [(name, kind) for kind, listed in names.items() for name in listed.split()]
    return np.dtype(fields)


_SHAPE = row_type(i8="kind count first", f8="scale shape")


class Shapes:
    """The distributions of one model; equal ones share a row."""

    def __init__(self, *distributions: Distribution) -> None:
        self._places: dict[Distribution, int] = {}
        for distribution in distributions:
            self.place(distribution)

    def place(self, distribution: Distribution) -> int:
        return self._places.setdefault(distribution, len(self._places))

    def tables(self) -> tuple[Rows, Floats]:
        rows = np.zeros(len(self._places), _SHAPE)
        values = list(_layers())
        for place, distribution in enumerate(self._places):
            rows[place] = _row(distribution, len(values))
            values.extend(_values(distribution))
        return rows, np.array(values, np.float64)


@functools.cache
def _layers() -> tuple[float, ...]:
    """The widths of the layers, the lowest first, and the density at each."""
    widths = [_AREA * math.exp(_TAIL), _TAIL]
    while len(widths) < LAYERS:
        widths.append(-math.log(math.exp(-widths[-1]) + _AREA / widths[-1]))
    widths.append(0.0)
    return (*widths, *(math.exp(-width) for width in widths))


def _row(distribution: Distribution, first: int) -> tuple[int, int, int, float, float]:
    """Returns kind, number of values, place of the first, scale and shape."""
    match distribution:
        case Exponential(mean=mean):
            return EXPONENTIAL, 0, first, mean, 1.0
        case Deterministic(mean=mean):
            return DETERMINISTIC, 0, first, mean, 0.0
        case Erlang(mean=mean, stages=stages) if stages <= STAGES_SUMMED_MAX:
            return STAGES, int(stages), first, mean / stages, float(stages)
        case Erlang(mean=mean) | Gamma(mean=mean):
            return GAMMA, 0, first, mean * distribution.scv, 1.0 / distribution.scv
        case HyperExponential(means=means):
            return PHASES, len(means), first, 1.0, 0.0
        case LogNormal():
            return LOG_NORMAL, 0, first, distribution.median, distribution.spread
        case Weibull(shape=shape):
            return WEIBULL, 0, first, distribution.scale, 1.0 / shape
        case Pareto(shape=shape):
            return PARETO, 0, first, distribution.least, 1.0 / shape
        case Empirical(values=observed):
            return EMPIRICAL, len(observed), first, 1.0, 0.0


def _values(distribution: Distribution) -> Sequence[float]:
    """Returns phases as pairs of cumulated share and mean, and observed values unchanged."""
    match distribution:
        case HyperExponential(shares=shares, means=means):
            pairs = zip(np.cumsum(shares), means, strict=True)
            return [float(value) for pair in pairs for value in pair]
        case Empirical(values=observed):
            return observed
        case _:
            return ()


@part
def _beside_layer(words: Words, values: Floats, layer: int, time: float) -> float:
    """Decides what the rectangle of the layer does not: its wedge, or the tail of the lowest."""
    while True:
        if layer == 0:
            return _TAIL - math.log(uniform(words))
        low, high = values[_HEIGHTS + layer], values[_HEIGHTS + layer + 1]
        if low + (high - low) * uniform(words) < math.exp(-time):
            return time
        bits = word(words)
        layer = int(bits & np.uint64(LAYERS - 1))
        time = float(bits >> np.uint64(11)) * _UNIT * values[layer]
        if time < values[layer + 1]:
            return time


@inlined
def exponential(words: Words, values: Floats) -> float:
    """Draws an exponential time of mean 1."""
    bits = word(words)
    layer = int(bits & np.uint64(LAYERS - 1))
    time: float = float(bits >> np.uint64(11)) * _UNIT * values[layer]
    if time < values[layer + 1]:
        return time
    return _beside_layer(words, values, layer, time)


@part
def _normal(words: Words) -> float:
    radius = math.sqrt(-2.0 * math.log(uniform(words)))
    return radius * math.cos(2.0 * math.pi * uniform(words))


@part
def _gamma(words: Words, shape: float) -> float:
    """Draws a gamma time of scale 1; a shape below 1 uses shape + 1 and a power."""
    raised = shape if shape >= 1.0 else shape + 1.0
    offset = raised - 1.0 / 3.0
    spread = 1.0 / math.sqrt(9.0 * offset)
    while True:
        normal = _normal(words)
        cube = (1.0 + spread * normal) ** 3
        if cube <= 0.0:
            continue
        chance = math.log(uniform(words))
        if chance < 0.5 * normal * normal + offset * (1.0 - cube + math.log(cube)):
            break
    time: float = offset * cube
    if shape < 1.0:
        time *= uniform(words) ** (1.0 / shape)
    return time


@part
def _otherwise(words: Words, rows: Rows, values: Floats, place: int) -> float:
    """Draws a time relative to the scale of the row."""
    row = rows[place]
    if row.kind == DETERMINISTIC:
        return 1.0
    if row.kind == GAMMA:
        return _gamma(words, row.shape)
    if row.kind == LOG_NORMAL:
        return math.exp(row.shape * _normal(words))
    if row.kind == WEIBULL:
        return float(exponential(words, values) ** row.shape)
    if row.kind == PARETO:
        return math.exp(row.shape * exponential(words, values))
    if row.kind == STAGES:
        time = 0.0
        for _ in range(row.count):
            time += exponential(words, values)
        return time
    chance = uniform(words)
    if row.kind == EMPIRICAL:
        return float(values[row.first + min(int(chance * row.count), row.count - 1)])
    phase = row.first
    for _ in range(row.count - 1):
        if chance < values[phase]:
            break
        phase += 2
    mean: float = values[phase + 1]
    return exponential(words, values) * mean


@inlined
def draw(words: Words, rows: Rows, values: Floats, place: int) -> float:
    scale: float = rows[place].scale
    if rows[place].kind == EXPONENTIAL:
        return exponential(words, values) * scale
    return _otherwise(words, rows, values, place) * scale
