"""The `vma` net: its unit of time, its lengths of runs, repeated deliveries and short timeouts."""

import math
from dataclasses import replace

import pytest

from dovemq.models.distributions import Deterministic, Empirical, HyperExponential
from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.petri import Simulation
from dovemq.models.petri.vma import simulate_vma, vma_net
from dovemq.models.petri.vma.ticks import ticks_per_second
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.vma.parameters import FAILURES, PAPER, Failure, VmaParameters
from tests.models.petri.queueing import sojourn

SHORT = VmaParameters(
    17.3, 7.1, 9.4, 4, 3, reliability=0.93, failure="timer", visibility_timeout=0.2
)
"""A timeout that many services outlast, so that messages are delivered twice."""


@pytest.mark.parametrize(
    ("given", "ticks"),
    [
        (PAPER, 1_000),
        (replace(PAPER, arrival_rate=41.0), 10_000),
        (replace(PAPER, arrival_rate=2_000.0), 100_000),
        (replace(PAPER, broker_rate=3e6), 100_000_000),
        (replace(PAPER, link_delay=0.0005), 10_000),
        (replace(PAPER, link_delay=0.00123), 100_000),
        (replace(PAPER, failure="timer", visibility_timeout=1.00001), 1_000),
        (replace(PAPER, sender=Deterministic(0.0015), sender_rate=1 / 0.0015), 10_000),
        (replace(PAPER, sender=Empirical((0.1, 0.1001)), sender_rate=1 / 0.10005), 10_000),
        (
            replace(PAPER, sender=HyperExponential((0.5, 0.5), (0.199, 0.001)), sender_rate=10),
            100_000,
        ),
    ],
)
def test_tick_is_short_enough_for_the_shortest_time(given: VmaParameters, ticks: int) -> None:
    assert ticks_per_second(given) == ticks


def test_time_below_the_shortest_tick_is_refused() -> None:
    with pytest.raises(ModelParameterInvalid, match="the shortest time is 1e-14 s"):
        vma_net(replace(PAPER, sender_rate=1e14))


def test_service_times_below_a_millisecond_agree_with_the_formula() -> None:
    given = VmaParameters(2_000.0, 900.0, 1_100.0, 3, 3, reliability=0.98)
    figures = simulate_vma(given, replications=8, duration_s=2, seed=2, confidence=0.99)
    exact = sojourn(3, 2_000.0, 900.0) + sojourn(3, 2_000.0 / 0.98, 1_100.0) / 0.98
    assert exact == pytest.approx(0.003136, rel=1e-3)
    assert figures.delivery_time_s.mean == pytest.approx(exact, rel=0.06)
    assert figures.throughput_per_s.mean == pytest.approx(2_000, rel=0.03)


@pytest.mark.parametrize("seconds", [-5.0, 0.0, math.inf, math.nan, 1e308])
def test_run_without_a_finite_length_is_refused(seconds: float) -> None:
    with pytest.raises(ModelParameterInvalid, match="duration_s is"):
        simulate_vma(PAPER, replications=1, duration_s=seconds)


@pytest.mark.parametrize("seconds", [-1.0, math.inf, math.nan])
def test_warm_up_without_a_finite_length_is_refused(seconds: float) -> None:
    with pytest.raises(ModelParameterInvalid, match="warmup_s is"):
        simulate_vma(PAPER, replications=1, duration_s=10, warmup_s=seconds)


def test_message_that_is_delivered_twice_counts_at_its_first_delivery() -> None:
    found = simulate_vma(replace(SHORT, link_delay=0.03), replications=1, duration_s=60)
    (run,) = found.report.runs
    figures = run.figures
    assert figures["duplicate"].count > 50
    assert figures["Msg_Delivery_Latency"].count == figures["cancelled"].count
    assert figures["delivered"].count == figures["cancelled"].count + figures["duplicate"].count
    assert found.throughput_per_s.mean == pytest.approx(figures["cancelled"].count / 60, rel=1e-3)


@pytest.mark.parametrize("failure", FAILURES)
def test_thread_takes_the_next_message_after_the_acknowledgement_of_the_last(
    failure: Failure,
) -> None:
    timeout = 0.1 if failure == "timer" else 0.0
    given = replace(SHORT, failure=failure, visibility_timeout=timeout, reliability=0.7)
    simulation = Simulation(vma_net(given), seed=5, traced=True)
    under_way: set[int] = set()
    gets = 0
    while gets < 1_000:
        event = simulation.step()
        assert event is not None
        name = event.transition.rpartition(".")[2]
        if name == "Send":
            under_way.add(event.binding["m"].id)
        elif name in ("Cancel", "Lose"):
            under_way.discard(event.binding["m"].id)
        elif name == "Get_Msg":
            assert not under_way
            gets += 1


@pytest.mark.parametrize(
    ("timeout", "link", "arrivals"),
    [(0.1, 0.0, 12.0), (0.05, 0.01, 8.0), (0.2, 0.03, 15.0), (0.5, 0.05, 17.3), (5.0, 0.0, 17.3)],
)
def test_net_agrees_with_the_kernel_at_short_and_long_timeouts(
    timeout: float, link: float, arrivals: float
) -> None:
    given = replace(SHORT, visibility_timeout=timeout, link_delay=link, arrival_rate=arrivals)
    net = simulate_vma(given, replications=8, duration_s=60, seed=1, confidence=0.99)
    kernel = simulate_tandem(given, SimulationRun(60.0, replications=80, seed=1))
    ours, theirs = net.delivery_time_s, kernel.sojourn
    assert abs(ours.mean - theirs.mean) < ours.half_width + theirs.half_width
