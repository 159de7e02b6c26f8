"""MinTime and MinCost: the paper's allocation, the optimum, and what cannot be had."""

from dataclasses import replace

import numpy as np
import pytest

from dovemq.models.analytic import network_measures
from dovemq.models.errors import ModelParameterInvalid, ModelSpecInvalid, TooLarge
from dovemq.models.planning import (
    Cost,
    Problem,
    exact_cost,
    exact_time,
    min_cost,
    min_time,
    random_cost,
    random_time,
)
from dovemq.models.planning.progress import WorkInProgress
from tests.models.chains import Floats
from tests.models.workload import paper_network, random_network

MINUTE = 60.0
NETWORKS = 500
KNAPSACK_OPTIMAL_SHARE = 0.9
"""Costs are unequal, so that the gap has no bound; `docs/explanation/models.md` measures it."""


def test_five_consumers_give_the_allocation_of_the_paper() -> None:
    plan = min_time(Problem(paper_network()), 5)
    assert plan.consumers == (2, 2, 1, 4)
    assert plan.feasible
    assert [step.topic for step in plan.steps] == ["D", "D", "A", "D", "B"]
    assert exact_time(Problem(paper_network()), 5).consumers == (2, 2, 1, 4)


def test_fifty_seconds_take_five_iterations_as_in_the_paper() -> None:
    plan = min_cost(Problem(paper_network()), 50 / MINUTE)
    assert len(plan.steps) == 5
    assert plan.time_per_job * MINUTE <= 50 < plan.steps[-2].time_per_job * MINUTE
    assert exact_cost(Problem(paper_network()), 50 / MINUTE).cost == 5


def test_overloaded_topics_come_first_each_with_its_reason() -> None:
    plan = min_time(Problem(paper_network()), 5)
    assert all("unstable" in step.reason for step in plan.steps[:3])
    assert all("gains most" in step.reason for step in plan.steps[3:])
    assert all(np.isinf(step.wip) for step in plan.steps[:2])


def test_work_in_progress_of_every_step_is_that_of_the_model() -> None:
    network = paper_network()
    for step in min_time(Problem(network), 8).steps:
        assert step.wip == pytest.approx(float(network_measures(network, step.consumers).wip))


def test_budget_that_cannot_stabilise_is_infeasible_and_says_what_is_missing() -> None:
    for plan in (min_time(Problem(paper_network()), 2), exact_time(Problem(paper_network()), 2)):
        assert not plan.feasible
        assert "costs 3, the budget is 2" in plan.note
        assert {each.topic: each.missing for each in plan.shortages} == {"A": 1, "D": 2}


def test_target_below_the_service_is_infeasible() -> None:
    plan = min_cost(Problem(paper_network()), 30 / MINUTE)
    assert not plan.feasible
    assert "service alone" in plan.note


def test_topic_that_may_not_grow_is_infeasible() -> None:
    problem = Problem(paper_network(), consumers_max=(9, 9, 9, 2))
    assert not min_time(problem, 20).feasible
    assert not min_cost(problem, 1.0).feasible


def test_random_is_no_better_and_repeats_under_its_seed() -> None:
    problem = Problem(paper_network())
    best = min_time(problem, 8)
    for seed in range(20):
        chance = random_time(problem, 8, np.random.default_rng(seed))
        assert chance.wip >= best.wip * (1 - 1e-12)
        assert chance.consumers == random_time(problem, 8, np.random.default_rng(seed)).consumers
    plan = random_cost(problem, 50 / MINUTE, np.random.default_rng(1))
    assert plan.feasible
    assert len(plan.steps) >= 5


def test_neighbours_of_an_allocation_are_as_if_each_were_computed_alone() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        progress = WorkInProgress(Problem(random_network(rng, topics=5)))
        consumers = progress.stable_from + rng.integers(0, 3, 5)
        alone = [float(progress.wip(consumers + row)) for row in np.eye(5)]
        assert progress.wip_of_neighbours(consumers) == pytest.approx(alone)


def _gaps(networks: int, *, equal: bool) -> Floats:
    """Returns by how much the greedy work in progress exceeds the least, on random networks."""
    rng = np.random.default_rng(2002)
    gaps = []
    for _ in range(networks):
        network = random_network(rng)
        costs = tuple(
            Cost(float(rng.uniform(0.5, 2)), float(rng.uniform(0, 0.2))) for _ in network.topics
        )
        problem = Problem(network, costs=() if equal else costs)
        least = float(problem.extra_cost(np.maximum(WorkInProgress(problem).stable_from, 1.0)))
        budget = least + float(rng.integers(0, 6))
        gaps.append(min_time(problem, budget).wip / exact_time(problem, budget).wip - 1)
    return np.array(gaps)


