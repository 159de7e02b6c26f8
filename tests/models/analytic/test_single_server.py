"""M/G/1 and Cobham's priorities against chains, sums and long runs."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from dovemq.models.analytic import (
    mg1,
    mm1,
    mmc,
    priority_mg1,
    priority_mmc,
    single_server,
)
from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    by_moments,
)
from tests.models.chains import Floats, interval, stationary, waits

CUSTOMERS = 400_000


def _drawn(service: Distribution, rng: np.random.Generator) -> Floats:
    if isinstance(service, HyperExponential):
        means = rng.choice(service.means, CUSTOMERS, p=service.shares)
        return np.asarray(rng.exponential(means))
    shape = 1 / service.scv
    return rng.gamma(shape, service.mean / shape, CUSTOMERS)


SERVICES = [
    Erlang(1.0, 2),
    Gamma(1.0, 0.3),
    by_moments(1.0, 4.0),
    Exponential(1.0),
]


@pytest.mark.parametrize("service", SERVICES, ids=repr)
def test_wait_equals_that_of_a_long_run(service: Distribution) -> None:
    rng = np.random.default_rng(7)
    found = waits(rng.exponential(1 / 0.7, CUSTOMERS), _drawn(service, rng))
    model = single_server(0.7, service)
    mean, width = interval(found)
    assert abs(mean - float(model.station.waiting_time)) < width
    for time in (0.5, 2.0, 5.0):
        share, width = interval((found > time).astype(float))
        assert abs(share - float(model.wait_tail(time))) < width


@pytest.mark.parametrize("service", SERVICES, ids=repr)
def test_moments_of_the_wait_are_integrals_of_its_tail(service: Distribution) -> None:
    model = single_server(0.6, service)
    mean, _ = integrate.quad(lambda time: float(model.wait_tail(time)), 0, 120, limit=200)
    square, _ = integrate.quad(
        lambda time: 2 * time * float(model.wait_tail(time)), 0, 120, limit=200
    )
    assert mean == pytest.approx(float(model.station.waiting_time), rel=1e-5)
    assert square - mean**2 == pytest.approx(float(model.waiting_time_variance), rel=1e-4)


def test_exponential_service_gives_the_wait_of_one_markov_server() -> None:
    times = np.array([0.1, 1.0, 4.0, 20.0])
    found = single_server(0.8, Exponential(1.0)).wait_tail(times)
    assert found == pytest.approx(mm1(0.8, 1).wait_tail(times), abs=1e-7)


@pytest.mark.parametrize("load", [0.3, 0.8])
@pytest.mark.parametrize("time", [0.3, 1.0, 2.5, 6.9])
def test_constant_service_gives_the_sum_of_crommelin(load: float, time: float) -> None:
    """Crommelin 1932; his signs alternate, so it serves near 0 only."""
    parts = [
        (load * (count - time)) ** count / math.factorial(count) * math.exp(-load * (count - time))
        for count in range(int(time) + 1)
    ]
    tail = 1 - (1 - load) * sum(parts)
    found = single_server(load, Deterministic(1.0)).wait_tail(time)
    assert found == pytest.approx(tail, abs=1e-9)


def test_constant_service_halves_the_wait() -> None:
    rates = np.array([0.2, 0.5, 0.9])
    assert mg1(rates, 1.0, 0.0).waiting_time == pytest.approx(mm1(rates, 1.0).waiting_time / 2)


def test_no_tail_of_an_overloaded_server_falls() -> None:
    model = single_server(np.array([0.5, 1.0, 1.5]), Gamma(1.0, 0.5))
    tails = model.wait_tail(30.0)
    assert tails[0] < 0.01
    assert list(tails[1:]) == [1.0, 1.0]
    assert list(model.station.stable) == [True, False, False]


def test_priorities_equal_their_chain() -> None:
    rates, servers, most = (0.5, 0.8), 2, 60

    def moves(state: Any) -> Iterator[tuple[Any, float]]:
        busy, first, second = state
        if busy < servers:
            yield (busy + 1, 0, 0), sum(rates)
        else:
            if first < most:
                yield (busy, first + 1, second), rates[0]
            if second < most:
                yield (busy, first, second + 1), rates[1]
        if first:
            yield (busy, first - 1, second), float(servers)
        elif second:
            yield (busy, first, second - 1), float(servers)
        elif busy:
            yield (busy - 1, 0, 0), float(busy)

    chain = stationary((0, 0, 0), moves)
    found = priority_mmc(rates, 1.0, servers)
    for line in (0, 1):
        mean = sum(share * state[line + 1] for state, share in chain.items())
        assert found.waiting[line] == pytest.approx(mean, rel=1e-5)


def test_priorities_share_out_the_wait_of_all() -> None:
    """Kleinrock's conservation law: Σ ρ_k W_k does not depend on the order of the classes."""
    rates, speeds, scvs = np.array([0.1, 0.2, 0.15]), np.array([1.0, 0.8, 2.0]), 0.5
    sums = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        found = priority_mg1(rates[order], speeds[order], scvs)
        sums.append(float(found.load @ found.waiting_time))
    assert sums == pytest.approx([sums[0]] * 3)


def test_priorities_of_one_class_are_the_plain_station() -> None:
    found = priority_mmc([3.0], 1.0, 4).waiting_time
    assert found == pytest.approx(mmc([3], 1, 4).waiting_time)
    assert priority_mg1([0.7], 1.0, 0.3).waiting_time == pytest.approx(
        mg1([0.7], 1.0, 0.3).waiting_time
    )


def test_urgent_class_is_stable_while_others_are_too_much() -> None:
    found = priority_mmc([1.0, 5.0], 1.0, 3)
    assert list(found.stable) == [True, False]
    assert found.waiting_time[0] == pytest.approx(1 / 3 / (1 - 1 / 3))
    assert np.isinf(found.waiting_time[1])
    single = priority_mg1([0.3, 2.0], 1.0, 1.0)
    assert single.waiting_time[0] == pytest.approx(1 / (1 - 0.3))
