"""GI/G/m and multi-class networks: exact cases, equations iterated, long runs with their error."""

import numpy as np
import pytest
from scipy import optimize

from dovemq.models.analytic import (
    ggm,
    mg1,
    mmc,
    network_headroom,
    network_measures,
    network_sensitivity,
)
from dovemq.models.analytic.completion import TimeMoments, completion, slowest
from dovemq.models.analytic.flows import flows
from dovemq.models.errors import ModelParameterInvalid, ModelSpecInvalid
from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, JobType, Topic, chain
from tests.models.chains import open_measures
from tests.models.workload import iterated_scvs, job_times, paper_network, random_network

ERROR_OF_A_CLASS = 0.12
"""The largest error of the decomposition against a long run that the docs state."""
ERROR_OF_A_JOIN = 0.05
ERROR_OF_A_DEVIATION = 0.15
"""Branches of one fork meet full topics together, which the deviation leaves out."""
ERROR_OF_CONSTANT_ARRIVALS = 0.07


def test_approximation_is_exact_where_theory_is() -> None:
    rates = np.array([0.2, 0.7, 0.95])
    assert ggm(rates, 1, 1, 0.4, 1).waiting == pytest.approx(mg1(rates, 1, 0.4).waiting)
    assert ggm(3 * rates, 1, 1, 1, 3).sojourn_time == pytest.approx(
        mmc(3 * rates, 1, 3).sojourn_time
    )


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
def test_approximations_of_constant_arrivals_have_their_known_error(load: float) -> None:
    """D/M/1: σ = exp(−(1 − σ)/ρ), W = σ/(1 − σ) of the service (Kleinrock 1975)."""
    root = optimize.brentq(lambda s: s - np.exp(-(1 - s) / load), 0, 1 - 1e-6)
    exact = root / (1 - root)
    plain = float(ggm(load, 0, 1, 1, 1).waiting_time)
    refined = float(ggm(load, 0, 1, 1, 1, "kraemer-langenbach-belz").waiting_time)
    assert plain > exact
    assert refined == pytest.approx(exact, rel=ERROR_OF_CONSTANT_ARRIVALS)


def test_unknown_approximation_is_refused() -> None:
    with pytest.raises(ModelParameterInvalid, match="approximation is magic"):
        ggm(1, 1, 2, 1, 1, "magic")


