"""Arrivals that vary in time, with states and in batches, against exact chains and formulas."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import linalg, stats

from dovemq.models.arrivals import Arrivals, Batches, ModulatedPoisson, RateSteps, Sizes
from dovemq.models.distributions import Erlang, Exponential
from dovemq.models.simulation import SimulationRun, simulate_network
from dovemq.models.simulation.network.state import EVENTS
from tests.models.chains import stationary
from tests.models.simulation.stations import RUN, single

Floats = NDArray[np.float64]
SIGNIFICANCE = 0.001
MODULATED = ModulatedPoisson((0.2, 1.3), ((0.0, 0.1), (0.2, 0.0)))


def arrival_times(arrival: Arrivals, horizon: float) -> Floats:
    run = SimulationRun(horizon, replications=1, seed=5, record_rows_max=1_000_000)
    record = simulate_network(single(Exponential(1e-6), arrival), run).record
    times: Floats = record["time"][record["event"] == EVENTS.index("arrived")]
    return times


def test_queue_with_a_rate_in_steps_holds_the_mean_of_its_exact_chain() -> None:
    """The cyclic M(t)/M/1 by exponentials of its generator, with up to 80 tasks."""
    steps = RateSteps((0.2, 1.3), (15.0, 10.0))
    found = simulate_network(single(Exponential(1.0), steps), RUN)
    size, numbers = 81, np.arange(81.0)
    whole, areas = np.eye(size), np.zeros(size)
    for rate, length in zip(steps.rates, steps.lengths, strict=True):
        generator = np.diag(np.full(size - 1, rate), 1) + np.diag(np.ones(size - 1), -1)
        generator -= np.diag(generator.sum(1))
        wide = np.zeros((size + 1, size + 1))
        wide[:size, :size], wide[:size, size] = generator, numbers
        moved = linalg.expm(wide * length)
        areas += whole @ moved[:size, size]
        whole = whole @ moved[:size, :size]
    start = np.linalg.matrix_power(whole, 200)[0]
    assert found.in_system.holds(float(start @ areas) / steps.cycle)
    assert found.throughput_of["job"].holds(1 / steps.mean)


@pytest.mark.parametrize("linear", [False, True])
def test_thinned_arrivals_follow_the_rate(linear: bool) -> None:
    steps = RateSteps((2.0, 6.0, 0.0, 4.0), (1.0, 2.0, 0.5, 1.5), linear)
    times = arrival_times(steps, 10_000.0) % steps.cycle
    ends = np.cumsum(steps.lengths)
    after = [*steps.rates[1:], steps.rates[0]] if linear else list(steps.rates)
    areas = 0.5 * (np.array(steps.rates) + after) * steps.lengths
    counts, _ = np.histogram(times, [0.0, *ends])
    expected = areas / areas.sum() * counts.sum()
    assert areas.sum() / steps.cycle == pytest.approx(1 / steps.mean)
    seen = expected > 0
    assert counts[~seen].sum() == 0
    assert stats.chisquare(counts[seen], expected[seen]).pvalue > SIGNIFICANCE


def test_modulated_arrivals_at_a_server_are_the_exact_chain() -> None:
    """MMPP/M/1 as a chain of state and number, with up to 300 tasks."""
    found = simulate_network(single(Exponential(1.0), MODULATED), replace(RUN, horizon=40_000.0))

    def moves(state: tuple[int, int]) -> Iterable[tuple[tuple[int, int], float]]:
        phase, number = state
        yield (1 - phase, number), MODULATED.switching[phase][1 - phase]
        if number < 300:
            yield (phase, number + 1), MODULATED.rates[phase]
        if number:
            yield (phase, number - 1), 1.0

    chances = stationary((0, 0), moves)
    present = math.fsum(chance * number for (_, number), chance in chances.items())
    assert found.in_system.holds(present)
    assert found.sojourn.holds(present * MODULATED.mean)


def test_three_states_have_their_shares_and_the_dispersion_of_their_counts() -> None:
    process = ModulatedPoisson((0.0, 2.0, 10.0), ((0, 1, 0), (0.5, 0, 0.5), (2, 0, 0)))
    assert process.state_shares == pytest.approx((4 / 9, 4 / 9, 1 / 9))
    counts = np.histogram(arrival_times(process, 40_000.0), np.arange(0, 40_001, 200))[0]
    assert counts.mean() / 200 == pytest.approx(1 / process.mean, rel=0.03)
    assert counts.var() / counts.mean() == pytest.approx(process.scv, rel=0.35)


@pytest.mark.parametrize(("sizes", "second"), [("fixed", 4.0), ("geometric", 7.0)])
def test_batches_at_a_server_wait_as_mxm1_says(sizes: Sizes, second: float) -> None:
    """L = ρ(1 + E[X²]/E[X])/(2(1 − ρ)) (Gross and Harris 1998, §3.1); `second` is the ratio."""
    found = simulate_network(
        single(Exponential(1.0), Batches(Exponential(4 / 0.6), 4.0, sizes)), RUN
    )
    assert found.in_system.holds(0.6 * (1 + second) / (2 * 0.4))
    assert found.throughput_of["job"].holds(0.6)


def test_batches_arrive_at_the_times_of_their_process() -> None:
    times = arrival_times(Batches(Erlang(1.0, 4), 3.0), 500.0)
    _, counts = np.unique(times, return_counts=True)
    assert set(counts[:-1].tolist()) == {3}


@pytest.mark.parametrize(
    ("process", "scv"),
    [
        (RateSteps((1.0, 3.0), (1.0, 1.0)), 1.0),
        (Batches(Exponential(1.0), 4), 4.0),
        (Batches(Exponential(1.0), 4.0, "geometric"), 7.0),
        (Batches(Erlang(1.0, 4), 4), 1.0),
        (ModulatedPoisson((2.0, 2.0), ((0, 1), (1, 0))), 1.0),
    ],
)
def test_scv_of_a_process_is_the_limit_of_its_dispersion(process: Arrivals, scv: float) -> None:
    assert process.scv == pytest.approx(scv)
