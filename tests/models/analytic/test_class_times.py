"""Quantiles of classes with priority and of retrials, against means, chains and a long run."""

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import linalg

from dovemq.models.analytic import mmc, priority_mg1, priority_mmc, retrial
from dovemq.models.analytic.inversion import Transform
from dovemq.models.analytic.orbit import RetrialTimes
from dovemq.models.analytic.pollaczek import single_server
from dovemq.models.analytic.priority import preemptive_mg1
from dovemq.models.analytic.urgency import class_times
from dovemq.models.distributions import Deterministic, Exponential, by_moments
from dovemq.models.errors import ModelError, TooLarge
from tests.models.chains import Floats, interval, stationary

RANDOM_SETS = 200


def _mean(transform: Transform) -> float:
    """The mean by the slope of the transform at 0, without its curvature."""
    step = 1e-5
    near, far = (1.0 - float(np.real(transform(np.array([s + 0j]))[0])) for s in (step, 2 * step))
    return (4.0 * near - far) / (2.0 * step)


def test_means_of_the_transforms_are_those_of_cobham_and_of_white_and_christie() -> None:
    rng = np.random.default_rng(21)
    for _ in range(RANDOM_SETS):
        speeds, scvs = rng.uniform(0.5, 3.0, 3), rng.uniform(0.1, 3.0, 3)
        # The last class may be too much.
        rates = rng.uniform(0.02, 0.35, 3) * speeds
        rates[2] *= rng.choice([1.0, 4.0])
        services = [by_moments(1 / speed, scv) for speed, scv in zip(speeds, scvs, strict=True)]
        for interrupted, known in (
            (False, priority_mg1(rates, speeds, scvs)),
            (True, preemptive_mg1(rates, speeds, scvs)),
        ):
            for place, times in enumerate(class_times(rates, services, interrupted=interrupted)):
                assert times.stable == bool(known.stable[place])
                if known.utilisation[: place + 1].sum() < 0.9:
                    expected = float(known.sojourn_time[place])
                    assert _mean(times.sojourn_transform) == pytest.approx(expected, rel=1e-3)


def test_means_at_several_servers_are_those_of_cobham() -> None:
    rng = np.random.default_rng(22)
    for _ in range(RANDOM_SETS):
        servers, speed = int(rng.integers(2, 12)), float(rng.uniform(0.5, 2.0))
        rates = rng.uniform(0.02, 0.28, 3) * speed * servers
        known = priority_mmc(rates, speed, servers)
        found = class_times(rates, [Exponential(1 / speed)] * 3, servers)
        for place, times in enumerate(found):
            expected = float(known.sojourn_time[place])
            assert _mean(times.sojourn_transform) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("level", [0.3, 0.9, 0.999])
def test_one_class_has_the_quantiles_of_its_station(level: float) -> None:
    rng = np.random.default_rng(23)
    for _ in range(20):
        servers, speed = int(rng.integers(1, 8)), float(rng.uniform(0.5, 2.0))
        rate = float(rng.uniform(0.1, 0.95)) * servers * speed
        known = mmc(rate, speed, servers)
        (found,) = class_times([rate], [Exponential(1 / speed)], servers)
        assert found.wait_quantile(level) == pytest.approx(
            float(known.wait_quantile(level)), rel=1e-6, abs=1e-9
        )
        assert found.sojourn_quantile(level) == pytest.approx(
            float(known.sojourn_quantile(level)), rel=1e-6
        )
    service = by_moments(1.0, 2.5)
    (found,) = class_times([0.7], [service])
    assert found.sojourn_quantile(level) == pytest.approx(
        single_server(0.7, service).sojourn_quantile(level), rel=1e-6
    )


@pytest.mark.parametrize(("scv", "servers"), [(2.0, 1), (0.0, 1), (1.0, 3)])
def test_quantiles_of_classes_hold_their_share_of_a_long_run(scv: float, servers: int) -> None:
    rates = (0.25 * servers, 0.35 * servers, 0.2 * servers)
    service = by_moments(1.0, scv)
    found = _priority_run(rates, scv, servers, 300_000, np.random.default_rng(5))
    for place, times in enumerate(class_times(rates, [service] * 3, servers)):
        for level in (0.8, 0.95):
            waited = (found[place] <= times.wait_quantile(level)).astype(float)
            share, width = interval(waited)
            assert abs(share - level) < width


def _priority_run(
    rates: Sequence[float], scv: float, servers: int, count: int, rng: np.random.Generator
) -> list[Floats]:
    """Waits by class, without interruption."""
    arrived = np.cumsum(rng.exponential(1 / sum(rates), count))
    kinds = rng.choice(len(rates), count, p=np.array(rates) / sum(rates))
    works = _works(scv, count, rng)
    free = [0.0] * servers
    waiting: list[tuple[int, int]] = []
    waits: list[list[float]] = [[] for _ in rates]
    number = 0
    while number < count or waiting:
        now = heapq.heappop(free)
        if not waiting:
            now = max(now, arrived[number])
        while number < count and arrived[number] <= now:
            heapq.heappush(waiting, (int(kinds[number]), number))
            number += 1
        kind, first = heapq.heappop(waiting)
        waits[kind].append(now - arrived[first])
        heapq.heappush(free, now + works[first])
    return [np.array(each) for each in waits]


