"""Simulation of a network of topics and jobs, and its results as estimates with their intervals."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from dovemq.models.estimates import Estimate
from dovemq.models.jobs import JobNetwork
from dovemq.models.simulation.columns import SeriesColumns, SimulationResult
from dovemq.models.simulation.network.kernel import advance
from dovemq.models.simulation.network.state import (
    NetworkArrays,
    grown,
    is_ruled,
    network_arrays,
    network_layout,
    scale_of,
)
from dovemq.models.simulation.network.stations import RULED
from dovemq.models.simulation.runs import Progress, SimulationRun, simulated


@dataclass(frozen=True, slots=True)
class StationResult:
    """Figures of one topic. `wait` is the time of a task from ready to started.

    `waiting` tasks and the share of `busy` consumers are means over time; `any_busy` is the share
    of the time in which at least one consumer is busy. `blocked` is the share of consumers that
    hold a task without room at the next topic, and `orbit` the tasks that will try again. `refused`
    and `abandoned` are shares of the tasks that came, or tried again: no room, or no patience. At a
    topic that shares its consumers, tasks beyond their number count as waiting.
    """

    waiting: Estimate
    busy: Estimate
    any_busy: Estimate
    wait: Estimate
    throughput: Estimate
    blocked: Estimate
    orbit: Estimate
    refused: Estimate
    abandoned: Estimate


@dataclass(frozen=True, slots=True)
class NetworkResult(SimulationResult):
    """The sojourn lasts from the arrival of a job to the end of its last task.

    in_system_of          unfinished jobs over time, by type
    in_stations           tasks at the topics over time, with those that will try again, Σ L_j: the
                          work in progress of `elastic`
    throughput_of         jobs done per unit of time
    lost_of               share of the jobs that left unfinished, of all that left
    record                columns time, job, event (a place in EVENTS), kind, task (a place in the
                          route) and station (a topic); −1 for none
    """

    network: JobNetwork
    in_system_of: dict[str, Estimate]
    in_stations: Estimate
    throughput_of: dict[str, Estimate]
    lost_of: dict[str, Estimate]
    stations: dict[str, StationResult]


def simulate_network(
    network: JobNetwork, run: SimulationRun, progress: Progress | None = None
) -> NetworkResult:
    """Runs all replications; calls `progress` with the number done, from this thread.

    Jobs that never arrive and routes that are never taken are left out.
    """
    network = network.simulated()
    run.check_arrivals(network.job_rate)
    places = network_layout(network)
    ruled = RULED if is_ruled(network) else None

    def advanced(arrays: NetworkArrays, events_max: int) -> int:
        return advance(arrays, ruled, events_max)

    warm_up, replications = simulated(
        run, partial(network_arrays, network), advanced, grown, places, progress
    )
    columns = SeriesColumns(replications, run, places)
    names = [job.name for job in network.jobs]
    stations = range(len(network.topics))
    present = ("waiting", "busy", "blocked", "orbit")
    tasks = [columns.sums(name, of=at) for at in stations for name in present]
    return NetworkResult(
        network=network,
        unstable=network.unstable,
        in_system_of={name: columns.over_time("in_system", of=at) for at, name in enumerate(names)},
        in_stations=columns.rate(np.sum(tasks, axis=0)),
        throughput_of={name: columns.over_time("done", of=at) for at, name in enumerate(names)},
        lost_of={name: _lost(columns, at) for at, name in enumerate(names)},
        stations={
            topic.name: _station(columns, place, topic.consumers)
            for place, topic in enumerate(network.topics)
        },
        **columns.shared(names, scale_of(network), ("arrived", "started", "ended"), warm_up),
    )


def _station(columns: SeriesColumns, place: int, servers: int) -> StationResult:
    return StationResult(
        waiting=columns.over_time("waiting", of=place),
        busy=columns.over_time("busy", of=place, per=servers),
        any_busy=columns.over_time("any_busy", of=place),
        wait=columns.each("wait", "started", of=place),
        throughput=columns.over_time("ended", of=place),
        blocked=columns.over_time("blocked", of=place, per=servers),
        orbit=columns.over_time("orbit", of=place),
        refused=columns.each("refused", "ready", of=place),
        abandoned=columns.each("abandoned", "ready", of=place),
    )


def _lost(columns: SeriesColumns, kind: int) -> Estimate:
    lost = columns.sums("lost", of=kind)
    return columns.quotient(lost, lost + columns.sums("done", of=kind))
