"""MinTime and MinCost of `elastic`, and Random as a baseline: one consumer after another.

Readings. The budget is for cost added to the start. The benefit of a consumer is the fall of the
whole work in progress per cost; with equal costs and constant flows it is that of algorithms 1 and
2. While a topic is unstable the work in progress is infinite, and the consumer goes to the largest
deficit λ_j/μ_j − m_j. Algorithm 2 continues while the target is missed (printed: while it is met).
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from dovemq.models import checks
from dovemq.models.checks import Flags
from dovemq.models.planning.plan import CapacityPlan, Sketch
from dovemq.models.planning.problem import Problem
from dovemq.models.stability import is_stable

STEPS_MAX: Final = 100_000
_ROUNDING: Final = 1e-9

Choose = Callable[[Sketch, Flags], bool]
"""Adds a consumer to one of the allowed topics; returns False if no consumer helps."""


def min_time(problem: Problem, budget: float) -> CapacityPlan:
    return _spend(Sketch("MinTime", problem), budget, _greedy)


def relieve(problem: Problem, budget: float) -> CapacityPlan:
    """Spends a budget that cannot make every topic stable, always on the largest deficit.

    Such a plan is never feasible; its note and its shortages say what is missing.
    """
    most = float(checks.not_negative(budget, "budget"))
    sketch = Sketch("MinTime", problem)
    reason = _why_infeasible(sketch, most)
    note = _add_while_allowed(sketch, most, _greedy)
    return sketch.plan(feasible=reason is None, note=reason or note)


def random_time(problem: Problem, budget: float, rng: np.random.Generator) -> CapacityPlan:
    """Gives each consumer to a random topic that can take one, as a baseline."""
    return _spend(Sketch("Random", problem), budget, partial(_random, rng))


def min_cost(problem: Problem, time_per_job_max: float, level: float | None = None) -> CapacityPlan:
    """Reaches a mean time of jobs, or the quantile of a level for every type of job."""
    return _reach(Sketch("MinCost", problem, level), time_per_job_max, _greedy_for_time)


def random_cost(
    problem: Problem,
    time_per_job_max: float,
    rng: np.random.Generator,
    level: float | None = None,
) -> CapacityPlan:
    return _reach(Sketch("Random", problem, level), time_per_job_max, partial(_random, rng))


def _spend(sketch: Sketch, budget: float, choose: Choose) -> CapacityPlan:
    most = float(checks.not_negative(budget, "budget"))
    if reason := _why_infeasible(sketch, most):
        return sketch.plan(feasible=False, note=reason)
    spent = _add_while_allowed(sketch, most, choose)
    stable = bool(np.isfinite(sketch.wip))
    return sketch.plan(feasible=stable, note=spent if stable else "infeasible: " + spent)


def _why_infeasible(sketch: Sketch, most: float) -> str | None:
    problem, needed = sketch.problem, sketch.progress.stable_from
    least = float(problem.extra_cost(np.maximum(needed, problem.start)))
    if least > most + _ROUNDING:
        return f"infeasible: to make every topic stable costs {least:g}, the budget is {most:g}"
    if (needed > problem.most).any():
        return "infeasible: a topic may not have enough consumers"
    return None


def _add_while_allowed(sketch: Sketch, most: float, choose: Choose) -> str:
    """Adds consumers one by one, and says why it ended."""
    while len(sketch.steps) < STEPS_MAX:
        room = sketch.consumers < sketch.problem.most
        allowed = room & (sketch.prices <= most - sketch.cost + _ROUNDING)
        if not allowed.any():
            return "the budget is spent"
        if not choose(sketch, allowed):
            break
    return "no further consumer helps"


def _reach(sketch: Sketch, time_per_job_max: float, choose: Choose) -> CapacityPlan:
    target = float(checks.positive(time_per_job_max, "time_per_job_max"))
    floor = sketch.floor
    if floor >= target:
        return sketch.plan(
            feasible=False,
            note=f"infeasible: service alone takes {floor / target:.3g} times the target",
        )
    while sketch.time_per_job > target:
        allowed = sketch.consumers < sketch.problem.most
        usable = allowed.any() and len(sketch.steps) < STEPS_MAX
        if not (usable and choose(sketch, allowed)):
            return sketch.plan(feasible=False, note="infeasible: no further consumer helps")
    return sketch.plan(feasible=True, note="the target is reached")


def _greedy(sketch: Sketch, allowed: Flags) -> bool:
    progress, names = sketch.progress, sketch.names
    deficits = progress.loads - sketch.consumers
    unstable = ~is_stable(progress.loads, sketch.consumers)
    if unstable.any():
        lacking = allowed & unstable
        if not lacking.any():
            return False
        place = int(np.argmax(np.where(lacking, deficits, -np.inf)))
        load, count = progress.loads[place], sketch.consumers[place]
        sketch.add(place, f"{names[place]} is unstable: load {load:.3g} for {count:g} consumers")
        return True
    wips = progress.wip_of_neighbours(sketch.consumers)
    falls = sketch.wip - wips
    gains = np.where(allowed, falls / sketch.prices, -np.inf)
    place = int(np.argmax(gains))
    if gains[place] <= 0.0:
        return False
    reason = f"{names[place]} gains most: {falls[place]:.3g} less in progress"
    if np.isfinite(gains).sum() >= 2:
        second = int(np.argsort(gains)[-2])
        reason += f", then {names[second]} with {falls[second]:.3g}"
    sketch.add(place, reason, float(wips[place]))
    return True


def _greedy_for_time(sketch: Sketch, allowed: Flags) -> bool:
    """Adds the consumer that shortens the time most per cost, which joins and quantiles need."""
    if sketch.by_work or sketch.times is None or not np.isfinite(sketch.wip):
        return _greedy(sketch, allowed)
    falls = sketch.time_per_job - sketch.times.of_neighbours(sketch.consumers)
    gains = np.where(allowed, falls / sketch.prices, -np.inf)
    place = int(np.argmax(gains))
    if gains[place] <= 0.0:
        return False
    share = falls[place] / sketch.time_per_job
    sketch.add(place, f"{sketch.names[place]} gains most: {100 * share:.3g} % of the time")
    return True


def _random(rng: np.random.Generator, sketch: Sketch, allowed: Flags) -> bool:
    sketch.add(int(rng.choice(np.flatnonzero(allowed))), "by chance")
    return True
