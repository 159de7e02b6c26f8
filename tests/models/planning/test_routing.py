"""Shares of routes: against enumeration, against theory, and where none are stable."""

from collections.abc import Sequence

import numpy as np
import pytest

from dovemq.models.analytic import network_measures
from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic, chain
from dovemq.models.planning import Goal, PlanSpec, Problem, best_shares, planned

POINTS = 200


def _two_ways(rate: float, speeds: Sequence[float] = (2.0, 1.0), scv: float = 1.0) -> JobNetwork:
    topics = tuple(Topic(name, speed, scv) for name, speed in zip("ab", speeds, strict=True))
    routes = (JobRoute(chain("a"), 0.5), JobRoute(chain("b"), 0.5))
    return JobNetwork(topics, (JobType("j", rate, routes, scv),))


def _wip(network: JobNetwork, *shares: float) -> float:
    jobs = []
    for job, share in zip(network.jobs, shares, strict=True):
        first, second = job.routes
        routes = (JobRoute(first.tasks, share), JobRoute(second.tasks, 1 - share))
        jobs.append(JobType(job.name, job.arrival_rate, routes, job.arrival_scv))
    return float(network_measures(JobNetwork(network.topics, tuple(jobs))).wip)


@pytest.mark.parametrize("scv", [0.3, 1.0, 4.0])
def test_shares_are_the_best_of_an_enumeration(scv: float) -> None:
    network = _two_ways(1.8, scv=scv)
    found = best_shares(Problem(network))
    best = min(_wip(network, share) for share in np.linspace(0, 1, POINTS + 1))
    assert found.feasible
    assert found.wip <= best + 1e-9
    assert found.wip == pytest.approx(best, rel=1e-3)
    assert found.wip == pytest.approx(float(network_measures(found.network).wip))


def test_two_markov_servers_share_by_square_roots() -> None:
    """min Σ λ_i/(μ_i − λ_i): μ_i − λ_i is in proportion to √μ_i (Tantawi and Towsley 1985)."""
    rate, speeds = 1.8, np.array([2.0, 1.0])
    spare = (speeds.sum() - rate) * np.sqrt(speeds) / np.sqrt(speeds).sum()
    found = best_shares(Problem(_two_ways(rate)))
    assert found.shares[0] == pytest.approx((speeds - spare) / rate, abs=1e-5)


def test_slow_way_is_not_taken_while_the_fast_one_is_idle() -> None:
    found = best_shares(Problem(_two_ways(0.2, speeds=(10.0, 1.0))))
    assert found.shares[0] == pytest.approx((1.0, 0.0), abs=1e-6)


def test_shares_of_two_jobs_are_the_best_of_an_enumeration() -> None:
    topics = (Topic("a", 3.0, 0.5), Topic("b", 2.0, 2.0), Topic("c", 2.5, 1.0))
    jobs = (
        JobType("x", 1.5, (JobRoute(chain("a", "c"), 0.5), JobRoute(chain("b"), 0.5)), 0.4),
        JobType("y", 1.0, (JobRoute(chain("b", "c"), 0.5), JobRoute(chain("a"), 0.5)), 1.5),
    )
    network = JobNetwork(topics, jobs)
    found = best_shares(Problem(network))
    grid = np.linspace(0, 1, 41)
    best = min(_wip(network, one, other) for one in grid for other in grid)
    assert found.wip <= best + 1e-9
    assert found.wip == pytest.approx(best, rel=5e-3)


def test_start_that_is_unstable_does_not_hinder() -> None:
    network = _two_ways(2.5)
    assert np.isinf(_wip(network, 0.5))
    found = best_shares(Problem(network))
    assert found.feasible
    assert found.wip == pytest.approx(
        min(_wip(network, share) for share in np.linspace(0, 1, 2001)), rel=1e-3
    )


def test_overload_by_every_way_names_the_topics() -> None:
    found = best_shares(Problem(_two_ways(3.5)))
    assert not found.feasible
    assert np.isinf(found.wip)
    assert {each.topic for each in found.overloaded} == {"a", "b"}


def test_plan_with_routes_is_no_worse_than_without() -> None:
    network = _two_ways(6.0)
    problem = Problem(network)
    fixed = planned(PlanSpec(problem, Goal(budget=6), 1.0))
    moved = planned(PlanSpec(problem, Goal(budget=6, optimise_routes=True), 1.0))
    assert moved.plan.wip < fixed.plan.wip
    assert moved.plan.cost <= 6
    assert float(network_measures(moved.network).wip) == pytest.approx(moved.plan.wip)
