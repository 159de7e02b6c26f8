"""Open networks with random routing: chains, sums of stages, and long simulations."""

import tomllib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dovemq.models.analytic import mmc
from dovemq.models.analytic.open import OpenNetwork, OpenStation, solve_open
from dovemq.models.analytic.varying import varying_speed
from dovemq.models.errors import ModelError
from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic, chain
from dovemq.models.network_specs import read_closed, read_open
from dovemq.models.simulation import SimulationRun, simulate_network
from tests.models.chains import birth_death, stationary

RANDOM_SETS = 200


def test_station_of_varying_speed_equals_its_chain() -> None:
    rng = np.random.default_rng(3)
    for _ in range(RANDOM_SETS):
        speeds = rng.uniform(0.2, 4.0, int(rng.integers(1, 6)))
        rate = float(rng.uniform(0.05, 0.9) * speeds[-1])
        listed = np.concatenate(([0.0], speeds))

        def down(count: int, listed: Any = listed) -> float:
            return float(listed[min(count, len(listed) - 1)])

        chances = birth_death(lambda _, rate=rate: rate, down, 600)  # type: ignore[misc]
        found = varying_speed(rate, speeds)
        assert float(found.number) == pytest.approx(chances @ np.arange(601), rel=1e-9)
        assert float(found.utilisation) == pytest.approx(1.0 - chances[0], rel=1e-9)


@pytest.mark.parametrize("servers", [1, 3, 20])
def test_several_servers_are_a_station_of_varying_speed(servers: int) -> None:
    rates = [2.0 * count for count in range(1, servers + 1)]
    known = mmc(1.7 * servers, 2.0, servers)
    assert float(varying_speed(1.7 * servers, rates).number) == pytest.approx(float(known.number))


def test_overload_is_judged_by_the_last_rate() -> None:
    assert not bool(varying_speed(3.0, [9.0, 3.0]).stable)
    assert bool(varying_speed(3.0, [1.0, 3.1]).stable)


def test_network_with_varying_speed_and_feedback_equals_its_chain() -> None:
    network = OpenNetwork(
        (
            OpenStation("a", 3.0, 2, (), 1.0, {"b": 0.6}),
            OpenStation("b", None, 1, (1.0, 1.8, 3.0), 0.3, {"a": 0.25}),
        )
    )
    most = 45

    def moves(state: tuple[int, int]) -> Iterator[tuple[Any, float]]:
        one, two = state
        if one < most:
            yield (one + 1, two), 1.0
        if two < most:
            yield (one, two + 1), 0.3
        if one:
            speed = 3.0 * min(one, 2)
            yield (one - 1, two), 0.4 * speed
            if two < most:
                yield (one - 1, two + 1), 0.6 * speed
        if two:
            speed = (1.0, 1.8, 3.0)[min(two, 3) - 1]
            yield (one, two - 1), 0.75 * speed
            if one < most:
                yield (one + 1, two - 1), 0.25 * speed

    chances = stationary((0, 0), moves)
    found = solve_open(network)
    for place in (0, 1):
        mean = sum(chance * state[place] for state, chance in chances.items())
        assert float(found.stations[place].number) == pytest.approx(mean, rel=1e-6)
    assert found.sojourn_time == pytest.approx(found.number / 1.3)


def test_tandem_of_single_servers_has_a_sum_of_exponential_times() -> None:
    # Sojourns in tandem are independent and exponential (Reich 1963).
    network = OpenNetwork((OpenStation("a", 2.0, 1, (), 1.0, {"b": 1.0}), OpenStation("b", 3.0)))
    found = solve_open(network)
    assert found.exact_quantiles

    def tail(time: float) -> float:
        return float(2 * np.exp(-time) - np.exp(-2 * time))

    for level in (0.5, 0.95, 0.999):
        exact = optimize.brentq(lambda time: tail(time) - (1 - level), 0, 50)  # noqa: B023
        assert found.sojourn_quantile(level) == pytest.approx(exact, rel=1e-5)


