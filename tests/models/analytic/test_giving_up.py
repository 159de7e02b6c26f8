"""Customers that give up or try again, against chains, books and long runs."""

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from dovemq.models.analytic import mmc, mmck
from dovemq.models.analytic.abandonment import ImpatientStation, with_returns
from dovemq.models.analytic.retrials import retrial
from dovemq.models.errors import ModelError, TooLarge
from tests.models.chains import Floats, birth_death, interval, stationary

RANDOM_SETS = 200


def test_numbers_equal_the_chain_of_the_station() -> None:
    rng = np.random.default_rng(9)
    for _ in range(RANDOM_SETS):
        servers = int(rng.integers(1, 12))
        rate, patience = float(rng.uniform(0.1, 2.0) * servers), float(np.exp(rng.normal(0, 1.5)))
        found = ImpatientStation(rate, 1.0, servers, patience)
        chances = _numbers(found)
        waiting = chances @ np.maximum(np.arange(1_501) - servers, 0)
        assert found.wait_probability == pytest.approx(chances[servers:].sum(), rel=1e-9)
        assert found.waiting == pytest.approx(waiting, rel=1e-9)
        assert found.abandonment_probability == pytest.approx(waiting / patience / rate, rel=1e-9)
        assert found.throughput == pytest.approx(rate * (1 - found.abandonment_probability))


def _numbers(station: ImpatientStation) -> Floats:
    def down(count: int) -> float:
        busy = min(count, station.servers)
        return busy * station.service_rate + (count - busy) / station.patience

    return birth_death(lambda _: station.arrival_rate, down, 1_500)


def test_waits_are_stages_of_those_before_that_are_served_or_give_up() -> None:
    """A wait behind k others is a pure death chain, solved by its own equations."""
    station = ImpatientStation(5.5, 1.0, 5, 0.8)
    chances = station.probabilities
    for time in (0.05, 0.3, 1.0):
        alive = _still_waiting(station, len(chances) - 5, time)
        tail = float(chances[5:] @ alive)
        assert station.wait_tail(time) == pytest.approx(tail, rel=1e-6)


def _still_waiting(station: ImpatientStation, most: int, time: float) -> Floats:
    """P(still waiting after a time) behind 0 … most − 1 others."""
    behind = np.arange(most)
    ahead = station.servers * station.service_rate + behind / station.patience
    own = 1.0 / station.patience

    def slope(_: float, alive: Floats) -> Floats:
        next_ = np.concatenate(([0.0], alive[:-1]))
        return np.asarray(ahead * (next_ - alive) - own * alive)

    found = integrate.solve_ivp(
        slope, (0, time), np.ones(most), method="LSODA", rtol=1e-9, atol=1e-11
    )
    return np.asarray(found.y[:, -1])


def test_tails_integrate_to_the_mean_waits() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        rate, patience = float(rng.uniform(1.0, 8.0)), float(rng.uniform(0.2, 5.0))
        station = ImpatientStation(rate, 1.0, 4, patience)
        mean, _ = integrate.quad(station.wait_tail, 0, 80 * max(patience, 1.0), limit=500)
        assert mean == pytest.approx(station.waiting_time, rel=1e-6)


def test_waits_equal_those_of_a_long_run() -> None:
    station = ImpatientStation(5.5, 1.0, 5, 0.8)
    waited, served = _run(station, 1, 400_000, np.random.default_rng(11))[:2]
    for time in (0.1, 0.5, 1.0):
        share, width = interval((waited > time).astype(float))
        assert abs(share - station.wait_tail(time)) < width
        share, width = interval((waited[served] > time).astype(float))
        assert abs(share - station.served_wait_tail(time)) < width
    share, width = interval((~served).astype(float))
    assert abs(share - station.abandonment_probability) < width
    level = 0.95
    quantile = station.wait_quantile(level)
    share, width = interval((waited <= quantile).astype(float))
    assert abs(share - level) < width


def test_long_patience_is_a_station_where_all_wait() -> None:
    known, found = mmc(4.0, 1.0, 5), ImpatientStation(4.0, 1.0, 5, 1e7)
    assert found.wait_probability == pytest.approx(float(known.wait_probability), rel=1e-6)
    assert found.wait_quantile(0.95) == pytest.approx(float(known.wait_quantile(0.95)), rel=1e-5)


def test_no_patience_is_the_loss_system_of_erlang() -> None:
    lost = float(mmck(4.0, 1.0, 5, 5).blocking_probability)
    found = ImpatientStation(4.0, 1.0, 5, 1e-7).abandonment_probability
    assert found == pytest.approx(lost, rel=1e-5)


def test_patience_as_long_as_a_service_makes_the_number_poisson() -> None:
    # With θ = μ every customer leaves at one rate, as in M/M/∞.
    found = ImpatientStation(6.0, 1.0, 4, 1.0)
    poisson = stats.poisson(6.0)
    assert found.wait_probability == pytest.approx(1.0 - poisson.cdf(3))
    assert found.number == pytest.approx(6.0)


