"""Quantiles in networks: visits of closed ones, and open ones in which customers meet again."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from scipy import integrate, sparse, stats
from scipy.sparse import linalg

from dovemq.models.analytic.convolution import convolution
from dovemq.models.analytic.open import OpenNetwork, OpenStation, solve_open
from dovemq.models.closed import ClosedClass, ClosedNetwork, ClosedStation
from dovemq.models.errors import ModelError, TooLarge
from dovemq.models.simulation import simulate_network
from dovemq.models.simulation.lengths import TAIL_JOBS_MIN, run_for_network
from dovemq.models.simulation.open_network import REST_MAX, jobs_of
from tests.models.chains import birth_death

RANDOM_SETS = 200


def test_times_of_visits_have_the_means_of_the_network() -> None:
    # The means follow from all customers, the distributions from what an arrival finds.
    rng = np.random.default_rng(31)
    for _ in range(RANDOM_SETS):
        network = _network_of_visits(rng)
        found = convolution(network)
        for place, station in enumerate(network.stations):
            for kind, seen in enumerate(found.found[place]):
                if station.kind != "fcfs" or seen is None:
                    assert np.isnan(found.visit_quantile(0.9)[place, kind])
                    continue
                waited_for = np.maximum(np.arange(len(seen)) - station.servers + 1.0, 0.0)
                mean = (seen @ waited_for / station.servers + 1.0) / station.service_rate
                assert mean == pytest.approx(float(found.time_per_visit[place, kind]), rel=1e-9)


def _network_of_visits(rng: np.random.Generator) -> ClosedNetwork:
    classes = int(rng.integers(1, 3))
    time = float(rng.uniform(0.1, 2.0))
    visits = tuple(float(each) for each in rng.uniform(0.3, 3.0, classes))
    others = tuple(float(each) for each in rng.uniform(0.1, 2.0, classes))
    return ClosedNetwork(
        (
            ClosedStation("fcfs", (time,) * classes, visits, servers=int(rng.integers(1, 4))),
            ClosedStation("fast", (time,) * classes, speeds=(2.0, 2.0)),
            ClosedStation("ps", others, kind="ps", servers=int(rng.integers(1, 3))),
            ClosedStation("think", others, kind="delay"),
        ),
        tuple(
            ClosedClass(str(kind), int(rng.integers(0, 6)) + (not kind)) for kind in range(classes)
        ),
    )


def _returning(people: int, thinking: float, present: int) -> float:
    return (people - present) / thinking


@pytest.mark.parametrize("servers", [1, 2, 5])
def test_quantile_of_a_visit_is_that_of_the_chain_without_the_customer(servers: int) -> None:
    rng = np.random.default_rng(32 + servers)
    for _ in range(20):
        people, thinking = int(rng.integers(2, 15)), float(rng.uniform(0.5, 8.0))
        network = ClosedNetwork(
            (
                ClosedStation("think", (thinking,), kind="delay"),
                ClosedStation("work", (1.0,), servers=servers),
            ),
            (ClosedClass("all", people),),
        )
        chances = birth_death(
            partial(_returning, people - 1, thinking),
            lambda present: float(min(present, servers)),
            people - 1,
        )
        time = float(convolution(network).visit_quantile(0.95)[1, 0])
        waited_for = np.maximum(np.arange(people) - servers + 1, 0)
        # A service ends after the wait: P(Erlang + service > t), by its density.
        tails = [
            np.exp(-time)
            if stages == 0
            else integrate.quad(
                lambda at, stages=stages, until=time: (
                    stats.gamma.pdf(at, stages, scale=1 / servers) * np.exp(at - until)
                ),
                0.0,
                time,
            )[0]
            + stats.gamma.sf(time, stages, scale=1 / servers)
            for stages in waited_for
        ]
        assert chances @ np.array(tails) == pytest.approx(0.05, rel=1e-5)


def _feedback_tail(rate: float, again: float, time: float, most: int = 110) -> float:
    """P(sojourn > time) at M/M/1 of speed 1 whose customers return at once, by following one.

    It has `ahead` before it and `behind` after it; what leaves the front may join the end.
    """
    places = {
        state: place
        for place, state in enumerate(
            (ahead, behind) for ahead in range(most) for behind in range(most - ahead)
        )
    }

    def moves(ahead: int, behind: int) -> Iterator[tuple[tuple[int, int], float]]:
        yield (ahead, behind + 1), rate
        if ahead:
            yield (ahead - 1, behind), 1.0 - again
            yield (ahead - 1, behind + 1), again
        else:
            yield (behind, 0), again

    entries = [
        (place, places[to], speed)
        for state, place in places.items()
        for to, speed in moves(*state)
        if to in places and to != state
    ]
    rows, columns, speeds = (np.array(each) for each in zip(*entries, strict=True))
    size = len(places)
    matrix = sparse.csr_matrix((speeds, (rows, columns)), shape=(size, size))
    leaving = [rate * (sum(state) < most - 1) + 1.0 - again * (state == (0, 0)) for state in places]
    load = rate / (1.0 - again)
    first = np.zeros(size)
    for count in range(most):
        first[places[count, 0]] = (1.0 - load) * load**count
    flows = (matrix - sparse.diags(leaving)).T * time
    return float(linalg.expm_multiply(flows, first).sum())


def test_customers_that_return_are_simulated_as_the_followed_one() -> None:
    network = OpenNetwork((OpenStation("a", 1.0, 1, (), 0.42, {"a": 0.4}),))
    jobs = jobs_of(network)
    found = simulate_network(jobs, run_for_network(jobs, 20, TAIL_JOBS_MIN))
    for level in (0.9, 0.99):
        estimate = found.quantile(level)
        tails = [_feedback_tail(0.42, 0.4, time) for time in (estimate.low, estimate.high)]
        # An interval of 95 % may miss the truth, so it is widened to twice its width.
        spread = tails[0] - tails[1]
        assert tails[1] - spread / 2 < 1.0 - level < tails[0] + spread / 2
    # Independent visits make the far tail too short.
    assert _feedback_tail(0.42, 0.4, solve_open(network).sojourn_quantile(0.99)) > 0.02


def test_paths_have_the_visits_of_the_network() -> None:
    network = OpenNetwork(
        (
            OpenStation("a", 9.0, 2, (), 1.0, {"b": 0.5, "c": 0.2}),
            OpenStation("b", 9.0, 1, (), 0.5, {"a": 0.3}),
            OpenStation("c", 9.0, 1, (), 0.0, {"b": 1.0}),
        )
    )
    jobs, found = jobs_of(network), solve_open(network)
    for place, (name, load) in enumerate(jobs.loads().items()):
        known = float(found.stations[place].utilisation)
        assert load == pytest.approx(known, rel=20 * REST_MAX), name


def test_network_that_cannot_be_simulated_is_refused_by_name() -> None:
    varying = OpenNetwork((OpenStation("a", None, 1, (1.0, 2.0), 0.5),))
    with pytest.raises(ModelError, match="station a"):
        jobs_of(varying)
    names = [f"s{place}" for place in range(12)]
    mixed = dict.fromkeys(names, 0.08)
    stations = tuple(OpenStation(name, 99.0, 1, (), 1.0, mixed) for name in names)
    with pytest.raises(TooLarge, match="take visits as independent"):
        jobs_of(OpenNetwork(stations))
