"""The best allocation by enumeration: to check the greedy planners, and for small networks.

Allocations that leave a topic unstable are skipped; the others are counted first, and more than
`ALLOCATIONS_MAX` are refused.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from dovemq.models import checks
from dovemq.models.checks import Floats
from dovemq.models.errors import TooLarge
from dovemq.models.planning.costs import Cost
from dovemq.models.planning.greedy import min_cost, min_time, progress_of
from dovemq.models.planning.plan import CapacityPlan, plan_of
from dovemq.models.planning.problem import Problem
from dovemq.models.planning.progress import WorkInProgress

ALLOCATIONS_MAX: Final = 2_000_000
_CHUNK: Final = 20_000
_ROUNDING: Final = 1e-9


def exact_time(problem: Problem, budget: float) -> CapacityPlan:
    """Finds the least work in progress for the budget."""
    progress = progress_of(problem)
    quick = min_time(problem, budget)
    if not quick.feasible:
        return quick
    best, least = np.array(quick.consumers, float), np.inf
    for chunk in _chunks(_allocations(problem, progress, budget)):
        wips = progress.wip(chunk)
        place = int(np.argmin(wips))
        if wips[place] < least:
            best, least = chunk[place], float(wips[place])
    return plan_of("exact", problem, progress, best, feasible=True, note="the best of all")


def exact_cost(problem: Problem, time_per_job_max: float) -> CapacityPlan:
    """Finds the cheapest allocation that meets the target; of these, the least work in progress."""
    target = float(checks.positive(time_per_job_max, "time_per_job_max"))
    progress = progress_of(problem)
    quick = min_cost(problem, target)
    if not quick.feasible:
        return quick
    best, judged = np.array(quick.consumers, float), (quick.cost, quick.wip)
    for chunk in _chunks(_allocations(problem, progress, quick.cost)):
        wips = progress.wip(chunk)
        kept = wips / progress.job_rate <= target
        if not kept.any():
            continue
        chunk, wips = chunk[kept], wips[kept]
        costs = problem.extra_cost(chunk)
        place = int(np.lexsort((wips, np.round(costs, 9)))[0])
        if (found := (float(costs[place]), float(wips[place]))) < judged:
            best, judged = chunk[place], found
    return plan_of("exact", problem, progress, best, feasible=True, note="the cheapest of all")


def _allocations(problem: Problem, progress: WorkInProgress, budget: float) -> Floats:
    """Returns all stable allocations that the budget allows."""
    least = np.maximum(progress.stable_from, problem.start)
    costs = problem.costs or (Cost(),) * len(least)
    spent = np.array([float(problem.extra_cost(least))])
    found = np.empty((1, 0))
    for place, cost in enumerate(costs):
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
    return found


def _too_many(count: int) -> TooLarge:
    return TooLarge("allocations to look at", count, ALLOCATIONS_MAX, "plan greedily instead")


def _chunks(allocations: Floats) -> Iterator[Floats]:
    for start in range(0, len(allocations), _CHUNK):
        yield allocations[start : start + _CHUNK]
