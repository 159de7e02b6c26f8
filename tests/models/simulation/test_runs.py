"""Replications, workers, seeds, warm-up and intervals."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovemq.models.distributions import Deterministic, Erlang, Exponential
from dovemq.models.estimates import Estimate, difference
from dovemq.models.jobs import JobNetwork, JobRoute, chain, timed_job, timed_topic
from dovemq.models.simulation import (
    SimulationRun,
    TimeHistogram,
    runs,
    simulate_network,
    simulate_tandem,
)
from dovemq.models.simulation.histogram import BINS
from dovemq.models.simulation.runs import settled_from
from dovemq.models.simulation.vma import state
from dovemq.models.vma.parameters import timed_vma
from tests.models.simulation import theory
from tests.models.simulation.records import events_of, times_of

TANDEM = timed_vma(Exponential(1 / 30.3), Exponential(0.1), Exponential(0.1), 5, 5, 0.88)
NETWORK = JobNetwork(
    (timed_topic("one", Exponential(1.0), 2), timed_topic("two", Erlang(0.5, 2), 1)),
    (timed_job("job", Exponential(0.9), JobRoute(chain("one", "two"))),),
)
RUN = SimulationRun(50.0, warm_up=5.0, replications=12, seed=9)


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_result_does_not_depend_on_the_number_of_workers(workers: int) -> None:
    alone, together = RUN, replace(RUN, workers=workers)
    found, expected = simulate_tandem(TANDEM, together), simulate_tandem(TANDEM, alone)
    assert found.sojourn == expected.sojourn
    assert found.in_system == expected.in_system
    assert (found.histogram.counts == expected.histogram.counts).all()
    jobs = [simulate_network(NETWORK, run) for run in (together, alone)]
    assert jobs[0].sojourn_of == jobs[1].sojourn_of
    assert jobs[0].stations == jobs[1].stations


def test_more_replications_leave_the_first_ones_as_they_are() -> None:
    few, many = (
        simulate_tandem(TANDEM, replace(RUN, replications=number)).sojourn.values
        for number in (3, 12)
    )
    assert many[:3] == few


def test_seeds_and_replications_differ_in_every_value() -> None:
    values = [
        value
        for seed in (0, 1, 2)
        for value in simulate_tandem(TANDEM, replace(RUN, seed=seed)).sojourn.values
    ]
    assert len(set(values)) == len(values)


def test_message_meets_the_same_fate_in_any_configuration_of_one_seed() -> None:
    run = SimulationRun(20.0, replications=1, record_rows_max=100_000)
    many = replace(TANDEM, sender_threads=9, broker_threads=7, order="in")
    fates = []
    for tandem in (TANDEM, many):
        events = events_of(tandem, run)
        started, sent = times_of(events, "send_started"), times_of(events, "sent")
        fates.append((times_of(events, "arrived"), started, sent))
    arrived, others = fates[0][0], fates[1][0]
    assert arrived == others
    both = fates[0][2].keys() & fates[1][2].keys()
    assert len(both) > 500
    for message in both:
        services = [sent[message] - started[message] for _, started, sent in fates]
        assert services[0] == pytest.approx(services[1])


def test_common_random_numbers_make_the_interval_of_a_difference_narrow() -> None:
    other = replace(TANDEM, sender_threads=6)
    one, same = simulate_tandem(TANDEM, RUN).sojourn, simulate_tandem(other, RUN).sojourn
    strange = simulate_tandem(other, replace(RUN, seed=77)).sojourn
    assert difference(one, same).half_width < difference(one, strange).half_width / 2


def test_run_that_needs_more_room_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tandem = replace(
        TANDEM, failure="timer", visibility_timeout=0.3, link_delay=0.1, sender_threads=3
    )
    roomy = simulate_tandem(tandem, RUN)
    monkeypatch.setattr(state, "SLOTS_FIRST", 16)
    assert simulate_tandem(tandem, RUN).sojourn == roomy.sojourn


def test_model_without_a_steady_state_is_named_and_still_runs() -> None:
    found = simulate_tandem(replace(TANDEM, broker_threads=3), RUN)
    assert found.unstable == ("broker",)
    assert found.in_system.mean > simulate_tandem(TANDEM, RUN).in_system.mean
    slow = JobNetwork(
        (timed_topic("one", Exponential(1.0), 1),),
        (timed_job("job", Exponential(1.0), JobRoute(chain("one"))),),
    )
    assert simulate_network(slow, RUN).unstable == ("one",)


def test_intervals_hold_theory_as_often_as_they_say() -> None:
    expected = theory.sojourn_vma(30.3, 10.0, 5, 0.88)
    run = SimulationRun(200.0, warm_up=20.0, replications=5, confidence=0.9)
    held = [
        simulate_tandem(TANDEM, replace(run, seed=seed)).sojourn.holds(expected)
        for seed in range(300)
    ]
    assert 0.85 <= np.mean(held) <= 0.95


def test_one_long_run_is_judged_by_batch_means() -> None:
    run = SimulationRun(20_000.0, warm_up=100.0, replications=1, seed=5, confidence=0.99)
    found = simulate_tandem(TANDEM, run).sojourn
    assert found.by == "batches"
    assert found.samples == 20
    assert found.holds(theory.sojourn_vma(30.3, 10.0, 5, 0.88))
    assert abs(found.correlation) < 0.5


def test_nothing_received_is_unknown_and_not_zero() -> None:
    slow = replace(TANDEM, broker_rate=1e-6, broker=Deterministic(1e6))
    found = simulate_tandem(slow, SimulationRun(1.0, replications=3))
    assert math.isnan(found.sojourn.mean)
    assert math.isnan(found.quantile(0.5).mean)
    assert found.done == 0


def test_warm_up_is_found_where_a_series_settles() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.1, 200)
    ramp = np.concatenate((np.linspace(-5, 0, 40), np.zeros(160)))
    assert 30 <= settled_from(ramp + noise) <= 60
    assert settled_from(noise) <= 20
    assert settled_from(np.zeros(5)) == 0


def test_automatic_warm_up_leaves_out_the_empty_start() -> None:
    slow = timed_vma(Exponential(1.0), Exponential(95.0), Deterministic(0.0), 100, 1)
    found = simulate_tandem(
        slow, SimulationRun(2_000.0, warm_up="auto", replications=10, confidence=0.99)
    )
    assert found.warm_up > 50
    plain = simulate_tandem(slow, SimulationRun(2_000.0, replications=10))
    assert plain.in_system.mean < found.in_system.mean


def test_estimate_is_that_of_student() -> None:
    estimate = Estimate((1.0, 2.0, 3.0, 4.0, 5.0), 0.95)
    assert estimate.mean == 3
    assert estimate.half_width == pytest.approx(1.9632, abs=1e-4)
    assert estimate.holds(4.9)
    assert not estimate.holds(5.0)
    assert math.isnan(Estimate((1.0,), 0.95).half_width)


def test_difference_of_unlike_runs_is_refused() -> None:
    with pytest.raises(ValueError, match="2 replications and 3 replications"):
        difference(Estimate((1.0, 2.0), 0.9), Estimate((1.0, 2.0, 3.0), 0.9))


@given(st.lists(st.floats(1e-3, 1e5), min_size=50, max_size=200), st.floats(0.05, 0.95))
def test_quantile_of_the_histogram_is_within_a_bin_of_the_true_one(
    times: list[float], probability: float
) -> None:
    histogram = TimeHistogram(np.zeros((1, BINS), np.int64), 1.0, 0.95)
    counts, _ = np.histogram(times, histogram.edges)
    found = TimeHistogram(counts[np.newaxis], 1.0, 0.95).quantile(probability).mean
    below = np.quantile(times, probability, method="inverted_cdf")
    assert found == pytest.approx(below, rel=1 / 128)


def test_quantiles_of_a_single_exponential_queue_are_exponential() -> None:
    tandem = timed_vma(Exponential(2.0), Exponential(1.0), Deterministic(0.0), 1, 1)
    found = simulate_tandem(
        tandem, SimulationRun(40_000.0, 100.0, replications=10, seed=1, confidence=0.99)
    )
    for probability in (0.5, 0.9, 0.99):
        expected = -2.0 * math.log(1 - probability)
        estimate = found.quantile(probability)
        assert estimate.mean == pytest.approx(expected, abs=estimate.half_width + expected / 500)


def test_run_that_pauses_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [simulate_tandem(TANDEM, RUN).sojourn, simulate_network(NETWORK, RUN).sojourn]
    monkeypatch.setattr(runs, "EVENTS_AT_ONCE_MAX", 17)
    found = [simulate_tandem(TANDEM, RUN).sojourn, simulate_network(NETWORK, RUN).sojourn]
    assert found == expected


@pytest.mark.parametrize("workers", [1, 3])
def test_progress_is_reported_after_each_replication(workers: int) -> None:
    reported: list[int] = []
    simulate_tandem(TANDEM, replace(RUN, workers=workers), reported.append)
    assert reported == list(range(1, 13))


def test_without_numba_the_message_says_what_to_install() -> None:
    program = "import sys; sys.modules['numba'] = None; import dovemq.models.simulation"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "extra 'models'" in done.stderr
