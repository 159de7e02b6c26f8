"""Closed networks: exact methods against each other, chains and a book; the approximate one."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dovemq.models.analytic.circulation import ClosedMeasures
from dovemq.models.analytic.convolution import convolution
from dovemq.models.analytic.mva import mva
from dovemq.models.analytic.schweitzer import schweitzer
from dovemq.models.closed import ClosedClass, ClosedNetwork, ClosedStation, StationKind
from dovemq.models.errors import ModelError, ModelSpecInvalid, TooLarge
from tests.models.chains import stationary

RANDOM_SETS = 200
UNKNOWN: Any = "random"


def _network(
    populations: tuple[int, ...], *stations: tuple[StationKind, int, tuple[float, ...], Any]
) -> ClosedNetwork:
    """Stations are (kind, servers, service times by class, speeds)."""
    made = [
        ClosedStation(str(place), times, (), kind, servers, speeds)
        for place, (kind, servers, times, speeds) in enumerate(stations)
    ]
    classes = [ClosedClass(str(place), people) for place, people in enumerate(populations)]
    return ClosedNetwork(tuple(made), tuple(classes))


def _chain(network: ClosedNetwork) -> tuple[np.ndarray, np.ndarray]:
    """Throughputs and numbers of a cycle through all stations that share their speed."""
    stations, classes = network.stations, len(network.classes)

    def moves(state: tuple[tuple[int, ...], ...]) -> Iterator[tuple[Any, float]]:
        for place, present in enumerate(state):
            total = sum(present)
            for each in range(classes):
                if not present[each]:
                    continue
                speed = float(stations[place].speed(np.asarray(float(total))))
                rate = speed * present[each] / total / stations[place].service_times[each]
                other = [list(row) for row in state]
                other[place][each] -= 1
                other[(place + 1) % len(state)][each] += 1
                yield tuple(map(tuple, other)), rate

    first = [[0] * classes for _ in stations]
    first[0] = [each.population for each in network.classes]
    chances = stationary(tuple(map(tuple, first)), moves)
    numbers = np.zeros((len(stations), classes))
    throughput = np.zeros(classes)
    for state, chance in chances.items():
        numbers += chance * np.array(state)
        total = sum(state[0])
        if total:
            speed = float(stations[0].speed(np.asarray(float(total))))
            times = np.array(stations[0].service_times)
            throughput += chance * speed * np.array(state[0]) / total / times
    return throughput, numbers


def _random_network(rng: np.random.Generator, *, constant: bool, customers: int) -> ClosedNetwork:
    classes = int(rng.integers(1, 4))
    populations = tuple(int(each) for each in rng.integers(1, customers // classes + 1, classes))
    stations: list[tuple[StationKind, int, tuple[float, ...], Any]] = []
    for _ in range(int(rng.integers(2, 4))):
        times = tuple(float(each) for each in np.exp(rng.normal(0.0, 1.0, classes)))
        kind = str(rng.choice(["ps", "delay", "fcfs"]))
        if kind == "delay":
            stations.append(("delay", 1, times, ()))
            continue
        if kind == "fcfs":
            times = (times[0],) * classes
        speeds = tuple(float(each) for each in rng.uniform(0.3, 3.0, 3))
        servers = 1 if constant else int(rng.integers(1, 4))
        varying = not constant and servers == 1
        made: StationKind = "ps" if kind == "ps" else "fcfs"
        stations.append((made, servers, times, speeds if varying else ()))
    return _network(populations, *stations)


def test_recursion_equals_convolution_on_random_networks() -> None:
    rng = np.random.default_rng(20)
    for _ in range(RANDOM_SETS):
        network = _random_network(rng, constant=True, customers=24)
        one, other = mva(network), convolution(network)
        assert one.throughput == pytest.approx(other.throughput, rel=1e-10)
        assert one.number == pytest.approx(other.number, rel=1e-9, abs=1e-12)
        assert one.utilisation == pytest.approx(other.utilisation, rel=1e-9, nan_ok=True)


def test_load_dependent_networks_equal_their_chains() -> None:
    rng = np.random.default_rng(21)
    for _ in range(RANDOM_SETS):
        network = _random_network(rng, constant=False, customers=6)
        throughput, numbers = _chain(network)
        found = convolution(network)
        assert found.throughput == pytest.approx(throughput, rel=1e-8)
        assert found.number == pytest.approx(numbers, rel=1e-8, abs=1e-10)


def test_machines_and_repairmen_have_the_figures_of_their_birth_death_chain() -> None:
    # Machine repair with 6 machines and 2 repairmen (Gross and Harris 1998, §2.7).
    network = _network((6,), ("delay", 1, (10.0,), ()), ("fcfs", 2, (3.0,), ()))
    found = convolution(network)
    weights = [1.0]
    for failed in range(1, 7):
        weights.append(weights[-1] * (7 - failed) / 10.0 / (min(failed, 2) / 3.0))
    chances = np.array(weights) / sum(weights)
    assert found.number[1, 0] == pytest.approx(chances @ np.arange(7))
    assert found.utilisation[1] == pytest.approx(chances @ np.minimum(np.arange(7), 2) / 2)


def test_central_server_has_the_values_of_buzen() -> None:
    # Two balanced stations with n customers: X = n/(n + 1) of a station's speed (Buzen 1973).
    for people in (1, 3, 10, 1_000):
        found = mva(_network((people,), ("fcfs", 1, (0.5,), ()), ("fcfs", 1, (0.5,), ())))
        assert found.throughput[0] == pytest.approx(2.0 * people / (people + 1))
        assert found.cycle_time[0] == pytest.approx((people + 1) / 2)


@pytest.mark.parametrize("method", [mva, convolution, schweitzer], ids=lambda each: each.__name__)
def test_numbers_add_up_to_populations(method: Any) -> None:
    network = _network(
        (7, 4, 0),
        ("delay", 1, (3.0, 1.0, 1.0), ()),
        ("ps", 1, (0.5, 1.5, 2.0), ()),
        ("fcfs", 1, (0.2, 0.2, 0.2), ()),
    )
    found: ClosedMeasures = method(network)
    assert found.number.sum(axis=0) == pytest.approx([7, 4, 0])
    assert found.throughput[2] == 0.0
    assert found.response_time + found.residence[0] == pytest.approx(found.cycle_time)


def test_many_servers_are_stable_near_saturation() -> None:
    # The recursion with load-dependent stations loses all digits here.
    found = convolution(_network((800,), ("delay", 1, (5.0,), ()), ("fcfs", 32, (1.0,), ())))
    assert found.throughput[0] == pytest.approx(32.0, rel=1e-12)
    assert found.utilisation[1] == pytest.approx(1.0, rel=1e-9)


def test_error_of_the_approximate_method_is_what_the_page_states() -> None:
    """docs/explanation/networks.md has the table of this grid."""
    worst = {1: 0.0, 2: 0.0}
    for servers, think, ratio, people in itertools.product(
        worst, (0.0, 2.0, 10.0, 50.0), (0.25, 0.5, 1.0), (1, 2, 3, 5, 10, 20, 50, 100)
    ):
        stations: list[Any] = [
            ("fcfs", servers, (1.0 * servers,), ()),
            ("fcfs", 1, (ratio,), ()),
        ]
        if think:
            stations.append(("delay", 1, (think,), ()))
        network = _network((people,), *stations)
        exact = convolution(network).throughput[0]
        error = abs(schweitzer(network).throughput[0] / exact - 1.0)
        worst[servers] = max(worst[servers], float(error))
    assert worst[1] < 0.066
    assert worst[2] < 0.195


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: _network((0,), ("fcfs", 1, (1.0,), ())), "nobody is in the network"),
        (lambda: _network((-1,), ("fcfs", 1, (1.0,), ())), "population is -1"),
        (lambda: _network((2,), ("fcfs", 1, (0.0,), ())), "takes no time"),
        (lambda: _network((2, 2), ("fcfs", 1, (1.0, 2.0), ())), "first come first served needs"),
        (lambda: _network((2, 2), ("ps", 1, (1.0,), ())), "1 numbers for 2 classes"),
        (lambda: _network((2,), ("delay", 2, (1.0,), ())), "nobody waits at a delay"),
        (lambda: _network((2,), ("fcfs", 2, (1.0,), (1.0, 2.0))), "exclude each other"),
        (lambda: _network((2,), ("fcfs", 1, (1.0,), (1.0, 0.0))), "speeds[1] is 0"),
        (lambda: _network((2,), (UNKNOWN, 1, (1.0,), ())), "kind is random"),
    ],
)
def test_wrong_network_is_refused_by_name(make: Any, reason: str) -> None:
    with pytest.raises(ModelError, match=reason.replace("[", r"\[")):
        make()


def test_what_is_too_large_for_an_exact_solution_names_the_approximate_one() -> None:
    one: tuple[StationKind, int, tuple[float, ...], Any] = ("fcfs", 1, (1.0,) * 4, ())
    with pytest.raises(TooLarge, match="population vectors: 13845841 is more than 2000000"):
        mva(_network((60, 60, 60, 60), one, one))
    with pytest.raises(TooLarge, match="use the approximate method, schweitzer"):
        mva(_network((1_000_000,), ("fcfs", 1, (1.0,), ())))
    with pytest.raises(TooLarge, match="additions"):
        convolution(_network((100_000,), ("fcfs", 2, (1.0,), ())))
    huge = schweitzer(_network((10**9,), ("delay", 1, (1.0,), ()), ("fcfs", 1, (0.5,), ())))
    assert huge.throughput[0] == pytest.approx(2.0, rel=1e-6)


def test_method_that_does_not_know_a_station_says_so() -> None:
    varying = _network((3,), ("fcfs", 1, (1.0,), (1.0, 1.5)))
    with pytest.raises(ModelSpecInvalid, match="knows one speed"):
        mva(varying)
    with pytest.raises(ModelSpecInvalid, match="no other speeds"):
        schweitzer(varying)
