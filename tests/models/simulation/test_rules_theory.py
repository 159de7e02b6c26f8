"""Stations with rules against theory and exact chains: figures lie in their 99 % intervals."""

import itertools
import math
from collections.abc import Iterable

import pytest

from dovemq.models.analytic import mmck
from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Exponential,
    LogNormal,
    by_moments,
    moments,
)
from dovemq.models.jobs import JobNetwork, JobRoute, chain, timed_job, timed_topic
from dovemq.models.simulation import simulate_network
from dovemq.models.topic_rules import TopicRules
from tests.models.chains import birth_death, stationary
from tests.models.simulation import theory
from tests.models.simulation.stations import RUN, by_class, single

SHARED = TopicRules(discipline="ps")
URGENT_FIRST = TopicRules(discipline="preemptive")


@pytest.mark.parametrize(
    "service", [Exponential(1.0), Deterministic(1.0), by_moments(1.0, 4.0), LogNormal(1.0, 2.0)]
)
def test_shared_server_takes_the_time_of_mm1_for_any_service(service: Distribution) -> None:
    """M/G/1-PS: E[T] = E[S]/(1 − ρ), whatever the distribution (Kleinrock 1976, §4.4)."""
    found = simulate_network(single(service, Exponential(1 / 0.7), rules=SHARED), RUN)
    assert found.sojourn.holds(1.0 / 0.3)
    assert found.stations["only"].busy.holds(0.7)


def test_several_shared_servers_hold_as_many_tasks_as_mmc() -> None:
    found = simulate_network(single(by_moments(1.0, 3.0), Exponential(1 / 2.1), 3, SHARED), RUN)
    assert found.sojourn.holds(theory.wait_mmc(2.1, 1.0, 3) + 1.0)


def test_classes_that_share_a_server_are_slowed_down_alike() -> None:
    services: list[Distribution] = [Exponential(0.5), Deterministic(2.0)]
    found = simulate_network(
        by_class([Exponential(2.0), Exponential(5.0)], services, 1, SHARED), RUN
    )
    assert found.sojourn_of["0"].holds(0.5 / 0.35)
    assert found.sojourn_of["1"].holds(2.0 / 0.35)


def test_urgent_classes_interrupt_the_others_as_mg1_preemptive_resume_says() -> None:
    """T = E[S]/(1 − σ') + R/((1 − σ')(1 − σ)), σ' without the own class (Kleinrock 1976, §3.5)."""
    services: list[Distribution] = [Deterministic(0.5), by_moments(1.0, 3.0), Exponential(0.8)]
    rates = [0.5, 0.3, 0.2]
    arrivals = [Exponential(1 / rate) for rate in rates]
    found = simulate_network(by_class(list(arrivals), services, 1, URGENT_FIRST), RUN)
    loads = [rate * each.mean for rate, each in zip(rates, services, strict=True)]
    until = [0.0, *itertools.accumulate(loads)]
    for place, service in enumerate(services):
        pairs = list(zip(rates, services, strict=True))[: place + 1]
        residual = sum(rate * moments(each)[1] / 2 for rate, each in pairs)
        spare, after = 1 - until[place], 1 - until[place + 1]
        assert found.sojourn_of[str(place)].holds(service.mean / spare + residual / (spare * after))


def test_urgent_class_on_several_servers_does_not_see_the_others() -> None:
    arrivals = [Exponential(1 / 1.2), Exponential(1 / 1.0)]
    services: list[Distribution] = [Exponential(1.0), Exponential(1.0)]
    found = simulate_network(by_class(list(arrivals), services, 3, URGENT_FIRST), RUN)
    assert found.sojourn_of["0"].holds(theory.wait_mmc(1.2, 1.0, 3) + 1.0)
    assert found.sojourn.holds(theory.wait_mmc(2.2, 1.0, 3) + 1.0)


