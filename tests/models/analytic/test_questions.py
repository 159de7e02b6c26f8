"""Whatever is asked: a true number, an infinite one that says so, or a refusal by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovemq.models.analytic import (
    FiniteStation,
    ggm,
    mg1,
    mm1,
    mmc,
    mmck,
    priority_mmc,
    station_headroom,
    station_sensitivity,
    vma,
    vma_headroom,
)
from dovemq.models.analytic.percentiles import GeneralStation
from dovemq.models.distributions import Exponential
from dovemq.models.errors import ModelError, ModelParameterInvalid
from dovemq.models.planning.one_queue import plan_queue
from dovemq.models.vma.parameters import VmaParameters

RATES = st.floats(0, 1e6, allow_subnormal=False)
SPEEDS = st.floats(1e-3, 1e6)
SCVS = st.floats(0, 100)
SERVERS = st.integers(1, 300)
FEW = settings(max_examples=60, deadline=None, derandomize=True)
BAD = st.sampled_from([float("nan"), float("inf"), -float("inf"), -1.0, "many", None, [1.0, -2.0]])


@FEW
@given(rate=RATES, speed=SPEEDS, servers=SERVERS)
def test_station_is_right_or_unstable(rate: float, speed: float, servers: int) -> None:
    station = mmc(rate, speed, servers)
    if rate / speed >= servers:
        assert not bool(station.stable)
        assert np.isinf([station.number, station.waiting, station.sojourn_time]).all()
        assert station.wait_tail(1e9) == station.sojourn_tail(1e9) == 1
        assert np.isinf(station.wait_quantile(0.5))
        return
    assert 0 <= station.wait_probability <= 1
    assert station.number == pytest.approx(rate * float(station.sojourn_time), rel=1e-9)
    assert station.waiting == pytest.approx(rate * float(station.waiting_time), rel=1e-9)
    assert mmc(rate, speed, servers + 1).waiting_time <= station.waiting_time


@FEW
@given(load=st.floats(0, 0.999), servers=st.integers(1, 60), level=st.floats(0.01, 0.999))
def test_quantiles_undo_tails(load: float, servers: int, level: float) -> None:
    station = mmc(load * servers, 1.0, servers)
    sojourn = station.sojourn_quantile(level)
    assert station.sojourn_tail(sojourn) == pytest.approx(1 - level, rel=1e-6, abs=1e-9)
    wait = station.wait_quantile(level)
    if wait > 0:
        assert station.wait_tail(wait) == pytest.approx(1 - level, rel=1e-9)
    else:
        assert station.wait_probability <= 1 - level + 1e-12


@FEW
@given(load=st.floats(0.01, 0.999), servers=st.integers(1, 200))
def test_numbers_in_a_station_add_up(load: float, servers: int) -> None:
    station = mmc(load * servers, 1.0, servers)
    counts = station.number_probability(np.arange(servers + 1))
    assert (counts >= 0).all()
    beyond = float(station.wait_probability) - float(counts[servers])
    assert counts.sum() + beyond == pytest.approx(1, abs=1e-9)


@FEW
@given(rate=RATES, speed=SPEEDS, servers=st.integers(1, 40), more=st.integers(0, 60))
def test_finite_station_keeps_littles_law(
    rate: float, speed: float, servers: int, more: int
) -> None:
    station: FiniteStation = mmck(rate, speed, servers, servers + more)
    assert station.probabilities.sum() == pytest.approx(1)
    assert 0 <= station.utilisation <= 1 + 1e-12
    number = float(station.throughput) * float(station.sojourn_time)
    assert station.number == pytest.approx(number, rel=1e-6, abs=1e-9)


@FEW
@given(rate=RATES, speed=SPEEDS, servers=SERVERS, arrivals=SCVS, service=SCVS)
def test_general_station_is_never_a_silent_wrong_number(
    rate: float, speed: float, servers: int, arrivals: float, service: float
) -> None:
    for name in ("allen-cunneen", "kraemer-langenbach-belz"):
        station = ggm(rate, arrivals, speed, service, servers, name)
        assert bool(station.stable) == bool(rate / speed < servers)
        assert bool(np.isfinite(station.number)) == bool(station.stable)
        assert station.number >= 0
        assert station.sojourn_time >= 1 / speed


@FEW
@given(st.lists(st.floats(0, 3), min_size=1, max_size=5), st.integers(1, 6))
def test_less_urgent_classes_wait_longer(rates: list[float], servers: int) -> None:
    found = priority_mmc(rates, 1.0, servers)
    known = found.waiting_time[found.stable]
    assert (np.diff(known) >= -1e-12).all()
    assert np.isinf(found.waiting_time[~found.stable]).all()


QUESTIONS: list[tuple[str, Callable[[Any], Any]]] = [
    ("arrival_rate", lambda bad: mmc(bad, 1, 2)),
    ("service_rate", lambda bad: mmc(1, bad, 2)),
    ("servers", lambda bad: mmc(1, 1, bad)),
    ("capacity", lambda bad: mmck(1, 1, 1, bad)),
    ("service_scv", lambda bad: mg1(0.5, 1, bad)),
    ("arrival_scv", lambda bad: ggm(0.5, bad, 1, 1, 1)),
    ("arrival_rates", lambda bad: priority_mmc(bad, 1, 1)),
    ("time", lambda bad: mm1(0.5, 1).wait_tail(bad)),
    ("level", lambda bad: mm1(0.5, 1).sojourn_quantile(bad)),
    ("sender_rate", lambda bad: vma(VmaParameters(1, bad, 1, 3, 3))),
    ("link_delay", lambda bad: vma(VmaParameters(1, 1, 1, 3, 3, link_delay=bad))),
    ("visibility_timeout", lambda bad: vma(VmaParameters(1, 1, 1, 3, 3, visibility_timeout=bad))),
    ("sojourn_time_max", lambda bad: station_headroom(1, 1, 2, bad)),
    ("Exponential.mean", lambda bad: Exponential(bad)),
]


@FEW
@given(bad=BAD)
@pytest.mark.parametrize(("name", "ask"), QUESTIONS, ids=[name for name, _ in QUESTIONS])
def test_bad_value_is_refused_by_its_name(name: str, ask: Callable[[Any], Any], bad: Any) -> None:
    with pytest.raises(ModelParameterInvalid) as refused:
        ask(bad)
    assert refused.value.parameter.startswith(name)
    assert name in str(refused.value)


def test_bad_value_within_an_array_is_refused_with_its_place() -> None:
    with pytest.raises(ModelParameterInvalid, match=r"arrival_rate\[1, 0\] is nan"):
        mmc(np.array([[1, 2], [np.nan, 3]]), 5, 1)


def test_arrays_of_different_shapes_are_refused() -> None:
    with pytest.raises(ModelParameterInvalid, match="shape"):
        mmc([1, 2, 3], [1, 2], 1)


@pytest.mark.parametrize("gets", [0, 1.5, -1, float("nan")])
def test_impossible_number_of_gets_is_refused(gets: float) -> None:
    with pytest.raises(ModelParameterInvalid, match="gets_max"):
        vma(VmaParameters(1, 1, 1, 3, 3, gets_max=gets))


@FEW
@given(rate=st.floats(0.1, 50), target=st.floats(0.05, 5))
def test_headroom_of_a_station_meets_its_target(rate: float, target: float) -> None:
    found = station_headroom(rate, 10.0, 4, target)
    at_most = float(found.arrival_rate_max)
    if target < 0.1:
        assert at_most == 0
        assert not bool(found.met)
    else:
        assert mmc(at_most, 10.0, 4).sojourn_time <= target
        assert mmc(at_most * 1.001 + 1e-6, 10.0, 4).sojourn_time >= target * 0.999
        assert found.factor == pytest.approx(at_most / rate)


def test_headroom_takes_quantiles_and_arrays() -> None:
    found = station_headroom(20.0, 10.0, [3, 4, 5], 0.4, level=0.95)
    assert (np.diff(found.arrival_rate_max) > 0).all()
    kept = mmc(found.arrival_rate_max, 10.0, [3, 4, 5]).sojourn_quantile(0.95)
    assert kept == pytest.approx([0.4] * 3, rel=1e-6)


def test_planned_servers_are_enough_and_no_more() -> None:
    station = GeneralStation(30.0, 10.0)
    count = plan_queue(station, 0.12).station.servers
    assert mmc(30, 10, count).sojourn_time <= 0.12 < mmc(30, 10, count - 1).sojourn_time
    late = plan_queue(station, 0.5, 0.95).station.servers
    assert mmc(30, 10, late).sojourn_quantile(0.95) <= 0.5
    with pytest.raises(ModelError, match="service alone"):
        plan_queue(station, 0.1)


def test_headroom_of_the_tandem_meets_its_target() -> None:
    model = VmaParameters(
        30.3, 10, 10, 6, 5, reliability=0.9, visibility_timeout=1.0, failure="timer"
    )
    found = vma_headroom(model, 0.5)
    at_most = replace(model, arrival_rate=found.arrival_rate_max)
    assert vma(at_most).delivery_time == pytest.approx(0.5, rel=1e-9)


@FEW
@given(load=st.floats(0.001, 0.99), servers=st.integers(1, 50))
def test_sensitivity_is_the_slope(load: float, servers: int) -> None:
    rate, step = load * servers, 1e-6 * load * servers
    exact = station_sensitivity(mmc(rate, 1.0, servers))
    low, high = mmc([rate - step, rate + step], 1.0, servers).waiting_time
    slope = (high - low) / (2 * step)
    assert exact.per_arrival_rate == pytest.approx(slope, rel=1e-3, abs=1e-8)
    assert exact.per_server <= 0
    # Both rates times k divide every time by k.
    scaled = float(exact.arrival_rate_elasticity) + float(exact.service_rate_elasticity)
    assert scaled == pytest.approx(-1)