def test_greedy_is_the_optimum_on_random_networks_with_equal_costs() -> None:
    gaps = _gaps(NETWORKS, equal=True)
    assert gaps == pytest.approx(np.zeros(NETWORKS), abs=1e-9)


def test_greedy_is_mostly_the_optimum_where_costs_differ() -> None:
    """A budget of unequal pieces is a knapsack, which no greedy choice fills best each time."""
    gaps = _gaps(NETWORKS // 2, equal=False)
    assert (gaps >= -1e-9).all()
    assert (gaps < 1e-9).mean() > KNAPSACK_OPTIMAL_SHARE


def test_greedy_cost_is_near_the_optimum_on_random_networks() -> None:
    rng = np.random.default_rng(7)
    over = []
    for _ in range(100):
        problem = Problem(random_network(rng))
        progress = WorkInProgress(problem)
        target = progress.floor / progress.job_rate * float(rng.uniform(1.1, 2.0))
        greedy, best = min_cost(problem, target), exact_cost(problem, target)
        assert best.time_per_job <= target
        over.append(greedy.cost - best.cost)
    assert min(over) >= 0
    assert max(over) <= 1


def test_values_draw_consumers_to_their_topic() -> None:
    plain = min_time(Problem(paper_network()), 5)
    valued = min_time(Problem(paper_network(), values=(1, 1, 50, 1)), 5)
    assert plain.consumers[2] == 1
    assert valued.consumers[2] == 2


def test_growing_costs_spread_consumers() -> None:
    steep = tuple(Cost(1.0, quadratic) for quadratic in (0.0, 0.0, 0.0, 5.0))
    plan = min_time(Problem(paper_network(), costs=steep), 60)
    dear = plan.consumers[3]
    assert dear < min_time(Problem(paper_network()), 10).consumers[3] + 1
    assert plan.cost <= 60
    listed = Cost(listed=(1.0, 2.0, 4.0))
    assert float(listed.of(np.array(5.0))) == 8.0
    assert list(listed.of(np.array([1.0, 2.0, 3.0]))) == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"linear": -1.0},
        {"linear": 0.0},
        {"listed": (3.0, 2.0)},
        {"listed": (1.0, 3.0, 4.0)},
        {"linear": float("nan")},
        {"listed": (1.0,)},
    ],
)
def test_cost_that_shrinks_or_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ModelParameterInvalid, match="cost"):
        Cost(**wrong)  # type: ignore[arg-type]


def test_idle_topic_needs_nothing() -> None:
    plan = min_time(Problem(paper_network(rates=(0.0, 0.0, 1.0))), 3)
    assert plan.consumers[:2] == (1, 1)
    assert plan.feasible


def test_nothing_to_do_is_refused() -> None:
    with pytest.raises(ModelSpecInvalid, match="nothing arrives"):
        min_time(Problem(paper_network(rates=(0.0, 0.0, 0.0))), 3)


@pytest.mark.parametrize("budget", [-1.0, float("nan"), float("inf")])
def test_impossible_budget_is_refused_by_name(budget: float) -> None:
    with pytest.raises(ModelParameterInvalid, match="budget"):
        min_time(Problem(paper_network()), budget)


def test_exact_search_of_too_many_allocations_is_refused() -> None:
    network = random_network(np.random.default_rng(1), topics=12, jobs=6)
    with pytest.raises(TooLarge, match="plan greedily"):
        exact_time(Problem(network), 60)


def test_problem_of_wrong_length_is_refused() -> None:
    with pytest.raises(ModelSpecInvalid, match="values: 2 were given for 4 topics"):
        Problem(paper_network(), values=(1.0, 2.0))
    with pytest.raises(ModelParameterInvalid, match="topic A: consumers_max"):
        Problem(paper_network(consumers=(3, 1, 1, 1)), consumers_max=(2, 9, 9, 9))


def test_plan_starts_from_the_consumers_that_are_there() -> None:
    plan = min_time(Problem(paper_network(consumers=(4, 1, 1, 3))), 1)
    assert plan.start == (4, 1, 1, 3)
    assert plan.cost == 1
    assert sum(plan.consumers) == 10
    kept = replace(paper_network(), topics=paper_network(consumers=plan.consumers).topics)
    assert min_time(Problem(kept), 0).steps == ()