def _run(
    station: ImpatientStation, gets_max: int, count: int, rng: np.random.Generator, late: float = 0
) -> tuple[Floats, Any, int]:
    """Waits of gets, whether they were served, and the customers that used all gets in vain."""
    events: list[tuple[float, int, int]] = []
    at = 0.0
    for number in range(count):
        at += rng.exponential(1.0 / station.arrival_rate)
        events.append((at, number, 1))
    free = [0.0] * station.servers
    waits, served, exhausted = [], [], 0
    while events:
        now, number, got = heapq.heappop(events)
        patience = rng.exponential(station.patience)
        start = max(now, free[0])
        if start - now <= patience:
            heapq.heapreplace(free, start + rng.exponential(1.0 / station.service_rate))
            waits.append(start - now)
            served.append(True)
            continue
        waits.append(patience)
        served.append(False)
        if got == gets_max:
            exhausted += 1
        else:
            heapq.heappush(events, (now + patience + rng.exponential(late), number, got + 1))
    return np.array(waits), np.array(served), exhausted


def test_messages_that_come_back_late_are_exhausted_as_predicted() -> None:
    station = ImpatientStation(4.5, 1.0, 5, 0.5)
    customers, found = 150_000, with_returns(station, 3)
    waited, _, exhausted = _run(station, 3, customers, np.random.default_rng(5), late=200.0)
    assert len(waited) / customers == pytest.approx(found.gets, rel=0.01)
    assert exhausted / customers == pytest.approx(found.exhausted_share, rel=0.05)


def test_returns_add_up() -> None:
    station = ImpatientStation(4.5, 1.0, 5, 0.5)
    assert with_returns(station, 1).gets == 1.0
    endless = with_returns(station, float("inf"))
    assert endless.station.throughput == pytest.approx(4.5, rel=1e-9)
    assert endless.exhausted_share == 0.0
    three = with_returns(station, 3)
    assert three.station.throughput == pytest.approx(4.5 * (1 - three.exhausted_share), rel=1e-9)


def _retrial_chain(
    rate: float, servers: int, pace: float, again: float, most: int
) -> dict[tuple[int, int], float]:
    def moves(state: tuple[int, int]) -> Iterator[tuple[Any, float]]:
        busy, away = state
        if busy:
            yield (busy - 1, away), float(busy)
        if busy < servers:
            yield (busy + 1, away), rate
            if away:
                yield (busy + 1, away - 1), away * pace
            return
        if away < most and again:
            yield (busy, away + 1), rate * again
        if away and again < 1:
            yield (busy, away - 1), away * pace * (1 - again)

    return stationary((0, 0), moves)


def test_retrials_equal_their_chain() -> None:
    rng = np.random.default_rng(6)
    for _ in range(RANDOM_SETS):
        servers = int(rng.integers(1, 5))
        rate, pace = float(rng.uniform(0.1, 0.6) * servers), float(np.exp(rng.normal(0.5, 0.7)))
        again = float(rng.choice([1.0, rng.uniform(0.0, 1.0)]))
        chances = _retrial_chain(rate, servers, pace, again, 70)
        found = retrial(rate, 1.0, servers, 1.0 / pace, again)
        away = sum(chance * state[1] for state, chance in chances.items())
        blocked = sum(chance for state, chance in chances.items() if state[0] == servers)
        assert found.retrying == pytest.approx(away, rel=1e-6, abs=1e-12)
        assert found.blocking_probability == pytest.approx(blocked, rel=1e-8)


def test_one_server_with_retrials_has_the_closed_form() -> None:
    # Falin and Templeton (1997), §1.2: ρ(λ + νρ)/(ν(1 − ρ)) customers between attempts.
    rng = np.random.default_rng(8)
    for _ in range(RANDOM_SETS):
        load, pace = float(rng.uniform(0.05, 0.85)), float(np.exp(rng.normal(0, 1)))
        known = load * (load + pace * load) / (pace * (1 - load))
        assert retrial(load, 1.0, 1, 1 / pace).retrying == pytest.approx(known, rel=1e-8)


def test_fast_retrials_of_one_server_take_as_long_as_a_queue() -> None:
    assert retrial(0.8, 1.0, 1, 1e-5).waiting_time == pytest.approx(4.0, rel=1e-4)


def test_without_persistence_retrials_are_the_loss_system() -> None:
    found = retrial(4.0, 1.0, 5, 1.0, 0.0)
    assert found.lost_share == pytest.approx(float(mmck(4, 1, 5, 5).blocking_probability))
    assert found.attempts == pytest.approx(1.0)


def test_overload_with_endless_retrials_is_unstable() -> None:
    assert not retrial(3.0, 1.0, 3, 1.0).stable
    assert retrial(3.0, 1.0, 3, 1.0, 0.9).stable


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda: ImpatientStation(1, 1, 1, 0), "patience is 0"),
        (lambda: ImpatientStation(1, 1, 0, 1), "servers is 0"),
        (lambda: with_returns(ImpatientStation(1, 1, 1, 1), 0.5), "gets_max is 0.5"),
        (lambda: with_returns(ImpatientStation(2, 1, 1, 1), float("inf")), "more comes back"),
        (lambda: retrial(1, 1, 1, 0), "retry_time is 0"),
        (lambda: retrial(1, 1, 2, 1, 1.5), "persistence is 1.5"),
        (lambda: retrial(1, 1, 501, 1), "from 1 to 500"),
    ],
)
def test_wrong_question_is_refused_by_name(ask: Any, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        ask()


def test_too_many_levels_are_refused() -> None:
    with pytest.raises(TooLarge, match="shorter retry_time"):
        retrial(0.9, 1.0, 1, 1e6)
    with pytest.raises(TooLarge, match="shorter patience"):
        _ = ImpatientStation(2.0, 1.0, 1, 1e9).waiting