def test_network_of_markov_topics_is_a_jackson_network() -> None:
    topics = (Topic("a", 3.0, 1.0, 2), Topic("b", 2.0, 1.0, 2), Topic("c", 5.0, 1.0, 1))
    jobs = (
        JobType("x", 1.0, (JobRoute(chain("a", "b", "a")),)),
        JobType("y", 2.0, (JobRoute(chain("a", "c")),)),
    )
    found = network_measures(JobNetwork(topics, jobs))
    assert found.arrival_scvs == pytest.approx([1, 1, 1])
    exact = mmc([4, 1, 2], [3, 2, 5], [2, 2, 1])
    assert found.topics.number == pytest.approx(exact.number)
    assert found.response_time == pytest.approx(
        [
            2 * exact.sojourn_time[0] + exact.sojourn_time[1],
            exact.sojourn_time[0] + exact.sojourn_time[2],
        ]
    )
    routes = [[0.0, 0.25, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    network = open_measures([3.0, 0, 0], routes, [3, 2, 5], [2, 2, 1])
    assert found.wip == pytest.approx(network.number)


@pytest.mark.parametrize("seed", range(12))
def test_flows_equal_the_equations_applied_over_and_over(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    consumers = [int(count) for count in rng.integers(1, 6, len(network.topics))]
    visited = flows(network).rates > 0
    found = flows(network).arrival_scvs(np.array(consumers, float))
    with np.errstate(invalid="ignore", divide="ignore"):
        assert found[visited] == pytest.approx(iterated_scvs(network, consumers)[visited])


def test_routes_by_chance_thin_the_stream() -> None:
    topics = (Topic("a", 9.0), Topic("b", 9.0))
    routes = (JobRoute(chain("a"), 0.25), JobRoute(chain("b"), 0.75))
    found = flows(JobNetwork(topics, (JobType("j", 4.0, routes, 3.0),)))
    assert found.rates == pytest.approx([1, 3])
    assert found.arrival_scvs(np.ones(2)) == pytest.approx([0.25 * 3 + 0.75, 0.75 * 3 + 0.25])


def test_decomposition_is_near_a_long_run_for_each_class() -> None:
    network = paper_network(consumers=(2, 2, 1, 4))
    found = network_measures(network)
    times = job_times(network, 30_000, np.random.default_rng(2))
    for place, job in enumerate(network.jobs):
        mean = float(np.mean(times[job.name]))
        assert float(found.response_time[place]) == pytest.approx(mean, rel=ERROR_OF_A_CLASS)


def test_fork_is_near_a_long_run() -> None:
    topics = tuple(Topic(name, 2.0, 0.5, 2) for name in "abc")
    tasks = (
        JobTask("s", "a"),
        JobTask("l", "b", ("s",)),
        JobTask("r", "c", ("s",)),
        JobTask("e", "a", ("l", "r")),
    )
    network = JobNetwork(topics, (JobType("f", 1.2, (JobRoute(tasks),), 1.0),))
    times = job_times(network, 20_000, np.random.default_rng(5))
    found = network_measures(network)
    assert float(found.response_time[0]) == pytest.approx(
        float(np.mean(times["f"])), rel=ERROR_OF_A_JOIN
    )
    assert float(found.response_time_deviation[0]) == pytest.approx(
        float(np.std(times["f"])), rel=ERROR_OF_A_DEVIATION
    )


def test_slowest_of_exponential_branches_is_the_harmonic_sum() -> None:
    one = TimeMoments(np.array(2.0), np.array(4.0))
    found = slowest([one, one, one])
    assert found.mean == pytest.approx(2 * (1 + 1 / 2 + 1 / 3), rel=1e-6)
    assert found.variance == pytest.approx(4 * (1 + 1 / 4 + 1 / 9), rel=1e-5)


def test_what_branches_share_is_counted_once() -> None:
    """a → (b, c) → d: the time of a adds to the slowest of b and c, and is no chance between."""
    spans = {
        name: TimeMoments(np.array(mean), np.array(mean**2))
        for name, mean in (("a", 50.0), ("b", 1.0), ("c", 2.0), ("d", 3.0))
    }
    tasks = (
        JobTask("a", "a"),
        JobTask("b", "b", ("a",)),
        JobTask("c", "c", ("a",)),
        JobTask("d", "d", ("b", "c")),
    )
    assert completion(tasks, spans).mean == pytest.approx(
        50 + (1 + 2 - 1 / (1 + 0.5)) + 3, rel=1e-6
    )


def test_two_last_tasks_end_a_job_when_both_have_ended() -> None:
    span = TimeMoments(np.array(1.0), np.array(1.0))
    tasks = (JobTask("a", "t"), JobTask("b", "t"))
    assert completion(tasks, {"t": span}).mean == pytest.approx(1.5, rel=1e-6)


def test_headroom_is_where_the_target_is_met_exactly() -> None:
    network = paper_network(consumers=(2, 2, 1, 4))
    room = network_headroom(network, 1.0)
    assert bool(room.met)
    at_most = network_measures(network, factor=room.factor)
    assert at_most.time_per_job == pytest.approx(1.0, rel=1e-9)
    missed = network_headroom(network, 0.6)
    assert not bool(missed.met)
    assert float(missed.factor) < 1


def test_sensitivity_shows_where_a_consumer_helps_most() -> None:
    found = network_sensitivity(paper_network(consumers=(2, 1, 1, 4)))
    assert int(np.argmin(found.per_consumer)) == 1
    assert (found.per_arrival_rate > 0).all()
    assert (found.per_service_rate < 0).all()


def test_overloaded_network_is_unstable_and_never_a_number() -> None:
    found = network_measures(paper_network())
    assert not bool(found.stable)
    assert list(found.topics.stable) == [False, True, True, False]
    assert np.isinf(found.wip)
    assert np.isinf(found.response_time).all()
    assert np.isnan(network_sensitivity(paper_network()).per_arrival_rate).all()


@pytest.mark.parametrize(
    ("tasks", "reason"),
    [
        ((JobTask("a", "x"),), "no topic is named 'x'"),
        ((JobTask("a", "A", ("b",)),), "comes after 'b'"),
        ((JobTask("a", "A", ("b",)), JobTask("b", "A", ("a",))), "in a circle"),
        ((JobTask("a", "A"), JobTask("a", "A")), "must differ"),
        ((), "0 were given"),
    ],
)
def test_impossible_job_is_refused_with_its_place(tasks: tuple[JobTask, ...], reason: str) -> None:
    with pytest.raises(ModelSpecInvalid, match=reason) as refused:
        JobNetwork((Topic("A", 1.0),), (JobType("j", 1.0, (JobRoute(tasks),)),))
    assert "job j" in str(refused.value)


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        (Topic("A", -1.0), "topic A: service_rate"),
        (Topic("A", 1.0, float("nan")), "topic A: service_scv"),
        (Topic("A", 1.0, 1.0, 0), "topic A: consumers"),
    ],
)
def test_impossible_topic_is_refused_by_name(topic: Topic, name: str) -> None:
    with pytest.raises(ModelParameterInvalid, match=name):
        JobNetwork((topic,), (JobType("j", 0.1, (JobRoute(chain("A")),)),))


def test_shares_of_a_job_must_add_up() -> None:
    routes = (JobRoute(chain("A"), 0.5), JobRoute(chain("A"), 0.4))
    with pytest.raises(ModelParameterInvalid, match=r"job j: sum of the shares is 0\.9"):
        JobNetwork((Topic("A", 1.0),), (JobType("j", 0.1, routes),))
