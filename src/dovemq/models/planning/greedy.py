"""MinTime and MinCost of `elastic`, and Random as a baseline: one consumer after another.

Readings. The budget is for cost added to the start. The benefit of a consumer is the fall of the
whole work in progress per cost; with equal costs and constant flows it is that of algorithms 1 and
2. While a topic is unstable the work in progress is infinite, and the consumer goes to the largest
deficit λ_j/μ_j − m_j. Algorithm 2 continues while the target is missed (printed: while it is met).
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from dovemq.models import checks
from dovemq.models.checks import Flags, Floats
from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.planning.plan import CapacityPlan, NextConsumer, Sketch
from dovemq.models.planning.problem import Problem
from dovemq.models.planning.progress import WorkInProgress

STEPS_MAX: Final = 100_000
_ROUNDING: Final = 1e-9

Choose = Callable[[Sketch, Flags], NextConsumer | None]
"""Returns one of the allowed topics and the reason, or None if no consumer helps."""


def min_time(problem: Problem, budget: float) -> CapacityPlan:
    progress = progress_of(problem)
    return _spend("MinTime", problem, progress, budget, _greedy(problem, progress))


def random_time(problem: Problem, budget: float, rng: np.random.Generator) -> CapacityPlan:
    """Gives each consumer to a random topic that can take one, as a baseline."""
    progress = progress_of(problem)
    return _spend("Random", problem, progress, budget, _random(rng))


def min_cost(problem: Problem, time_per_job_max: float) -> CapacityPlan:
    progress = progress_of(problem)
    return _reach("MinCost", problem, progress, time_per_job_max, _greedy(problem, progress))


def random_cost(
    problem: Problem, time_per_job_max: float, rng: np.random.Generator
) -> CapacityPlan:
    progress = progress_of(problem)
    return _reach("Random", problem, progress, time_per_job_max, _random(rng))


def progress_of(problem: Problem) -> WorkInProgress:
    progress = WorkInProgress(problem)
    if progress.job_rate <= 0.0:
        raise ModelSpecInvalid("jobs", "nothing arrives: one arrival_rate must be above 0")
    return progress


def _spend(
    method: str, problem: Problem, progress: WorkInProgress, budget: float, choose: Choose
) -> CapacityPlan:
    most = float(checks.not_negative(budget, "budget"))
    sketch = Sketch(method, problem, progress)
    least = float(problem.extra_cost(np.maximum(progress.stable_from, problem.start)))
    if least > most + _ROUNDING:
        return sketch.plan(
            feasible=False,
            note=f"infeasible: to make every topic stable costs {least:g}, the budget is {most:g}",
        )
    if (progress.stable_from > problem.most).any():
        return sketch.plan(feasible=False, note="infeasible: a topic may not have enough consumers")
    while sketch.count < STEPS_MAX:
        room = sketch.consumers < problem.most
        allowed = room & (sketch.steps <= most - sketch.cost + _ROUNDING)
        choice = choose(sketch, allowed) if allowed.any() else None
        if choice is None:
            break
        sketch.add(choice)
    spent = "the budget is spent" if not allowed.any() else "no further consumer helps"
    stable = bool(np.isfinite(sketch.wip))
    return sketch.plan(feasible=stable, note=spent if stable else "infeasible: " + spent)


def _reach(
    method: str, problem: Problem, progress: WorkInProgress, time_per_job_max: float, choose: Choose
) -> CapacityPlan:
    target = float(checks.positive(time_per_job_max, "time_per_job_max"))
    sketch = Sketch(method, problem, progress)
    floor = progress.floor / progress.job_rate
    if floor >= target:
        return sketch.plan(
            feasible=False,
            note=f"infeasible: service alone takes {floor / target:.3g} times the target",
        )
    while sketch.time_per_job > target:
        allowed = sketch.consumers < problem.most
        usable = allowed.any() and sketch.count < STEPS_MAX
        choice = choose(sketch, allowed) if usable else None
        if choice is None:
            return sketch.plan(feasible=False, note="infeasible: no further consumer helps")
        sketch.add(choice)
    return sketch.plan(feasible=True, note="the target is reached")


def _greedy(problem: Problem, progress: WorkInProgress) -> Choose:
    names = [topic.name for topic in problem.network.topics]

    def choose(sketch: Sketch, allowed: Flags) -> NextConsumer | None:
        deficits = progress.deficits(sketch.consumers)
        if (deficits >= 0.0).any():
            lacking = allowed & (deficits >= 0.0)
            if not lacking.any():
                return None
            place = int(np.argmax(np.where(lacking, deficits, -np.inf)))
            load, count = progress.loads[place], sketch.consumers[place]
            text = f"{names[place]} is unstable: load {load:.3g} for {count:g} consumers"
            return NextConsumer(place, text)
        wips = progress.wip_of_neighbours(sketch.consumers)
        falls = sketch.wip - wips
        gains = np.where(allowed, falls / sketch.steps, -np.inf)
        place = int(np.argmax(gains))
        if gains[place] <= 0.0:
            return None
        return NextConsumer(place, _reason(names, place, gains, falls), float(wips[place]))

    return choose


def _reason(names: list[str], place: int, gains: Floats, falls: Floats) -> str:
    text = f"{names[place]} gains most: {falls[place]:.3g} less in progress"
    if np.isfinite(gains).sum() < 2:
        return text
    second = int(np.argsort(gains)[-2])
    return f"{text}, then {names[second]} with {falls[second]:.3g}"


def _random(rng: np.random.Generator) -> Choose:
    def choose(sketch: Sketch, allowed: Flags) -> NextConsumer:
        return NextConsumer(int(rng.choice(np.flatnonzero(allowed))), "by chance")

    return choose
