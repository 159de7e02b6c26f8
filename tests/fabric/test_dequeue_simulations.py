"""The strategies in a simulated queue: the kernel agrees with them, and the tuner finds its way."""

import statistics

import pytest

from dovemq.fabric.dequeue import (
    DequeueCounts,
    SleepMemory,
    SleepObservation,
    SleepSettings,
    summarise,
    tune_sleep,
)
from dovemq.fabric.dequeue.costs import PAPER_UNIT_COSTS
from dovemq.models.simulation import SimulationRun
from dovemq.models.simulation.rds.parameters import RdsParameters
from dovemq.models.simulation.rds.result import simulate_dequeues
from tests.fabric.slow_dequeues import SlowDequeues, Tally

HORIZON_S = 10.0
PERIOD_S = 4.0
PERIODS = 40
SEEDS = range(12)
SYSTEMS = {
    "conventional": RdsParameters("conventional", 20.0, enqueue_rate=797.3),
    "pms": RdsParameters("pms", 20.0, enqueue_rate=797.3, period=0.5),
    "regulated": RdsParameters("pms", 40.0, enqueue_rate=797.3, period=0.5, regulation=True),
    "rds": RdsParameters("rds", 60.0, enqueue_rate=797.3, sleep=0.3),
    "rds that takes more": RdsParameters("rds", 9.0, 797.3, sleep=0.3, parked_blocks=False),
    "closed": RdsParameters("conventional", 60.0, enqueue_rate=797.3, loop="closed"),
    "all closed": RdsParameters("rds", 60.0, senders=7, loop="closed", sleep=0.3, controllers=40),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_kernel_and_plain_simulation_agree(name: str) -> None:
    system = SYSTEMS[name]
    kernel = simulate_dequeues(system, SimulationRun(HORIZON_S, replications=40))
    tallies = []
    for seed in SEEDS:
        plain = SlowDequeues(system, seed)
        plain.run(HORIZON_S)
        tallies.append(plain.tally)
    pairs = {
        "throughput": (kernel.throughput, [each.received / HORIZON_S for each in tallies]),
        "hit rate": (kernel.hit_rate, [_hit_rate(each) for each in tallies]),
        "messages per hit": (
            kernel.messages_per_hit,
            [each.received / each.hits for each in tallies],
        ),
        "sojourn": (kernel.sojourn, [each.waited / each.received for each in tallies]),
    }
    for measure, (estimate, values) in pairs.items():
        # Four standard errors of the difference of both means.
        spread = (statistics.variance(estimate.values) / estimate.samples) + (
            statistics.variance(values) / len(values)
        )
        apart = abs(estimate.mean - statistics.fmean(values))
        assert apart <= 4 * spread**0.5 + 1e-9, measure


def _hit_rate(tally: Tally) -> float:
    return tally.hits / (tally.hits + tally.misses)


def _observed(tally: Tally) -> SleepObservation:
    counts = DequeueCounts(tally.received, tally.hits, tally.received, tally.misses)
    cost = summarise(counts, PAPER_UNIT_COSTS).cost_per_message or 0.0
    waited_ms = 1000 * tally.waited / max(tally.received, 1)
    rate = tally.received / PERIOD_S
    return SleepObservation(rate, rate, waited_ms, cost)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tuned_sleep_gives_senders_the_time_that_idle_consumers_wasted(seed: int) -> None:
    """Thirty consumers and six senders wait for their answers; a short sleep means many misses."""
    system = RdsParameters("rds", 60.0, senders=6, queues=3, controllers=30, loop="closed")
    settings = SleepSettings(start_ms=20, latency_ms_max=1_000.0, rest_periods=3)
    fixed = {}
    for sleep in (0.02, 2.0):
        one = SlowDequeues(system, seed)
        one.sleep = sleep
        one.run(40.0)
        fixed[sleep] = one.tally.received / 40.0
    tuned, memory = SlowDequeues(system, seed), SleepMemory.first(settings)
    observed = []
    for number in range(1, PERIODS + 1):
        tuned.sleep = memory.sleep_ms / 1000
        tuned.tally = Tally()
        tuned.run(number * PERIOD_S)
        observed.append(_observed(tuned.tally))
        _, memory = tune_sleep(observed[-1], memory, settings)
    late = observed[PERIODS // 2 :]
    received = statistics.fmean(each.received for each in late)
    assert received >= 0.8 * fixed[2.0] >= 3 * fixed[0.02]
    assert statistics.median(each.latency_ms for each in late) <= settings.latency_ms_max


def test_no_controller_is_starved_by_the_others() -> None:
    """Each controller's view goes on in turn, so that none of the queues is left out for long."""
    system = RdsParameters("rds", 20.0, enqueue_rate=500.0, sleep=0.2)
    plain = SlowDequeues(system, 3)
    plain.run(20.0)
    assert plain.tally.received >= 0.97 * 500 * 20
    assert plain.tally.waited / plain.tally.received <= 0.5
