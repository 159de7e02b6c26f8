"""Response times, medians and intervals, pending messages, and CPU times."""

import math
import os
import random
import statistics

import pytest

from dovemq.load.costs import ProcessUnknown, tree_cpu_seconds
from dovemq.load.counters import Activity, PendingMessages, WorkerCounters, WorkerNews
from dovemq.load.results import figure, measured
from dovemq.load.timings import Timings, joined


def drawn_times(seed: int, count: int) -> list[int]:
    rng = random.Random(seed)
    return [int(rng.lognormvariate(7, 1.5)) for _ in range(count)]


def timings_of(times: list[int]) -> Timings:
    timings = Timings()
    for each in times:
        timings.add(each)
    return timings


def test_short_times_are_exact_and_steps_never_go_back() -> None:
    for time_us in (0, 1, 64, 127):
        assert timings_of([time_us]).quantile_us(0.5) == time_us
    found = [timings_of([time_us, 1 << 40]).quantile_us(0.5) for time_us in range(100, 5_000)]
    assert found == sorted(found)


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("seed", range(5))
def test_quantile_is_right_to_one_per_cent(seed: int, share: float) -> None:
    times = drawn_times(seed, 10_000)
    exact = sorted(times)[math.ceil(share * len(times)) - 1]
    assert timings_of(times).quantile_us(share) == pytest.approx(exact, rel=0.01)


def test_times_of_several_processes_add_up_to_those_of_one() -> None:
    parts = [drawn_times(seed, 500) for seed in range(3)]
    whole = timings_of([each for part in parts for each in part])
    assert joined(timings_of(part) for part in parts).times() == whole.times()


def test_count_mean_and_greatest_of_times_are_exact() -> None:
    times = timings_of([1_000, 2_000, 6_000]).times()
    assert (times.count, times.mean, times.greatest) == (3, 3.0, 6.0)
    assert times.p50 == pytest.approx(2.0, rel=0.01)
    assert times.p99 <= times.greatest


def test_nothing_measured_is_zero() -> None:
    times = Timings().times()
    assert (times.count, times.mean, times.p99) == (0, 0.0, 0.0)


def test_interval_of_a_median_is_least_and_greatest_when_values_are_few() -> None:
    found = figure([3.0, 1.0, 2.0])
    assert (found.median, found.low, found.high) == (2.0, 1.0, 3.0)


@pytest.mark.parametrize("count", [6, 9, 20, 51])
def test_interval_of_a_median_has_the_stated_confidence(count: int) -> None:
    rng = random.Random(count)
    rounds = 2_000
    holds = 0
    for _ in range(rounds):
        found = figure([rng.random() for _ in range(count)])
        holds += found.low <= 0.5 <= found.high
    # Three standard errors below 95 %.
    assert holds / rounds > 0.95 - 3 * (0.95 * 0.05 / rounds) ** 0.5


def test_interval_of_many_values_leaves_the_outer_ones_out() -> None:
    values = [float(each) for each in range(101)]
    found = figure(values)
    assert found.median == statistics.median(values)
    assert 35 < found.low < 45 < 55 < found.high < 65


def test_rate_counts_from_the_end_of_the_warm_up_to_the_last_answer() -> None:
    activity = Activity()
    activity.counts_from_us = 1_000_000
    activity.done(10, 900_000, 1_100_000)
    activity.done(10, 1_200_000, 1_500_000)
    activity.done(30, 2_000_000, 3_000_000)
    found = measured([activity])
    assert (found.messages, found.rate, found.times.count) == (50, 20.0, 2)


def news(worker: int = 0, *, sending: bool = False, **ids: list[str]) -> WorkerNews:
    counters = WorkerCounters(worker)
    for name, given in ids.items():
        getattr(counters.news, name).extend(given)
    return counters.take_news(sending=sending)


def test_message_is_missing_from_its_acknowledgement_until_it_is_received() -> None:
    account = PendingMessages(1)
    account.add(news(acknowledged=["a", "b", "c"]))
    account.add(news(received=["b", "c"], settled=["c"]))
    assert (account.missing, account.open) == (1, 1)
    account.add(news(received=["a"], settled=["a", "b"]))
    assert (account.missing, account.open) == (0, 0)


def test_message_may_be_received_before_its_acknowledgement() -> None:
    account = PendingMessages(2)
    account.add(news(1, received=["g"], settled=["g"]))
    account.add(news(0, acknowledged=["g"]))
    assert (account.missing, account.open) == (0, 0)


def test_sending_is_over_when_it_is_in_every_process() -> None:
    account = PendingMessages(2)
    account.add(news(0, sending=False))
    assert account.sending
    account.add(news(1, sending=False))
    assert not account.sending


def test_cpu_of_a_process_grows_and_a_stranger_is_refused() -> None:
    before = tree_cpu_seconds(os.getpid())
    assert sum(range(200_000))
    assert tree_cpu_seconds(os.getpid()) > before
    with pytest.raises(ProcessUnknown, match="no process 999999999"):
        tree_cpu_seconds(999_999_999)
