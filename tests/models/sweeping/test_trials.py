"""Replication n of a sweep equals replication n of the model's own simulation, value by value."""

from pathlib import Path

import pytest

from dovemq.models.distributions import Exponential
from dovemq.models.petri import Count, Laboratory, TimeAverage, write_net
from dovemq.models.planning.partitioned import PartitionedQueue
from dovemq.models.planning.spec import read_spec
from dovemq.models.simulation import SimulationRun, simulate_network, simulate_tandem
from dovemq.models.sweeping import Sweep
from dovemq.models.vma.parameters import timed_vma
from tests.models.petri.queueing import station
from tests.models.sweeping.asking import QUEUE, VMA, run_here, sweep_of

NETWORK = """
model = "network"
file = "plan.toml"
measures = ["response_time", "response_time:1", "response_p90:1", "utilisation:B",
            "work_in_progress"]
[grid]
load = [0.5, 1.0]
"topics.B.consumers" = [2, 3]
[run]
horizon = 200
[replications]
min = 2
"""
PLAN = """
[topics]
A = { service_rate = 3 }
B = { service_rate = 2, service_scv = 0.5 }
[jobs]
1 = { arrival_rate = 2, path = ["A", "B"] }
2 = { arrival_rate = 0.5, path = ["B"] }
"""
NET = """
model = "cpn"
file = "net.json"
measures = ["count Arrive", "size('Queue') + 1"]
[grid]
rate = [1.0, 1.5]
[run]
horizon = 50
warm_up = 10
[replications]
min = 2
"""


def _run_of(sweep: Sweep, configuration: int) -> SimulationRun:
    question = sweep.question
    return SimulationRun(
        question.horizon,
        question.warm_up,
        replications=sweep.stopping.least,
        seed=sweep.seed_of(configuration),
        slices=1,
    )


def test_replications_of_a_queue_are_those_of_the_network_kernel() -> None:
    sweep = sweep_of(QUEUE)
    findings = run_here(sweep)
    place = sweep.points.index((0.8, 2))
    network = PartitionedQueue(0.8, 1, consumers=2).network()
    found = simulate_network(network, _run_of(sweep, place))
    station = found.stations["consumers0"]
    expected = [
        found.sojourn,
        station.wait,
        station.waiting,
        found.in_system,
        station.busy,
        found.throughput_of["message"],
        found.quantile(0.95),
    ]
    assert [each.values for each in findings.estimates(place)] == [e.values for e in expected]


def test_replications_of_the_tandem_are_those_of_its_kernel() -> None:
    sweep = sweep_of(VMA)
    findings = run_here(sweep)
    place = sweep.points.index((0.9, "in"))
    tandem = timed_vma(
        Exponential(1 / 30.3), Exponential(0.1), Exponential(0.1), 5, 5, 0.9, order="in"
    )
    found = simulate_tandem(tandem, _run_of(sweep, place))
    expected = [found.sojourn, found.waiting, found.leases, found.quantile(0.95)]
    assert [each.values for each in findings.estimates(place)] == [e.values for e in expected]


def test_replications_of_a_network_use_the_changed_planning_file(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    sweep = sweep_of(NETWORK, tmp_path)
    findings = run_here(sweep)
    place = sweep.points.index((0.5, 3))
    topics = {
        "A": {"service_rate": 3},
        "B": {"service_rate": 2, "service_scv": 0.5, "consumers": 3},
    }
    jobs = {
        "1": {"arrival_rate": 1.0, "path": ["A", "B"]},
        "2": {"arrival_rate": 0.25, "path": ["B"]},
    }
    network = read_spec({"topics": topics, "jobs": jobs}).problem.network
    found = simulate_network(network, _run_of(sweep, place))
    expected = [
        found.sojourn,
        found.sojourn_of["1"],
        found.quantile(0.9, "1"),
        found.stations["B"].busy,
        found.in_stations,
    ]
    assert [each.values for each in findings.estimates(place)] == [e.values for e in expected]


def test_replications_of_a_net_are_those_of_its_laboratory(tmp_path: Path) -> None:
    net = station(2, "exponential(rate)", "exponential(1.0)", rate=1.0)
    (tmp_path / "net.json").write_text(write_net(net))
    sweep = sweep_of(NET, tmp_path)
    findings = run_here(sweep)
    level = TimeAverage("size('Queue') + 1", "size('Queue') + 1")
    monitors: list[Count | TimeAverage] = [Count("count Arrive", "Arrive"), level]
    laboratory = Laboratory(net.with_constants(rate=1.5), monitors)
    report = laboratory.replicate(2, until=60, warmup=10, seed=sweep.seed_of(1))
    expected = [
        tuple(run.figures[monitor.name].mean for run in report.runs) for monitor in monitors
    ]
    assert [each.values for each in findings.estimates(1)] == expected
    assert findings.stable == [None, None]


def test_each_configuration_has_its_own_seed_unless_random_numbers_are_common() -> None:
    sweep = sweep_of(QUEUE)
    seeds = {sweep.seed_of(number) for number in range(len(sweep.points))}
    assert len(seeds) == len(sweep.points)
    common = sweep_of(QUEUE, None, ("seed = 4", "seed = 4\ncommon = true"))
    assert {common.seed_of(number) for number in range(len(sweep.points))} == {4}


def test_figures_of_a_configuration_do_not_depend_on_the_others() -> None:
    whole = run_here(sweep_of(QUEUE))
    part = sweep_of(QUEUE, None, ('consumers = "1:3"', "consumers = [1]"), ("[0.5, 0.8]", "[0.5]"))
    assert run_here(part).estimates(0) == whole.estimates(0)


def test_unstable_configuration_is_run_only_on_request() -> None:
    change = ("[0.5, 0.8]", "[0.5, 1.8]")
    findings = run_here(sweep_of(QUEUE, None, change))
    assert findings.stable == [True, True, True, False, True, True]
    assert [findings.replications(place) for place in range(6)] == [3, 3, 3, 0, 3, 3]
    asked = sweep_of(QUEUE, None, change, ("seed = 4", "unstable = true"))
    assert run_here(asked).replications(3) == 3


def test_figures_of_a_partitioned_queue_cover_all_partitions() -> None:
    sweep = sweep_of(
        QUEUE, None, ("service_rate = 1", "service_rate = 1\npartitions = 2"), ('"1:3"', "[3]")
    )
    findings = run_here(sweep)
    sojourn, wait, waiting, number, utilisation, throughput, _ = (
        each.mean for each in findings.estimates(1)
    )
    assert sojourn == pytest.approx(wait + 1, rel=0.1)
    assert waiting == pytest.approx(wait * throughput, rel=0.1)
    assert number == pytest.approx(waiting + 3 * utilisation, rel=1e-6)
    assert utilisation == pytest.approx(0.8 / 3, rel=0.1)
