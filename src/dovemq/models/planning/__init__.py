"""Plans the consumers of each topic for a budget, or for a target of time (`elastic`, §V).

    from dovemq.models.planning import Problem, min_time

    plan = min_time(Problem(network), budget=5)
    plan.consumers, plan.time_per_job, [step.reason for step in plan.steps]

Greedy planners explain each step; `exact_time` and `exact_cost` look at every allocation.
"""

from dovemq.models.planning.costs import Cost as Cost
from dovemq.models.planning.exact import exact_cost as exact_cost
from dovemq.models.planning.exact import exact_time as exact_time
from dovemq.models.planning.greedy import min_cost as min_cost
from dovemq.models.planning.greedy import min_time as min_time
from dovemq.models.planning.greedy import random_cost as random_cost
from dovemq.models.planning.greedy import random_time as random_time
from dovemq.models.planning.greedy import relieve as relieve
from dovemq.models.planning.plan import CapacityPlan as CapacityPlan
from dovemq.models.planning.planner import Planned as Planned
from dovemq.models.planning.planner import planned as planned
from dovemq.models.planning.problem import Problem as Problem
from dovemq.models.planning.routing import best_shares as best_shares
from dovemq.models.planning.spec import Goal as Goal
from dovemq.models.planning.spec import PlanSpec as PlanSpec
from dovemq.models.planning.spec import read_spec as read_spec
