"""Processor sharing, interrupting priorities, and bounds, against chains and exact queues."""

import heapq
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dovemq.models.analytic import mg1, mmc
from dovemq.models.analytic.bounds import wait_bounds
from dovemq.models.analytic.priority import preemptive_mg1, preemptive_mmc
from dovemq.models.analytic.sharing import SharedStation, shared
from dovemq.models.distributions import HyperExponential, by_moments, transform
from dovemq.models.errors import ModelError, TooLarge
from tests.models.chains import interval, stationary, waits

RANDOM_SETS = 200


def test_mean_with_sharing_equals_that_of_a_chain_with_two_phases_of_service() -> None:
    # Hyperexponential services: the mean depends on nothing but their mean.
    rates = (3.0, 0.4)
    shares = (0.7, 0.3)
    mean = sum(share / rate for share, rate in zip(shares, rates, strict=True))
    arriving = 0.7 / mean

    def moves(state: tuple[int, int]) -> Iterator[tuple[Any, float]]:
        total = sum(state)
        for phase in (0, 1):
            more = list(state)
            more[phase] += 1
            if total < 60:
                yield tuple(more), arriving * shares[phase]
            if state[phase]:
                less = list(state)
                less[phase] -= 1
                yield tuple(less), rates[phase] * state[phase] / total

    chances = stationary((0, 0), moves)
    number = sum(chance * sum(state) for state, chance in chances.items())
    found = shared(arriving, 1 / mean)
    assert float(found.number) == pytest.approx(number, rel=1e-6)
    assert float(found.sojourn_time) == pytest.approx(mean / 0.3)


def test_variance_with_sharing_has_the_closed_form() -> None:
    rng = np.random.default_rng(4)
    for _ in range(RANDOM_SETS):
        load, speed = float(rng.uniform(0.05, 0.95)), float(rng.uniform(0.2, 5.0))
        known = (2 + load) / (2 - load) / (speed * (1 - load)) ** 2
        found = SharedStation(load * speed, speed).sojourn_time_variance
        assert found == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize(("load", "servers"), [(0.5, 1), (0.8, 1), (0.8, 4)])
def test_sojourns_with_sharing_equal_those_of_a_long_run(load: float, servers: int) -> None:
    found = _shared_run(load * servers, servers, 200_000, np.random.default_rng(17))
    station = SharedStation(load * servers, 1.0, servers)
    for level in (0.5, 0.9, 0.99):
        share, width = interval((found <= station.sojourn_quantile(level)).astype(float))
        assert abs(share - level) < width


