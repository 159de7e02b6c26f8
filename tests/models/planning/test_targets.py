"""Targets of time: by response time with joins, and by a quantile of every type of job."""

from dataclasses import replace

import numpy as np
import pytest

from dovemq.models.analytic import network_measures
from dovemq.models.analytic.percentiles import response_quantile
from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, JobType, Topic, chain
from dovemq.models.planning import Problem, exact_cost, min_cost
from dovemq.models.planning.plan import CapacityPlan
from dovemq.models.simulation import SimulationRun, simulate_network

FORK = (
    JobTask("start", "a"),
    JobTask("left", "b", ("start",)),
    JobTask("right", "c", ("start",)),
    JobTask("end", "a", ("left", "right")),
)
NETWORK = JobNetwork(
    (Topic("a", 2.0), Topic("b", 1.5, 0.5), Topic("c", 1.2, 2.0)),
    (JobType("fork", 1.0, (JobRoute(FORK),)), JobType("chain", 0.5, (JobRoute(chain("a", "b")),))),
)
PROBLEM = Problem(NETWORK)


def _with(plan: CapacityPlan) -> JobNetwork:
    topics = (
        replace(topic, consumers=count)
        for topic, count in zip(NETWORK.topics, plan.consumers, strict=True)
    )
    return replace(NETWORK, topics=tuple(topics))


def test_target_is_met_by_the_response_time_where_branches_join() -> None:
    """The tasks of a job take 2.7 s together without any wait, but two of them at a time."""
    plan = min_cost(PROBLEM, 2.5)
    assert plan.feasible
    found = network_measures(_with(plan))
    rates = np.array([1.0, 0.5])
    assert plan.time_per_job == pytest.approx(float(found.response_time @ rates / 1.5))
    assert plan.time_per_job <= 2.5
    assert found.wip / 1.5 > plan.time_per_job


def test_cheapest_plan_of_all_costs_no_more_and_meets_the_target() -> None:
    for level in (None, 0.9):
        quick, best = (plan(PROBLEM, 4.5, level) for plan in (min_cost, exact_cost))
        assert best.feasible
        assert best.cost <= quick.cost
        assert best.time_per_job <= 4.5


def test_quantile_holds_for_every_type_of_job() -> None:
    plan = min_cost(PROBLEM, 5.0, 0.95)
    assert plan.feasible
    found = response_quantile(network_measures(_with(plan)).response, 0.95)
    assert plan.time_per_job == pytest.approx(float(found.max()))
    assert (found <= 5.0).all()
    run = SimulationRun(4_000.0, warm_up=400.0, replications=8, seed=2)
    simulated = simulate_network(_with(plan), run)
    for place, job in enumerate(NETWORK.jobs):
        expected = simulated.quantile(0.95, job.name).mean
        assert float(found[place]) == pytest.approx(expected, rel=0.12)


def test_target_below_the_services_alone_is_infeasible() -> None:
    assert "service alone" in min_cost(PROBLEM, 1.0).note
    assert not min_cost(PROBLEM, 3.0, 0.99).feasible


def test_chains_are_planned_as_before() -> None:
    network = replace(NETWORK, jobs=NETWORK.jobs[1:])
    plan = min_cost(Problem(network), 2.0)
    assert plan.time_per_job == pytest.approx(plan.wip / 0.5)