def test_one_station_keeps_its_own_quantile() -> None:
    found = solve_open(OpenNetwork((OpenStation("a", 1.0, 3, (), 2.5),)))
    known = float(mmc(2.5, 1.0, 3).sojourn_quantile(0.95))
    assert found.sojourn_quantile(0.95) == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize("after", [{"a": 0.2}, {"b": 0.5}, {"b": 1.0, "c": 0.0}])
def test_quantiles_are_exact_only_on_one_path(after: dict[str, float]) -> None:
    network = OpenNetwork(
        (OpenStation("a", 4.0, 2, (), 1.0, after), OpenStation("b", 4.0, 2), OpenStation("c", 4.0))
    )
    assert solve_open(network).exact_quantiles == (after.get("b") == 1.0)


def test_quantile_through_several_servers_is_that_of_a_long_simulation() -> None:
    network = OpenNetwork((OpenStation("a", 1.0, 4, (), 3.2, {"b": 1.0}), OpenStation("b", 2.0, 2)))
    job = JobType("message", 3.2, (JobRoute(chain("a", "b")),))
    topics = (Topic("a", 1.0, consumers=4), Topic("b", 2.0, consumers=2))
    run = SimulationRun(60_000.0, warm_up=1_000.0, replications=8, seed=4, confidence=0.99)
    simulated = simulate_network(JobNetwork(topics, (job,)), run).quantile(0.95)
    found = solve_open(network)
    assert found.exact_quantiles
    assert simulated.low <= found.sojourn_quantile(0.95) <= simulated.high


def test_unstable_network_has_no_quantile() -> None:
    found = solve_open(OpenNetwork((OpenStation("a", 1.0, 1, (), 1.0),)))
    assert not found.stable
    assert found.sojourn_quantile(0.95) == np.inf


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("stations.a = {service_rate = 1, rates = [1], arrival_rate = 1}", "one of service_rate"),
        ("stations.a = {arrival_rate = 1}", "one of service_rate and rates"),
        ("stations.a = {rates = [1], servers = 2, arrival_rate = 1}", "leave out servers"),
        ("stations.a = {service_rate = 1}", "nothing arrives"),
        ("stations.a = {service_rate = 1, arrival_rate = 1, next = {b = 1}}", "no station is"),
        ("stations.a = {service_rate = 1, arrival_rate = 1, next = {a = 1}}", "never leave"),
        (
            "stations.a = {service_rate = 1, next = {a = 0.7, b = 0.7}}",
            "station a: next: the shares",
        ),
        ("stations.a = {service_rate = 1, next = {a = -1}}", "station a: next"),
        ("stations.a = {service_rate = 0, arrival_rate = 1}", "station a: service_rate is 0"),
        ("stations.a = {service_rate = 1, arrival_rate = -1}", "arrival_rate"),
        ("stations.a = {service_rate = 1, speed = 1}", "stations.a.speed: unknown key"),
        ("classes.x.population = 1\nstations.a.service_rate = 1", "an open network has none"),
        ("stations = 3", "stations: tables are needed"),
    ],
)
def test_mistake_in_a_file_of_an_open_network_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        solve_open(read_open(tomllib.loads(text)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("stations.a.service_time = 1", "classes: missing"),
        ("classes.x.population = 1\nstations.a.service_time = {y = 1}", "no class is named 'y'"),
        ("classes.x.population = 1.5\nstations.a.service_time = 1", "classes.x.population"),
        ("classes.x.population = 1\nstations.a.service_time = -1", "a finite number from 0"),
        ("classes.x.population = 1\nstations.a = {service_time = 1, kind = 'lifo'}", "kind"),
        ("classes.x.population = 1\nstations = {}", "1 to 1,000 are needed"),
    ],
)
def test_mistake_in_a_file_of_a_closed_network_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        read_closed(tomllib.loads(text))


def test_tables_by_class_leave_out_classes_that_do_not_come() -> None:
    text = """
    classes = { x.population = 2, y.population = 1 }
    stations.a = { service_time = 0.5, visits = { x = 2, y = 1 } }
    stations.b = { service_time = { x = 0.1 } }
    """
    network = read_closed(tomllib.loads(text))
    assert network.demands == pytest.approx(np.array([[1.0, 0.5], [0.1, 0.0]]))