@pytest.mark.parametrize(("servers", "room", "rate"), [(1, 1, 0.8), (2, 5, 1.7), (3, 8, 4.5)])
def test_tasks_without_room_are_lost_as_mmck_says(servers: int, room: int, rate: float) -> None:
    found = simulate_network(
        single(Exponential(1.0), Exponential(1 / rate), servers, TopicRules(room=room)), RUN
    )
    exact = mmck(rate, 1.0, servers, room)
    assert found.lost_of["job"].holds(float(exact.blocking_probability))
    assert found.stations["only"].refused.holds(float(exact.blocking_probability))
    assert found.sojourn.holds(float(exact.sojourn_time))
    assert found.unstable == ()


@pytest.mark.parametrize(("rate", "servers", "patience"), [(2.0, 3, 1.0), (5.0, 3, 2.0)])
def test_impatient_tasks_leave_as_erlang_a_says(rate: float, servers: int, patience: float) -> None:
    """M/M/c + M (Palm 1957) by its birth-death chain; also beyond the load of the servers."""
    rules = TopicRules(patience=Exponential(patience))
    found = simulate_network(single(Exponential(1.0), Exponential(1 / rate), servers, rules), RUN)
    chances = birth_death(
        lambda _: rate, lambda n: min(n, servers) + max(n - servers, 0) / patience, 200
    )
    line = sum(chance * max(n - servers, 0) for n, chance in enumerate(chances))
    assert found.stations["only"].waiting.holds(line)
    assert found.stations["only"].abandoned.holds(line / patience / rate)
    assert found.lost_of["job"].holds(line / patience / rate)
    assert found.unstable == ()


def test_refused_tasks_that_try_again_are_the_retrial_queue() -> None:
    """M/M/1 with retrials of each task at the rate 0.5 (Falin and Templeton 1997) as a chain."""
    rules = TopicRules(room=1, retry=Exponential(2.0))
    found = simulate_network(single(Exponential(1.0), Exponential(1 / 0.6), 1, rules), RUN)

    def moves(state: tuple[int, int]) -> Iterable[tuple[tuple[int, int], float]]:
        busy, orbit = state
        if busy:
            yield (0, orbit), 1.0
            if orbit < 150:
                yield (1, orbit + 1), 0.6
        else:
            yield (1, orbit), 0.6
            if orbit:
                yield (1, orbit - 1), 0.5 * orbit

    chances = stationary((0, 0), moves)
    orbit = math.fsum(chance * state[1] for state, chance in chances.items())
    assert found.stations["only"].orbit.holds(orbit)
    assert found.sojourn.holds((orbit + 0.6) / 0.6)
    assert found.lost_of["job"].mean == 0.0


def test_tasks_that_seldom_try_again_are_lost_after_their_tries() -> None:
    """Nothing is served while the only server holds one task for ever."""
    rules = TopicRules(room=1, retry=Exponential(0.1), retry_share=0.75)
    found = simulate_network(single(Deterministic(1e9), Exponential(1.0), 1, rules), RUN)
    assert found.stations["only"].refused.holds(1 / 0.25)


def test_full_station_blocks_the_server_before_it() -> None:
    """A tandem of two M/M/1 with room for 2 behind, blocking after service, as a chain."""
    stations = (
        timed_topic("first", Exponential(1 / 1.4)),
        timed_topic("second", Exponential(1.0), rules=TopicRules(room=2, full="blocked")),
    )
    job = timed_job("job", Exponential(1 / 0.6), JobRoute(chain("first", "second")))
    found = simulate_network(JobNetwork(stations, (job,)), RUN)

    def moves(state: tuple[int, int, int]) -> Iterable[tuple[tuple[int, int, int], float]]:
        first, second, blocked = state
        if first < 120:
            yield (first + 1, second, blocked), 0.6
        if first and not blocked:
            yield ((first, second, 1) if second == 2 else (first - 1, second + 1, 0)), 1.4
        if second:
            yield ((first - 1, 2, 0) if blocked else (first, second - 1, 0)), 1.0

    chances = stationary((0, 0, 0), moves)
    present = math.fsum(chance * (one + two) for (one, two, _), chance in chances.items())
    blocked = math.fsum(chance * each for (_, _, each), chance in chances.items())
    assert found.in_system.holds(present)
    assert found.stations["first"].blocked.holds(blocked)
    assert found.stations["first"].busy.holds(0.6 / 1.4)
    assert found.lost_of["job"].mean == 0.0
