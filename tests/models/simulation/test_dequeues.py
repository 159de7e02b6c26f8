"""The kernel of `rds` obeys the laws that hold for every queue, and refuses invalid input."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from dovemq.models.errors import ModelError
from dovemq.models.simulation import SimulationRun
from dovemq.models.simulation.rds.parameters import RdsParameters
from dovemq.models.simulation.rds.result import RdsResult, simulate_dequeues

RUN = SimulationRun(40.0, replications=4)
SYSTEMS: Mapping[str, RdsParameters] = {
    "conventional": RdsParameters("conventional", 8.0),
    "pms": RdsParameters("pms", 8.0, enqueue_rate=800.0),
    "regulated": RdsParameters("pms", 100.0, regulation=True),
    "rds": RdsParameters("rds", 20.0, sleep=1.0),
    "arrival": RdsParameters("rds", 8.0, sleep=1.0, wake="arrival"),
    "closed": RdsParameters("conventional", 50.0, loop="closed"),
    "senders": RdsParameters("rds", 50.0, senders=12, loop="closed", controllers=30),
}

systems = pytest.mark.parametrize("name", SYSTEMS)


def _found(name: str, run: SimulationRun = RUN) -> RdsResult:
    return simulate_dequeues(SYSTEMS[name], run)


@systems
def test_work_of_the_servers_is_the_sum_of_the_cost_terms(name: str) -> None:
    """Eq. 5 of the paper; jobs under way at the end of a run make the difference."""
    found, system = _found(name), SYSTEMS[name]
    rate = {each: estimate.mean for each, estimate in found.rate_of.items()}
    work = rate["hits"] * system.hit_cost + rate["misses"] * system.miss_cost
    work += found.throughput.mean * (system.message_cost + system.enqueue_cost)
    work += rate["looks"] * system.look_cost
    in_stock = found.stored.mean * system.enqueue_cost / RUN.horizon
    assert found.busy.mean * system.queues == pytest.approx(work + in_stock, rel=0.01)


@systems
def test_mean_number_in_the_system_is_rate_times_sojourn(name: str) -> None:
    run = SimulationRun(80.0, warm_up=20.0, replications=4)
    found = _found(name, run)
    expected = found.rate_of["sent"].mean * found.sojourn.mean
    assert found.in_system.mean == pytest.approx(expected, rel=0.05)


@systems
def test_accesses_divide_into_hits_and_misses(name: str) -> None:
    found = _found(name)
    hits, misses = (found.rate_of[each].mean for each in ("hits", "misses"))
    assert found.hit_rate.mean == pytest.approx(hits / (hits + misses), rel=0.02)
    assert found.messages_per_hit.mean == pytest.approx(found.throughput.mean / hits, rel=0.02)


def test_requests_keep_their_rate() -> None:
    assert _found("conventional").rate_of["requests"].mean == pytest.approx(80, rel=0.05)


def test_messages_are_sent_at_equal_times() -> None:
    for rate in _found("rds").rate_of["sent"].values:
        assert rate == pytest.approx(2_000)


def test_nothing_is_received_without_requests() -> None:
    idle = simulate_dequeues(replace(SYSTEMS["rds"], request_rate=1e-9), RUN)
    assert idle.done == 0
    assert idle.busy.mean == pytest.approx(2_000 * 0.001 / 10, rel=0.01)


def test_controllers_look_at_every_queue_once_a_period() -> None:
    system = RdsParameters("pms", 1.0, enqueue_rate=100.0, period=0.5)
    assert simulate_dequeues(system, RUN).rate_of["looks"].mean == pytest.approx(200, rel=0.05)


def test_only_rds_parks_requests_and_refuses_new_ones() -> None:
    for name in ("conventional", "pms", "regulated", "closed"):
        found = _found(name)
        assert (found.parked.most, found.rate_of["refused"].most) == (0.0, 0.0)
    found = _found("rds")
    assert found.parked.mean > 0
    assert found.rate_of["refused"].mean > 0
    open_to_all = simulate_dequeues(replace(SYSTEMS["rds"], parked_blocks=False), RUN)
    assert open_to_all.rate_of["refused"].most == 0.0


def test_wake_up_by_arrival_shortens_the_sojourn() -> None:
    slow = RdsParameters("rds", 5.0, enqueue_rate=50.0, sleep=5.0)
    timer, arrival = (
        simulate_dequeues(each, RUN) for each in (slow, replace(slow, wake="arrival"))
    )
    assert arrival.sojourn.mean < timer.sojourn.mean / 2


def test_result_depends_neither_on_workers_nor_on_later_replications() -> None:
    one = _found("rds", replace(RUN, workers=1))
    two = _found("rds", replace(RUN, workers=2, replications=6))
    assert two.throughput.values[:4] == one.throughput.values


def test_quantiles_of_the_sojourn_are_in_order() -> None:
    found = _found("rds")
    quantiles = [found.quantile(each).mean for each in (0.1, 0.5, 0.9, 0.99)]
    assert quantiles == sorted(quantiles)
    assert quantiles[0] >= 0.02


def test_overload_is_named() -> None:
    assert simulate_dequeues(RdsParameters("rds", 10.0, enqueue_rate=5_000.0), RUN).unstable
    assert not _found("rds").unstable


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "push"},
        {"loop": "half"},
        {"wake": "never"},
        {"request_rate": 0.0},
        {"enqueue_rate": -1.0},
        {"sleep": 0.0},
        {"queues": 63},
        {"queues": 0},
        {"fanout": 0},
        {"wanted": 1.5},
        {"miss_cost": -0.1},
        {"senders": -1},
    ],
)
def test_invalid_parameter_is_refused_by_name(changes: dict[str, object]) -> None:
    with pytest.raises(ModelError, match=next(iter(changes))):
        replace(SYSTEMS["rds"], **changes)  # type: ignore[arg-type]