def _shared_run(
    rate: float, servers: int, count: int, rng: np.random.Generator
) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Sojourns in the order of arrival. Work left is kept above the work that each has got."""
    gaps, works = rng.exponential(1 / rate, count), rng.exponential(1.0, count)
    ends: list[tuple[float, int]] = []
    now = got = 0.0
    arrived, left = np.zeros(count), np.zeros(count)
    for number in range(count + 1):
        until = now + gaps[number] if number < count else np.inf
        while ends:
            speed = min(1.0, servers / len(ends))
            done = now + (ends[0][0] - got) / speed
            if done > until:
                got += (until - now) * speed
                break
            got, now = ends[0][0], done
            left[heapq.heappop(ends)[1]] = done
        if number < count:
            now = until
            arrived[number] = now
            heapq.heappush(ends, (got + works[number], number))
    return left - arrived


def test_sharing_without_others_is_the_service_alone() -> None:
    assert SharedStation(0.0, 2.0).sojourn_quantile(0.95) == pytest.approx(np.log(20) / 2)
    assert SharedStation(2.0, 2.0).sojourn_quantile(0.95) == np.inf
    assert SharedStation(2.0, 2.0).sojourn_time_variance == np.inf
    with pytest.raises(TooLarge, match="further from 1"):
        SharedStation(0.9999, 1.0).sojourn_quantile(0.95)


def _preemptive_chain(rates: tuple[float, ...], speeds: tuple[float, ...], servers: int) -> Any:
    """Mean numbers of two classes of which the first interrupts the second."""
    most = 22

    def moves(state: tuple[int, int]) -> Iterator[tuple[Any, float]]:
        one, two = state
        if one < most:
            yield (one + 1, two), rates[0]
        if two < most:
            yield (one, two + 1), rates[1]
        urgent = min(one, servers)
        if urgent:
            yield (one - 1, two), urgent * speeds[0]
        if other := min(two, servers - urgent):
            yield (one, two - 1), other * speeds[1]

    chances = stationary((0, 0), moves)
    return [sum(chance * state[place] for state, chance in chances.items()) for place in (0, 1)]


def test_interrupting_classes_equal_their_chain() -> None:
    rng = np.random.default_rng(12)
    for _ in range(RANDOM_SETS):
        speeds = tuple(float(each) for each in rng.uniform(0.5, 2.0, 2))
        rates = tuple(float(each) for each in rng.uniform(0.05, 0.18, 2) * speeds)
        numbers = _preemptive_chain(rates, speeds, 1)
        assert preemptive_mg1(rates, speeds).number == pytest.approx(numbers, rel=1e-5)
        servers = int(rng.integers(1, 4))
        rates = tuple(float(each) * servers for each in rng.uniform(0.05, 0.18, 2))
        numbers = _preemptive_chain(rates, (1.0, 1.0), servers)
        assert preemptive_mmc(rates, 1.0, servers).number == pytest.approx(numbers, rel=1e-5)


def test_interrupting_classes_of_one_speed_agree_with_each_other() -> None:
    rng = np.random.default_rng(13)
    for _ in range(RANDOM_SETS):
        rates = rng.uniform(0.0, 0.3, 3)
        one, other = preemptive_mg1(rates, 1.0), preemptive_mmc(rates, 1.0, 1)
        assert one.sojourn_time == pytest.approx(other.sojourn_time, rel=1e-9)


def test_most_urgent_class_does_not_notice_the_others() -> None:
    found = preemptive_mg1([0.4, 0.3], [1.0, 0.8], [3.0, 0.5])
    alone = mg1(0.4, 1.0, 3.0)
    assert found.sojourn_time[0] == pytest.approx(float(alone.sojourn_time))
    over = preemptive_mmc([1.0, 3.0], 1.0, 2)
    assert list(over.stable) == [True, False]
    assert over.sojourn_time[0] == pytest.approx(float(mmc(1.0, 1.0, 2).sojourn_time))
    assert over.sojourn_time[1] == np.inf


def test_class_without_arrivals_waits_as_a_few_would() -> None:
    none, few = preemptive_mmc([1.0, 0.0], 1.0, 2), preemptive_mmc([1.0, 1e-7], 1.0, 2)
    assert none.waiting_time[1] == pytest.approx(few.waiting_time[1], rel=1e-4)
    assert preemptive_mg1([0.5, 0.0], 1.0).sojourn_time[1] == pytest.approx(4.0)


def test_general_services_that_are_interrupted_equal_a_long_run() -> None:
    found = preemptive_mg1([0.3, 0.3], [1.0, 1.0], [0.5, 3.0])
    rng = np.random.default_rng(30)
    sojourns = _preemptive_run(rng, 200_000)
    for place in (0, 1):
        mean, width = interval(np.array(sojourns[place]))
        assert abs(mean - found.sojourn_time[place]) < width


def _preemptive_run(rng: np.random.Generator, count: int) -> list[list[float]]:
    """One server: work of the first class is done before any work of the second."""
    times = np.cumsum(rng.exponential(1 / 0.6, count))
    kinds = rng.integers(0, 2, count)
    slow = by_moments(1.0, 3.0)
    assert isinstance(slow, HyperExponential)
    works = np.where(
        kinds == 0,
        rng.gamma(2.0, 0.5, count),
        rng.exponential(rng.choice(slow.means, count, p=slow.shares)),
    )
    queues: list[list[list[float]]] = [[], []]
    sojourns: list[list[float]] = [[], []]
    heads = [0, 0]
    now = 0.0
    for at, kind, work in itertools.chain(
        zip(times, kinds, works, strict=True), [(np.inf, 0, 0.0)]
    ):
        while now < at:
            first = next((each for each in (0, 1) if heads[each] < len(queues[each])), None)
            if first is None:
                break
            entry = queues[first][heads[first]]
            if now + entry[1] > at:
                entry[1] -= at - now
                break
            now += entry[1]
            sojourns[first].append(now - entry[0])
            heads[first] += 1
        now = at
        queues[int(kind)].append([at, work])
    return sojourns


def _gi_m_1(arrivals: Any, load: float) -> float:
    """The exact mean wait with exponential services of mean 1: σ/(1 − σ), σ = A*(1 − σ)."""

    def off(root: float) -> float:
        return float(transform(arrivals, np.asarray(1.0 - root + 0j)).real) - root

    root = optimize.brentq(off, 0.0, 1.0 - (1.0 - load) * 1e-3)
    return float(root / (1.0 - root))


def test_exact_queues_lie_between_the_bounds() -> None:
    rng = np.random.default_rng(14)
    for _ in range(RANDOM_SETS):
        load, scv = float(rng.uniform(0.1, 0.95)), float(rng.uniform(0.05, 6.0))
        exact = _gi_m_1(by_moments(1.0 / load, scv), load)
        bounds = wait_bounds(load, scv, 1.0, 1.0)
        assert bounds.low <= exact <= bounds.high * (1 + 1e-9)
        assert bounds.high <= bounds.kingman
        exact = float(mg1(load, 1.0, scv).waiting_time)
        bounds = wait_bounds(load, 1.0, 1.0, scv)
        assert bounds.low <= exact <= bounds.high
        assert float(bounds.marchal) == pytest.approx(exact)


def test_simulated_queues_of_other_times_lie_between_the_bounds() -> None:
    rng = np.random.default_rng(15)
    for load, (arrival_scv, service_scv) in itertools.product(
        (0.5, 0.9), ((0.2, 4.0), (4.0, 0.2), (0.5, 0.5))
    ):
        gaps = rng.gamma(1 / arrival_scv, arrival_scv / load, 400_000)
        services = rng.gamma(1 / service_scv, service_scv, 400_000)
        mean, width = interval(waits(gaps, services))
        bounds = wait_bounds(load, arrival_scv, 1.0, service_scv)
        assert bounds.low - width <= mean <= bounds.high + width


def test_bounds_are_attained_where_nothing_varies_and_where_arrivals_cluster() -> None:
    assert float(wait_bounds(0.8, 0.0, 1.0, 0.0).high) == 0.0
    # Arrivals at lattice points and services of many lattice steps come near to the lower bound.
    rng = np.random.default_rng(16)
    gaps = np.ones(400_000)
    services = np.where(rng.random(400_000) < 0.08, 10.0, 0.0)
    scv = 100 * 0.08 / 0.8**2 - 1
    mean, width = interval(waits(gaps, services))
    assert mean == pytest.approx(float(wait_bounds(1.0, 0.0, 1 / 0.8, scv).low), abs=width)


def test_wrong_bounds_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match="arrival_scv is -1"):
        wait_bounds(0.5, -1.0, 1.0, 1.0)
    assert wait_bounds(1.0, 1.0, 1.0, 1.0).low == np.inf
