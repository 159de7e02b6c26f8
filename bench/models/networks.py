"""Jobs that split, join and visit a station twice, by the kernel and by SimPy."""

import time
from collections.abc import Sequence
from typing import Final

from bench.models.simulators import Graph, Measured, graph_by_simpy
from bench.models.tandem import PASSES, REPLICATIONS, compared
from bench.tables import Row
from dovemq.models.simulation import (
    Exponential,
    JobType,
    Network,
    Path,
    Run,
    Station,
    Task,
    simulate_network,
)

GRAPH: Final = Graph(
    stations=((2, 1 / 4.2), (2, 1 / 3.7), (1, 1 / 6.7), (4, 1 / 5.1)),
    types=(
        (2.0, ((0, ()), (1, (0,)), (3, (1,)))),
        (2.5, ((0, ()), (3, (0,)), (3, (1,)))),
        (1.0, ((2, ()), (1, (0,)), (3, (0,)), (3, (1, 2)))),
    ),
)
"""Two job types of the paper elastic (rates per minute) and one that splits and joins."""
LONGER: Final = 40.0


def network_of(graph: Graph) -> Network:
    stations = tuple(
        Station(str(place), servers, Exponential(mean))
        for place, (servers, mean) in enumerate(graph.stations)
    )
    jobs = tuple(
        JobType(
            str(kind),
            Exponential(1 / rate),
            (
                Path(
                    tuple(
                        Task(str(place), str(station), after=tuple(map(str, after)))
                        for place, (station, after) in enumerate(tasks)
                    )
                ),
            ),
        )
        for kind, (rate, tasks) in enumerate(graph.types)
    )
    return Network(stations, jobs)


def by_kernel(horizon: float, seeds: Sequence[int]) -> Measured:
    run = Run(horizon, replications=len(seeds), seed=seeds[0])
    started = time.process_time()
    found = simulate_network(network_of(GRAPH), run)
    return Measured(found.events, time.process_time() - started, found.sojourn.values)


def beside_others(quick: bool) -> Sequence[Row]:
    by_kernel(10.0, [0])
    horizon = 200.0 if quick else 2_000.0
    found: dict[str, list[Measured]] = {}
    for number in range(PASSES):
        seeds = range(1000 * number, 1000 * number + REPLICATIONS)
        found.setdefault("kernel", []).append(by_kernel(horizon * LONGER, seeds))
        other = graph_by_simpy(GRAPH, horizon, seeds)
        if other is not None:
            found.setdefault("SimPy", []).append(other)
    return compared(found)
