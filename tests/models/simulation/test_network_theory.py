"""The kernel of networks against theory: each figure lies in its 99 % interval at fixed seeds."""

import pytest

from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Pareto,
    Weibull,
    by_moments,
)
from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, chain, timed_job, timed_topic
from dovemq.models.simulation import SimulationRun, simulate_network
from tests.models.simulation import theory

RUN = SimulationRun(horizon=20_000, warm_up=200, replications=10, seed=2, confidence=0.99)


def single(service: Distribution, rate: float, servers: int) -> JobNetwork:
    station = timed_topic("only", service, servers)
    return JobNetwork(
        (station,), (timed_job("job", Exponential(1 / rate), JobRoute(chain("only"))),)
    )


@pytest.mark.parametrize(("rate", "servers"), [(0.5, 1), (0.85, 1), (2.1, 3), (9.0, 12)])
def test_single_station_is_an_mmc_queue(rate: float, servers: int) -> None:
    found = simulate_network(single(Exponential(1.0), rate, servers), RUN)
    wait = theory.wait_mmc(rate, 1.0, servers)
    station = found.stations["only"]
    assert found.sojourn.holds(wait + 1)
    assert station.wait.holds(wait)
    assert station.waiting.holds(rate * wait)
    assert station.busy.holds(rate / servers)
    assert station.throughput.holds(rate)


@pytest.mark.parametrize(
    "service",
    [
        Deterministic(0.7),
        Erlang(0.7, 4),
        Erlang(0.7, 40),
        Gamma(0.7, 0.5),
        HyperExponential((0.25, 0.75), (1.6, 0.4)),
        LogNormal(0.7, 1.5),
        Weibull(0.7, 0.8),
        Pareto(0.7, 4.0),
        Empirical((0.1, 0.2, 0.9, 1.2)),
    ],
    ids=repr,
)
def test_single_server_is_an_mg1_queue(service: Distribution) -> None:
    found = simulate_network(single(service, 1.0, 1), RUN)
    assert found.sojourn.holds(theory.wait_mg1(1.0, service.mean, service.scv) + service.mean)


def test_single_server_fed_by_erlang_times_is_a_gim1_queue() -> None:
    """The root r = A*(1 − r), A* the transform of the times between arrivals, by iteration."""
    station = timed_topic("only", Exponential(1.0), 1)
    job = timed_job("job", Erlang(1 / 0.8, 2), JobRoute(chain("only")))
    found = simulate_network(JobNetwork((station,), (job,)), RUN)
    root = 0.5
    for _ in range(200):
        root = (1.6 / (1.6 + 1 - root)) ** 2
    assert found.sojourn.holds(1 / (1 - root))


def test_tandem_of_exponential_stations_has_the_form_of_jackson() -> None:
    stations = (
        timed_topic("first", Exponential(0.5), 1),
        timed_topic("second", Exponential(2.0), 3),
        timed_topic("third", Exponential(1.0), 2),
    )
    job = timed_job("job", Exponential(1.0), JobRoute(chain("first", "second", "third")))
    found = simulate_network(JobNetwork(stations, (job,)), RUN)
    for topic in stations:
        wait = theory.wait_mmc(1.0, topic.service_rate, topic.consumers)
        assert found.stations[topic.name].wait.holds(wait)


def test_station_that_is_visited_twice_carries_both_visits() -> None:
    station = timed_topic("only", Exponential(1.0), 1)
    job = timed_job("job", Exponential(1 / 0.35), JobRoute(chain("only", "only")))
    found = simulate_network(JobNetwork((station,), (job,)), RUN)
    assert found.in_system.holds(0.7 / 0.3)


@pytest.mark.parametrize("rate", [0.3, 0.8])
def test_split_and_join_of_two_stations_takes_the_time_of_nelson_and_tantawi(rate: float) -> None:
    stations = (timed_topic("left", Exponential(1.0), 1), timed_topic("right", Exponential(1.0), 1))
    tasks = (JobTask("one", "left"), JobTask("other", "right"))
    found = simulate_network(
        JobNetwork(stations, (timed_job("job", Exponential(1 / rate), JobRoute(tasks)),)), RUN
    )
    assert found.sojourn.holds(theory.sojourn_fork_join(rate, 1.0))


