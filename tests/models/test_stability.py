"""Full load is unstable in every model, whatever the rounding of decimal fractions."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.cli import main
from dovemq.models.analytic import ggm, mg1, mmc, network_measures, priority_mmc, vma
from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic, chain
from dovemq.models.planning import Problem, min_cost, min_time
from dovemq.models.planning.partitioned import PartitionedQueue
from dovemq.models.stability import is_stable, servers_from
from dovemq.models.vma.parameters import VmaParameters

SPEEDS = st.integers(1, 999).map(lambda count: Fraction(count, 100))
SERVERS = st.integers(1, 60)


@settings(deadline=None)
@given(SPEEDS, SERVERS)
def test_full_load_in_decimal_fractions_is_unstable_in_every_form(
    speed: Fraction, servers: int
) -> None:
    rate, one = float(speed * servers), float(speed)
    assert not mmc(rate, one, servers).stable
    assert not ggm(rate, 0.5, one, 2.0, servers).stable
    assert not PartitionedQueue(rate, one, servers).stable
    assert VmaParameters(rate, one, 2 * one, servers, servers).overloaded == ("sender",)
    halves = priority_mmc([rate / 3, rate / 3 * 2], one, servers)
    assert list(halves.stable) == [True, False]
    assert not mg1(rate, rate, 0.5).stable


@settings(deadline=None)
@given(SPEEDS, st.integers(1, 20), st.floats(0.05, 1.0))
def test_full_load_of_the_broker_is_unstable(
    speed: Fraction, threads: int, reliability: float
) -> None:
    rate, one = float(speed * threads) * reliability, float(speed)
    found = vma(VmaParameters(rate, 2 * one, one, threads, threads, reliability=reliability))
    assert not found.stable
    assert np.isinf(found.delivery_time)


@settings(deadline=None)
@given(SPEEDS, SERVERS, st.floats(1e-9, 0.5))
def test_load_below_the_servers_by_more_than_rounding_is_stable(
    speed: Fraction, servers: int, spare: float
) -> None:
    rate = float(speed * servers) * (1.0 - spare)
    assert mmc(rate, float(speed), servers).stable
    assert servers_from(servers * (1.0 - spare)) <= servers


@settings(deadline=None)
@given(SPEEDS, st.integers(1, 8), st.integers(1, 5))
def test_plan_never_ends_at_full_load(speed: Fraction, servers: int, visits: int) -> None:
    job = JobType("j", float(speed * servers / visits), (JobRoute(chain(*["A"] * visits)),))
    problem = Problem(JobNetwork((Topic("A", float(speed)),), (job,)))
    plan = min_time(problem, servers - 1)
    assert not plan.feasible
    assert plan.shortages[0].missing == servers
    reached = min_cost(problem, 1e6)
    assert reached.feasible
    assert reached.consumers[0] > servers
    network = JobNetwork((Topic("A", float(speed), consumers=servers),), (job,))
    assert network.unstable == ("A",)
    assert not network_measures(network).stable


def test_stability_looks_at_each_element() -> None:
    assert list(is_stable([0.1 + 0.2, 0.3 - 1e-9], 0.3)) == [False, True]


def test_station_at_full_load_is_reported_unstable(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "model queue --arrival-rate 0.3 --service-rate 0.1 --servers 3 --json"
    assert main(asked.split()) == 1
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert row["stable"] is False
    assert row["sojourn_time"] is None
