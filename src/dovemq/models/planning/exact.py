"""The best allocation by enumeration: to check the greedy planners, and for small networks.

Allocations that leave a topic unstable are skipped; the others are counted first, and more than
`ALLOCATIONS_MAX` are refused.
"""

from typing import Final

import numpy as np

from dovemq.models.checks import Floats
from dovemq.models.errors import TooLarge
from dovemq.models.planning.greedy import min_cost, min_time
from dovemq.models.planning.plan import CapacityPlan, Sketch
from dovemq.models.planning.problem import Problem

ALLOCATIONS_MAX: Final = 2_000_000
_CHUNK: Final = 20_000
_ROUNDING: Final = 1e-9


def exact_time(problem: Problem, budget: float) -> CapacityPlan:
    """Finds the least work in progress for the budget."""
    quick = min_time(problem, budget)
    if not quick.feasible:
        return quick
    sketch, least = Sketch("exact", problem), np.inf
    sketch.consumers = np.array(quick.consumers, float)
    for chunk in _allocations(sketch, budget):
        wips = sketch.progress.wip(chunk)
        place = int(np.argmin(wips))
        if wips[place] < least:
            sketch.consumers, least = chunk[place], float(wips[place])
    return sketch.plan(feasible=True, note="the best of all")


def exact_cost(
    problem: Problem, time_per_job_max: float, level: float | None = None
) -> CapacityPlan:
    """Finds the cheapest allocation that meets the target; of these, the least work in progress."""
    quick = min_cost(problem, time_per_job_max, level)
    if not quick.feasible:
        return quick
    sketch, judged = Sketch("exact", problem, level), (quick.cost, quick.wip)
    sketch.consumers = np.array(quick.consumers, float)
    for chunk in _allocations(sketch, quick.cost):
        wips = sketch.progress.wip(chunk)
        times = (
            wips / sketch.progress.job_rate if sketch.times is None else sketch.times.time(chunk)
        )
        kept = times <= time_per_job_max
        if not kept.any():
            continue
        chunk, wips = chunk[kept], wips[kept]
        costs = problem.extra_cost(chunk)
        place = int(np.lexsort((wips, np.round(costs, 9)))[0])
        if (found := (float(costs[place]), float(wips[place]))) < judged:
            sketch.consumers, judged = chunk[place], found
    return sketch.plan(feasible=True, note="the cheapest of all")


def _allocations(sketch: Sketch, budget: float) -> list[Floats]:
    """Returns all stable allocations that the budget allows, in chunks."""
    problem = sketch.problem
    least = np.maximum(sketch.progress.stable_from, problem.start)
    spent = np.array([float(problem.extra_cost(least))])
    found = np.empty((1, 0))
    for place, cost in enumerate(problem.topic_costs):
        room = int(problem.most[place] - least[place])
        counts = least[place] + np.arange(room + 1.0)
        prices = cost.of(counts) - cost.of(counts[:1])
        counts, prices = (
            each[prices <= budget - spent.min() + _ROUNDING] for each in (counts, prices)
        )
        if len(found) * len(counts) > 4 * ALLOCATIONS_MAX:
            raise _too_many(len(found) * len(counts))
        total = spent[:, None] + prices
        rows, columns = np.nonzero(total <= budget + _ROUNDING)
        if len(rows) > ALLOCATIONS_MAX:
            raise _too_many(len(rows))
        found = np.column_stack((found[rows], counts[columns]))
        spent = total[rows, columns]
    return [found[first : first + _CHUNK] for first in range(0, len(found), _CHUNK)]


def _too_many(count: int) -> TooLarge:
    return TooLarge("allocations to look at", count, ALLOCATIONS_MAX, "plan greedily instead")