def _works(scv: float, count: int, rng: np.random.Generator) -> Floats:
    if scv == 0.0:
        return np.ones(count)
    if scv == 1.0:
        return rng.exponential(1.0, count)
    service: Any = by_moments(1.0, scv)
    return rng.exponential(np.array(service.means)[rng.choice(2, count, p=service.shares)])


def test_class_that_is_too_much_has_no_quantile_and_leaves_the_urgent_one_alone() -> None:
    urgent, other = class_times([0.5, 0.9], [Exponential(1.0)] * 2)
    assert other.wait_quantile(0.9) == other.sojourn_quantile(0.9) == np.inf
    assert np.isfinite(urgent.sojourn_quantile(0.9))
    first, _ = class_times([0.5, 0.9], [Exponential(1.0)] * 2, interrupted=True)
    assert first.sojourn_quantile(0.9) == pytest.approx(float(mmc(0.5, 1, 1).sojourn_quantile(0.9)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: class_times([1.0, 1.0], [Exponential(0.1), Exponential(0.2)], 2),
        lambda: class_times([1.0], [Deterministic(0.1)], 2),
        lambda: class_times([1.0], [Exponential(0.1)], 2, interrupted=True),
        lambda: class_times([1.0], [Exponential(0.1)], interrupted=True)[0].wait_quantile(0.9),
    ],
)
def test_times_without_a_closed_form_are_refused(ask: Callable[[], object]) -> None:
    with pytest.raises(ModelError):
        ask()


@pytest.mark.parametrize("persistence", [1.0, 0.6])
@pytest.mark.parametrize("servers", [1, 3])
def test_waits_of_retrials_equal_those_of_a_followed_customer(
    servers: int, persistence: float
) -> None:
    rate, speed, pace, most = 0.6 * servers, 1.0, 0.8, 60
    times = RetrialTimes(rate, speed, servers, 1 / pace, persistence)
    chances = stationary((0, 0), lambda at: _moves(at, rate, speed, servers, pace, persistence))
    states = [(busy, others) for busy in range(servers + 1) for others in range(most + 1)]
    places = {state: place for place, state in enumerate(states)}
    rates, served = np.zeros((len(states),) * 2), np.zeros(len(states))
    for (busy, others), place in places.items():
        for to, speed_of in _moves((busy, others), rate, speed, servers, pace, persistence):
            if to in places:
                rates[place, places[to]] += speed_of
        # The customer itself tries again: it is served, or gives up.
        leaving = pace if busy < servers else pace * (1 - persistence)
        served[place] = pace if busy < servers else 0.0
        rates[place, place] -= rates[place].sum() + leaving
    first = np.zeros(len(states))
    for (busy, others), chance in chances.items():
        if busy == servers and others <= most:
            first[places[busy, others]] += persistence * chance
    for level in (0.7, 0.95):
        time = times.wait_quantile(level)
        if time > 0.0:
            assert (first @ linalg.expm(rates * time)).sum() == pytest.approx(1 - level, rel=1e-6)
        time = times.served_wait_quantile(level)
        ever = first @ np.linalg.solve(-rates, served)
        by_then = ever - first @ linalg.expm(rates * time) @ np.linalg.solve(-rates, served)
        at_once = sum(chance for (busy, _), chance in chances.items() if busy < servers)
        if time > 0.0:
            assert (at_once + by_then) / (at_once + ever) == pytest.approx(level, rel=1e-6)
    known = retrial(rate, speed, servers, 1 / pace, persistence)
    assert first.sum() == pytest.approx(persistence * known.blocking_probability, rel=1e-6)


def _moves(
    state: tuple[int, int],
    rate: float,
    speed: float,
    servers: int,
    pace: float,
    persistence: float,
) -> list[tuple[tuple[int, int], float]]:
    busy, others = state
    moves = [((busy - 1, others), busy * speed)] if busy else []
    if busy < servers:
        moves.append(((busy + 1, others), rate))
        if others:
            moves.append(((busy + 1, others - 1), others * pace))
    else:
        if others < 120:
            moves.append(((busy, others + 1), rate * persistence))
        if others and persistence < 1:
            moves.append(((busy, others - 1), others * pace * (1 - persistence)))
    return moves


def test_quantile_of_too_many_states_is_refused_by_name() -> None:
    with pytest.raises(TooLarge, match="simulate"):
        RetrialTimes(95.0, 1.0, 100, 1.0).wait_quantile(0.9)


def test_sojourn_of_the_served_adds_their_service() -> None:
    times = RetrialTimes(0.5, 2.0, 1, 1e-6)
    # Blocked customers that try again at once are served in random order, so the mean is M/M/1's.
    assert times.sojourn_quantile(0.5) > times.wait_quantile(0.5)
    assert RetrialTimes(2.0, 1.0, 1, 1.0).sojourn_quantile(0.5) == np.inf
