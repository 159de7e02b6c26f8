"""A queue of several partitions in closed form, against stations, simulation and hand counts."""

import math

import pytest

from dovemq.models.analytic import mg1, mmc
from dovemq.models.analytic.percentiles import GeneralStation
from dovemq.models.errors import ModelParameterInvalid, TooLarge
from dovemq.models.planning.capacity import (
    Candidate,
    LatencyTarget,
    UnitPrices,
    by_formula,
    candidates,
    cheapest,
    judged,
)
from dovemq.models.planning.partitioned import PartitionedQueue
from dovemq.models.simulation import SimulationRun, simulate_network


def test_one_partition_is_a_station() -> None:
    queue, station = PartitionedQueue(8, 1, consumers=10), mmc(8, 1, 10)
    assert queue.sojourn_time() == pytest.approx(float(station.sojourn_time))
    for level in (0.5, 0.95, 0.999):
        exact = float(station.sojourn_quantile(level))
        assert queue.sojourn_quantile(level) == pytest.approx(exact, rel=1e-5)
    varied = PartitionedQueue(0.7, 1, service_scv=3.0)
    assert varied.sojourn_time() == pytest.approx(float(mg1(0.7, 1, 3.0).sojourn_time))


def test_consumers_are_dealt_out_evenly() -> None:
    queue = PartitionedQueue(3, 1, consumers=8, partitions=3)
    assert queue.allotment == ((3, 2), (2, 1))
    means = [float(mmc(1, 1, servers).sojourn_time) for servers in (3, 3, 2)]
    assert queue.sojourn_time() == pytest.approx(sum(means) / 3)
    assert [topic.consumers for topic in queue.network().topics] == [3, 3, 2]


def test_a_partition_that_is_a_station_adds_its_own_sojourn() -> None:
    queue = PartitionedQueue(3, 1, consumers=6, partitions=2, partition_rate=2.5)
    expected = float(mmc(1.5, 2.5, 1).sojourn_time) + float(mmc(1.5, 1, 3).sojourn_time)
    assert queue.sojourn_time() == pytest.approx(expected)


def test_the_closed_form_lies_in_the_interval_of_the_simulation() -> None:
    queue = PartitionedQueue(3, 1, consumers=7, partitions=2, partition_rate=2.5)
    found = simulate_network(queue.network(), SimulationRun(4000, 200, 20, seed=1))
    assert found.sojourn.holds(queue.sojourn_time())
    for level in (0.5, 0.95):
        estimate = found.quantile(level)
        bin_width = 0.008 * estimate.mean
        assert abs(queue.sojourn_quantile(level) - estimate.mean) <= (
            estimate.half_width + bin_width
        )


def test_the_fewest_consumers_and_the_partition_decide_about_stability() -> None:
    assert PartitionedQueue(4, 1, consumers=5).stable
    uneven = PartitionedQueue(4, 1, consumers=5, partitions=2)
    assert not uneven.stable
    assert uneven.sojourn_time() == uneven.sojourn_quantile(0.9) == math.inf
    assert not PartitionedQueue(4, 1, consumers=50, partition_rate=4).stable


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"arrival_rate": 0}, "arrival_rate"),
        ({"service_rate": -1}, "service_rate"),
        ({"consumers": 0}, "consumers"),
        ({"partitions": 3}, "partitions is 3"),
        ({"partition_rate": 0}, "partition_rate"),
        ({"service_scv": -1}, "service_scv"),
    ],
)
def test_invalid_queue_is_refused(wrong: dict[str, float], reason: str) -> None:
    given = {"arrival_rate": 1, "service_rate": 1, "consumers": 2, **wrong}
    with pytest.raises(ModelParameterInvalid, match=reason):
        PartitionedQueue(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("partition_rate", [math.inf, 2.5])
@pytest.mark.parametrize(("arrival_scv", "service_scv"), [(1.1, 1.1), (0.5, 2.0), (2.0, 0.5)])
def test_quantiles_beyond_exponential_times_are_near_the_simulated_ones(
    arrival_scv: float, service_scv: float, partition_rate: float
) -> None:
    queue = PartitionedQueue(3, 1, 5, 2, arrival_scv, service_scv, partition_rate)
    run = SimulationRun(20_000, 2_000, 4, seed=1)
    simulated = simulate_network(queue.network(), run).quantile(0.95).mean
    assert not queue.exact
    assert queue.sojourn_quantile(0.95) == pytest.approx(simulated, rel=0.1)


@pytest.mark.parametrize("partition_rate", [math.inf, 2.5])
def test_quantile_hardly_changes_with_an_scv_near_1(partition_rate: float) -> None:
    exact = PartitionedQueue(3, 1, 5, 2, 1.0, 1.0, partition_rate).sojourn_quantile(0.95)
    near = PartitionedQueue(3, 1, 5, 2, 1.001, 1.001, partition_rate).sojourn_quantile(0.95)
    assert near == pytest.approx(exact, rel=5e-3)


def test_one_partition_is_one_station() -> None:
    queue = PartitionedQueue(3, 1, 4, 1, 0.5, 2.0)
    station = GeneralStation(3, 1, 4, 0.5, 2.0)
    assert queue.sojourn_quantile(0.95) == pytest.approx(station.sojourn_quantile(0.95))


def _candidates(**more: float) -> list[Candidate]:
    queue = PartitionedQueue(30, 10, **more)  # type: ignore[arg-type]
    prices = UnitPrices(partition=2.0, consumer=1.0)
    return candidates(queue, [1, 2, 3], [2, 4, 6, 8], [0.5, 1.0], prices)


def test_the_cheapest_is_that_of_a_search_through_all() -> None:
    target = LatencyTarget(0.15)
    found = by_formula(_candidates(partition_rate=40.0), target)
    best = cheapest(found)
    for load in (0.5, 1.0):
        own = [
            each for each in found if each.candidate.load == load and each.latency <= target.latency
        ]
        chosen = best[load]
        assert chosen is not None
        assert chosen.candidate.cost == min(each.candidate.cost for each in own)
        assert chosen.met
    assert cheapest(by_formula(_candidates(), LatencyTarget(0.05)))[1.0] is None


def test_partitions_without_a_consumer_are_no_candidates() -> None:
    asked = [(each.queue.partitions, each.queue.consumers) for each in _candidates()]
    assert (3, 2) not in asked
    assert len(asked) == 2 * (3 * 4 - 1)
    with pytest.raises(TooLarge):
        candidates(PartitionedQueue(1, 2), range(1, 999), range(1, 999), [1.0], UnitPrices())


def test_target_inside_the_interval_is_neither_met_nor_missed() -> None:
    candidate = _candidates()[0]
    assert judged(candidate, LatencyTarget(1.0), 0.9, 0.8, 1.0).met is True
    assert judged(candidate, LatencyTarget(1.0), 0.9, 0.8, 1.1).met is None
    assert judged(candidate, LatencyTarget(1.0), 1.2, 1.1, 1.3).met is False
    unsure = judged(candidate, LatencyTarget(1.0), 0.9, 0.8, 1.1)
    assert cheapest([unsure]) == {candidate.load: None}
