"""M/M/1, M/M/c and M/M/c/K against books, chains and each other."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dovemq.models.analytic import mm1, mmc, mmck
from dovemq.models.analytic.erlang import erlang_b, erlang_b_rows, erlang_c
from tests.models.chains import birth_death

LEVELS = 400


def test_clinic_of_gross_and_harris() -> None:
    """Fundamentals of Queueing Theory, the City Eye Clinic: 6 an hour, 3 doctors of 3 an hour."""
    clinic = mmc(6, 3, 3)
    assert clinic.number_probability(0) == pytest.approx(1 / 9)
    assert clinic.waiting == pytest.approx(8 / 9)
    assert clinic.number == pytest.approx(26 / 9)
    assert clinic.sojourn_time == pytest.approx(13 / 27)


@pytest.mark.parametrize(
    ("servers", "waiting", "number", "waiting_time", "sojourn_time", "idle"),
    [(1, 4 / 3, 2, 2 / 3, 1, 1 / 3), (2, 1 / 12, 3 / 4, 1 / 24, 3 / 8, 1 / 2)],
)
def test_county_hospital_of_hillier_and_lieberman(
    servers: int,
    waiting: float,
    number: float,
    waiting_time: float,
    sojourn_time: float,
    idle: float,
) -> None:
    """Introduction to Operations Research: 2 patients an hour, doctors of 3 an hour."""
    hospital = mmc(2, 3, servers)
    assert hospital.waiting == pytest.approx(waiting)
    assert hospital.number == pytest.approx(number)
    assert hospital.waiting_time == pytest.approx(waiting_time)
    assert hospital.sojourn_time == pytest.approx(sojourn_time)
    assert hospital.number_probability(0) == pytest.approx(idle)


def test_tails_of_the_county_hospital() -> None:
    """The same table: P(wait > 0), P(wait > 1/2), P(wait > 1) with one doctor and with two."""
    assert mmc(2, 3, 1).wait_tail([0, 0.5, 1]) == pytest.approx([0.667, 0.404, 0.245], abs=6e-4)
    assert mmc(2, 3, 2).wait_tail([0, 0.5, 1]) == pytest.approx([0.167, 0.022, 0.003], abs=6e-4)


@pytest.mark.parametrize(
    ("trunks", "printed", "unit"),
    [(5, 1.36, 0.01), (10, 4.46, 0.01), (20, 12.0, 0.1), (100, 84.1, 0.1)],
)
def test_tables_of_traffic_at_one_per_cent(trunks: int, printed: float, unit: float) -> None:
    """Erlang B as traffic tables print it: erlangs that so many trunks carry at 1 %, rounded."""
    around = np.array([printed - unit / 2, printed + unit / 2])
    low, high = erlang_b(around, np.array(trunks))
    assert low <= 0.01 <= high


@pytest.mark.parametrize(("load", "servers"), [(0.3, 1), (3.0, 4), (9.5, 10), (95.0, 100)])
def test_erlang_formulas_equal_poisson_numerics(load: float, servers: int) -> None:
    count = stats.poisson(load)
    blocked = count.pmf(servers) / count.cdf(servers)
    assert erlang_b(np.array(load), np.array(servers)) == pytest.approx(blocked, rel=1e-9)
    alone = count.pmf(servers) * servers / (servers - load)
    waits = alone / (count.cdf(servers - 1) + alone)
    assert erlang_c(np.array(load), np.array(servers)) == pytest.approx(waits, rel=1e-9)


def test_rows_of_erlang_b_are_the_formula_for_each_number() -> None:
    loads = np.array([0.0, 0.5, 7.0])
    rows = erlang_b_rows(loads, 12)
    for servers in range(13):
        assert rows[servers] == pytest.approx(erlang_b(loads, np.array(float(servers))))


@pytest.mark.parametrize(("rate", "servers"), [(0.5, 1), (3.0, 4), (5.7, 6), (0.01, 3)])
def test_station_equals_its_birth_death_chain(rate: float, servers: int) -> None:
    station = mmc(rate, 1.0, servers)
    chain = birth_death(lambda count: rate, lambda count: min(count, servers), LEVELS)
    counts = np.arange(LEVELS + 1)
    assert station.number_probability(counts) == pytest.approx(chain, abs=1e-9)
    assert station.number == pytest.approx(chain @ counts, rel=1e-6)
    assert station.waiting == pytest.approx(chain @ np.maximum(counts - servers, 0), rel=1e-6)
    assert station.wait_probability == pytest.approx(chain[servers:].sum(), rel=1e-6)
    assert station.any_busy == pytest.approx(1 - chain[0])


def test_one_server_is_the_elementary_formula() -> None:
    rates = np.linspace(0.05, 0.95, 19)
    station = mm1(rates, 1.0)
    assert station.number == pytest.approx(rates / (1 - rates))
    assert station.sojourn_tail(2.0) == pytest.approx(np.exp(-(1 - rates) * 2.0))
    assert station.sojourn_quantile(0.9) == pytest.approx(math.log(10) / (1 - rates))


@pytest.mark.parametrize(("rate", "servers"), [(0.8, 1), (3.0, 4), (2.9999999, 4), (1.5, 6)])
def test_mean_is_the_integral_of_the_tail(rate: float, servers: int) -> None:
    station = mmc(rate, 1.0, servers)
    for tail, mean in (
        (station.wait_tail, station.waiting_time),
        (station.sojourn_tail, station.sojourn_time),
    ):
        area, _ = integrate.quad(lambda time, tail=tail: float(tail(time)), 0, 400, limit=400)
        assert area == pytest.approx(float(mean), rel=1e-6)


def test_sojourn_without_waiting_is_the_service() -> None:
    times = np.linspace(0, 5, 11)
    assert mmc(0.0, 2.0, 3).sojourn_tail(times) == pytest.approx(np.exp(-2 * times))
    assert mmc(0.0, 2.0, 3).sojourn_time == pytest.approx(0.5)
    assert mmc(0.0, 2.0, 3).number_probability([0, 1]) == pytest.approx([1, 0])


@pytest.mark.parametrize(
    ("rate", "servers", "room"), [(0.5, 1, 1), (3.0, 2, 5), (1.0, 1, 8), (9.0, 4, 30), (50.0, 3, 9)]
)
def test_finite_station_equals_its_chain(rate: float, servers: int, room: int) -> None:
    station = mmck(rate, 1.0, servers, room)
    chain = birth_death(lambda count: rate, lambda count: min(count, servers), room)
    counts = np.arange(room + 1)
    assert station.probabilities == pytest.approx(chain)
    assert station.blocking_probability == pytest.approx(chain[-1])
    assert station.number == pytest.approx(chain @ counts)
    accepted = rate * (1 - chain[-1])
    assert station.throughput == pytest.approx(accepted)
    assert station.sojourn_time == pytest.approx(chain @ counts / accepted)
    assert station.utilisation == pytest.approx(accepted / servers)


def test_finite_station_without_waiting_room_loses_by_erlang_b() -> None:
    loads = np.array([0.1, 2.0, 40.0])
    found = mmck(loads, 1.0, 5, 5).blocking_probability
    assert found == pytest.approx(erlang_b(loads, np.array(5.0)))


def test_finite_station_with_much_room_is_the_endless_one() -> None:
    finite, endless = mmck(3.0, 1.0, 4, 600), mmc(3.0, 1.0, 4)
    assert finite.sojourn_time == pytest.approx(endless.sojourn_time)
    times = np.array([0.0, 0.5, 3.0])
    for time in times:
        assert finite.wait_tail(time) == pytest.approx(endless.wait_tail(time))


def test_mean_wait_of_a_finite_station_is_the_integral_of_its_tail() -> None:
    station = mmck(5.0, 1.0, 3, 10)
    area, _ = integrate.quad(lambda time: float(station.wait_tail(time)), 0, 60)
    assert area == pytest.approx(float(station.waiting_time), rel=1e-8)
    assert station.wait_tail(0.0) == pytest.approx(station.wait_probability)


def test_parameters_may_be_arrays_of_one_shape() -> None:
    rates, servers = np.array([[1.0], [2.0]]), np.array([3, 4, 5])
    table = mmc(rates, 1.0, servers)
    assert table.sojourn_time.shape == (2, 3)
    for row, rate in enumerate(rates[:, 0]):
        for column, count in enumerate(servers):
            assert table.sojourn_time[row, column] == mmc(rate, 1.0, count).sojourn_time
