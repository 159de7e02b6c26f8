"""Makes the plan of a spec, with the shares of routes where jobs have several."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.jobs import JobNetwork
from dovemq.models.planning.exact import exact_cost, exact_time
from dovemq.models.planning.greedy import min_cost, min_time, random_cost, random_time
from dovemq.models.planning.plan import CapacityPlan
from dovemq.models.planning.problem import Problem
from dovemq.models.planning.routing import best_shares
from dovemq.models.planning.spec import Goal, PlanSpec

ROUNDS_MAX: Final = 10
_GAIN_MIN: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the network with its consumers and the chosen shares of routes."""

    plan: CapacityPlan
    network: JobNetwork


def planned(spec: PlanSpec) -> Planned:
    found = _allocated(spec.problem, spec)
    if not spec.goal.optimise_routes:
        return found
    for _ in range(ROUNDS_MAX):
        if not found.plan.feasible:
            return found
        jobs = best_shares(replace(spec.problem, network=found.network)).network.jobs
        # The new shares, with the consumers of the start.
        shared = replace(spec.problem.network, jobs=jobs)
        better = _allocated(replace(spec.problem, network=shared), spec)
        if not better.plan.feasible or not _improves(better.plan, found.plan):
            return found
        found = better
    return found


def _allocated(problem: Problem, spec: PlanSpec) -> Planned:
    plan = _plan(problem, spec.goal, spec.unit_seconds)
    topics = tuple(
        replace(topic, consumers=count)
        for topic, count in zip(problem.network.topics, plan.consumers, strict=True)
    )
    return Planned(plan, replace(problem.network, topics=topics))


def _plan(problem: Problem, goal: Goal, unit_seconds: float) -> CapacityPlan:
    if goal.budget is not None:
        if goal.method == "random":
            return random_time(problem, goal.budget, np.random.default_rng(goal.seed))
        return (exact_time if goal.method == "exact" else min_time)(problem, goal.budget)
    if goal.target_seconds is not None:
        target = goal.target_seconds / unit_seconds
        if goal.method == "random":
            return random_cost(problem, target, np.random.default_rng(goal.seed), goal.level)
        return (exact_cost if goal.method == "exact" else min_cost)(problem, target, goal.level)
    raise ModelSpecInvalid("goal", "budget or target_seconds is needed")


def _improves(new: CapacityPlan, old: CapacityPlan) -> bool:
    if new.cost < old.cost - _GAIN_MIN:
        return True
    return new.cost <= old.cost + _GAIN_MIN and new.wip < old.wip * (1.0 - _GAIN_MIN)
