"""Plans the consumers of each topic for a budget, or for a target of time (`elastic`, §V).

    from dovemq.models.planning import Problem, min_time

    plan = min_time(Problem(network), budget=5)
    plan.consumers, plan.time_per_job, [step.reason for step in plan.steps]

Greedy planners explain each step; `exact_time` and `exact_cost` look at every allocation.
"""

from dovemq.models.planning.costs import Cost
from dovemq.models.planning.exact import exact_cost, exact_time
from dovemq.models.planning.greedy import min_cost, min_time, random_cost, random_time
from dovemq.models.planning.plan import CapacityPlan
from dovemq.models.planning.planner import Planned, planned
from dovemq.models.planning.problem import Problem
from dovemq.models.planning.routing import best_shares
from dovemq.models.planning.spec import Goal, PlanSpec, read_spec

__all__ = [
    "CapacityPlan",
    "Cost",
    "Goal",
    "PlanSpec",
    "Planned",
    "Problem",
    "best_shares",
    "exact_cost",
    "exact_time",
    "min_cost",
    "min_time",
    "planned",
    "random_cost",
    "random_time",
    "read_spec",
]