def test_join_waits_for_the_longest_way() -> None:
    station = timed_topic("wide", Deterministic(1.0), 10_000)
    tasks = (
        JobTask("start", "wide"),
        JobTask("short", "wide", ("start",), Deterministic(2.0)),
        JobTask("long", "wide", ("start",), Deterministic(3.0)),
        JobTask("longer", "wide", ("long",), Deterministic(3.5)),
        JobTask("end", "wide", ("short", "longer"), Deterministic(0.25)),
    )
    found = simulate_network(
        JobNetwork((station,), (timed_job("job", Exponential(1.0), JobRoute(tasks)),)), RUN
    )
    assert found.sojourn.mean == pytest.approx(1 + 3 + 3.5 + 0.25)
    assert found.in_stations.holds(1 + 2 + 3 + 3.5 + 0.25)


@pytest.mark.parametrize("servers", [1, 3])
def test_job_types_wait_by_priority_as_cobham_says(servers: int) -> None:
    rates = {"soon": 0.3 * servers, "then": 0.2 * servers, "late": 0.3 * servers}
    jobs = tuple(
        timed_job(name, Exponential(1 / rate), JobRoute((JobTask("work", "only", priority=level),)))
        for level, (name, rate) in enumerate(rates.items())
    )
    found = simulate_network(
        JobNetwork((timed_topic("only", Exponential(1.0), servers),), jobs), RUN
    )
    waits = theory.waits_by_priority(list(rates.values()), 1.0, servers)
    for name, wait in zip(rates, waits, strict=True):
        assert found.sojourn_of[name].holds(wait + 1)


def test_paths_are_taken_by_their_shares() -> None:
    stations = (timed_topic("left", Exponential(1.0), 2), timed_topic("right", Exponential(1.0), 1))
    paths = (JobRoute((JobTask("work", "left"),), 0.7), JobRoute((JobTask("work", "right"),), 0.3))
    found = simulate_network(
        JobNetwork(stations, (timed_job("job", Exponential(1.0), *paths),)), RUN
    )
    assert found.stations["left"].throughput.holds(0.7)
    assert found.stations["left"].wait.holds(theory.wait_mmc(0.7, 1.0, 2))
    assert found.stations["right"].wait.holds(theory.wait_mmc(0.3, 1.0, 1))


def elastic() -> JobNetwork:
    """The case study of `elastic` with the consumers that its MinTime finds."""
    topics = {"A": (4.2, 0.33, 2), "B": (3.7, 0.5, 2), "C": (6.7, 0.4, 1), "D": (5.1, 0.5, 4)}
    stations = tuple(
        timed_topic(name, by_moments(1 / rate, scv), consumers)
        for name, (rate, scv, consumers) in topics.items()
    )
    types = {"ABD": (3.0, 0.33), "ADD": (3.5, 0.5), "CD": (3.0, 0.25)}
    jobs = tuple(
        timed_job(topics, by_moments(1 / rate, scv), JobRoute(chain(*topics)))
        for topics, (rate, scv) in types.items()
    )
    return JobNetwork(stations, jobs)


def test_work_in_progress_is_rate_times_sojourn_for_every_type() -> None:
    found = simulate_network(elastic(), RUN)
    for name in ("ABD", "ADD", "CD"):
        product = found.throughput_of[name].mean * found.sojourn_of[name].mean
        assert found.in_system_of[name].mean == pytest.approx(product, rel=2e-3)
    assert found.in_system.mean == pytest.approx(found.in_stations.mean)
    assert found.stations["D"].throughput.holds(3.0 + 2 * 3.5 + 3.0)
    assert found.stations["D"].busy.holds(13 / 5.1 / 4)
