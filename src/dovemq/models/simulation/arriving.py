"""The next arrival of a source in a kernel: independent times, rates that change, states, batches.

A rate that follows the clock is thinned (Lewis and Shedler 1979): candidates come at the largest
rate, and each is kept with the probability rate/largest. In a modulated process arrival and change
of state compete. The rest of a batch arrives at the same time, one job after another.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovemq.models.arrivals import Arrivals, Batches, ModulatedPoisson, RateSteps
from dovemq.models.checks import Floats
from dovemq.models.simulation.compiled import inlined, part
from dovemq.models.simulation.replication import NONE
from dovemq.models.simulation.sampling import Rows, Shapes, draw, exponential, row_type
from dovemq.models.simulation.streams import Words, uniform

RENEWAL, STEPS, LINEAR, MODULATED = range(4)
ONE, FIXED, GEOMETRIC = range(3)
ARRIVALS: Final = 0
SIZES: Final = 3
"""The rows of the streams of a job type that its arrivals use."""

SOURCE = row_type(i8="process place states phase sizes left", f8="peak cycle size")
"""`place` is that of the shape, or of the first value; `left` is the rest of a batch."""


def source_tables(arrivals: Sequence[Arrivals], shapes: Shapes) -> tuple[Rows, Floats]:
    """Returns a row for each source, and the values of all."""
    rows = np.zeros(len(arrivals), SOURCE)
    values: list[float] = []
    for row, each in zip(rows, arrivals, strict=True):
        process = each
        if isinstance(each, Batches):
            process = each.times
            row["sizes"] = FIXED if each.sizes == "fixed" else GEOMETRIC
            rest = 1.0 - 1.0 / each.size_mean
            if each.sizes == "fixed":
                row["size"] = each.size_mean
            else:
                row["size"] = 1.0 / math.log(rest) if rest else 0.0
        row["place"] = len(values)
        if isinstance(process, RateSteps):
            row["process"] = LINEAR if process.linear else STEPS
            row["states"], row["peak"] = len(process.rates), max(process.rates)
            row["cycle"] = process.cycle
            values += [*np.cumsum(process.lengths), *process.rates, process.rates[0]]
        elif isinstance(process, ModulatedPoisson):
            row["process"], row["phase"] = MODULATED, NONE
            row["states"] = len(process.rates)
            values += _states(process)
        elif not isinstance(process, Batches):
            row["place"] = shapes.place(process)
    return rows, np.array(values, np.float64)


def _states(process: ModulatedPoisson) -> list[float]:
    """The cumulated shares of the states; then for each state its rate, and where it leads to.

    The latter are the rates of leaving it, cumulated by the number of the next state.
    """
    values = list(np.cumsum(process.state_shares))
    for state, rate in enumerate(process.rates):
        moves = [0.0 if to == state else each for to, each in enumerate(process.switching[state])]
        values += [rate, *np.cumsum(moves)]
    return [float(value) for value in values]


@part
def _by_clock(words: Words, source: Any, tables: Floats, values: Floats, now: float) -> float:
    """Draws the next arrival of a rate that follows the clock."""
    while True:
        now += exponential(words, values) / source.peak
        at = now % source.cycle
        step, first = 0, source.place
        while step < source.states - 1 and tables[first + step] <= at:
            step += 1
        rate = tables[first + source.states + step]
        if source.process == LINEAR:
            begin = tables[first + step - 1] if step > 0 else 0.0
            end = tables[first + step]
            after = tables[first + source.states + step + 1]
            rate += (after - rate) * (at - begin) / (end - begin)
        if uniform(words) * source.peak < rate:
            return now


@part
def _modulated(words: Words, source: Any, tables: Floats, values: Floats, now: float) -> float:
    """Draws the next arrival of a process with states, and changes its state on the way."""
    states, first = source.states, source.place
    if source.phase == NONE:
        chance = uniform(words)
        source.phase = 0
        while source.phase < states - 1 and tables[first + source.phase] <= chance:
            source.phase += 1
    while True:
        row = first + states + source.phase * (states + 1)
        rate, leaving = tables[row], tables[row + states]
        now += exponential(words, values) / (rate + leaving)
        chance = uniform(words) * (rate + leaving) - rate
        if chance < 0.0:
            return now
        to = 0
        while to < states - 1 and tables[row + 1 + to] <= chance:
            to += 1
        source.phase = to


@part
def _in_batches(
    words: Words, source: Any, tables: Floats, shapes: Rows, values: Floats, now: float
) -> float:
    if source.left > 0:
        source.left -= 1
        return now
    if source.process == RENEWAL:
        now += draw(words[ARRIVALS], shapes, values, source.place)
    elif source.process == MODULATED:
        now = _modulated(words[ARRIVALS], source, tables, values, now)
    else:
        now = _by_clock(words[ARRIVALS], source, tables, values, now)
    if source.sizes == FIXED:
        source.left = int(source.size) - 1
    elif source.sizes == GEOMETRIC and source.size < 0.0:
        source.left = int(math.log(uniform(words[SIZES])) * source.size)
    return now


@inlined
def next_arrival(
    words: Words, source: Any, tables: Floats, shapes: Rows, values: Floats, now: float
) -> float:
    """Returns the time of the next job of a source; `words` are all streams of its job type."""
    if source.process == RENEWAL and source.sizes == ONE:
        return now + draw(words[ARRIVALS], shapes, values, source.place)
    return _in_batches(words, source, tables, shapes, values, now)
