"""Simulation of a network of topics and jobs, and its results as estimates with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovemq.models.checks import Floats
from dovemq.models.estimates import Estimate
from dovemq.models.jobs import JobNetwork
from dovemq.models.simulation.columns import SeriesColumns
from dovemq.models.simulation.histogram import TimeHistogram
from dovemq.models.simulation.network.kernel import advance
from dovemq.models.simulation.network.state import (
    OF_STATION,
    OF_TYPE,
    NetworkArrays,
    grown,
    network_arrays,
    scale_of,
)
from dovemq.models.simulation.runs import (
    Progress,
    ReplicationSpan,
    SimulationRun,
    replicated,
    run_to_end,
    warm_up_of,
)
from dovemq.models.simulation.sampling import Rows


@dataclass(frozen=True, slots=True)
class StationResult:
    """Figures of one topic. `wait` is the time of a task from ready to started.

    `waiting` tasks and the share of `busy` consumers are means over time; `any_busy` is the share
    of the time in which at least one consumer is busy.
    """

    waiting: Estimate
    busy: Estimate
    any_busy: Estimate
    wait: Estimate
    throughput: Estimate


@dataclass(frozen=True, slots=True)
class NetworkResult:
    """Every figure but `events` leaves the warm-up out.

    sojourn, sojourn_of   time from arrival to the end of the last task: of all jobs, by type
    in_system, …_of       unfinished jobs over time: of all jobs, by type
    in_stations           tasks at the topics over time, Σ L_j: the work in progress of `elastic`
    throughput_of         jobs done per unit of time
    events                jobs arrived, service starts and service ends, counted
    unstable              topics with more work than they can do: figures grow with the horizon
    record                the first events of replication 0: time, job, event (a place in EVENTS),
                          kind, task (a place in the route) and station (a topic); −1 for none
    """

    network: JobNetwork
    run: SimulationRun
    warm_up: float
    sojourn: Estimate
    sojourn_of: dict[str, Estimate]
    in_system: Estimate
    in_system_of: dict[str, Estimate]
    in_stations: Estimate
    throughput_of: dict[str, Estimate]
    stations: dict[str, StationResult]
    jobs: int
    events: int
    unstable: tuple[str, ...]
    histogram: TimeHistogram = field(repr=False)
    histogram_of: dict[str, TimeHistogram] = field(repr=False)
    record: Rows = field(repr=False)

    def quantile(self, probability: float, job: str | None = None) -> Estimate:
        """A quantile of the sojourn, within the width of a bin, 0.8 %."""
        histogram = self.histogram if job is None else self.histogram_of[job]
        return histogram.quantile(probability)


class _Columns(SeriesColumns):
    """The measurements of a network by station and by job type."""

    def __init__(
        self, replications: Sequence[NetworkArrays], network: JobNetwork, run: SimulationRun
    ) -> None:
        super().__init__(replications, run)
        self._types_first = len(OF_STATION) * len(network.topics)
        self._types = len(network.jobs)

    def of_station(self, place: int, name: str, warm: int = 1) -> Floats:
        return self.column(len(OF_STATION) * place + OF_STATION.index(name), warm=warm)

    def of_type(self, kind: int | None, name: str, warm: int = 1) -> Floats:
        kinds = range(self._types) if kind is None else [kind]
        first = self._types_first + OF_TYPE.index(name)
        return self.column(*(first + len(OF_TYPE) * each for each in kinds), warm=warm)

    def type_number(self, kind: int | None, name: str) -> Estimate:
        return self.over_time(self.of_type(kind, name))

    def sojourn(self, kind: int | None) -> Estimate:
        return self.each(self.of_type(kind, "sojourn"), self.of_type(kind, "done"))

    def station(self, place: int, servers: int) -> StationResult:
        started = self.of_station(place, "started")
        return StationResult(
            waiting=self.over_time(self.of_station(place, "waiting")),
            busy=self.over_time(self.of_station(place, "busy"), servers),
            any_busy=self.over_time(self.of_station(place, "any_busy")),
            wait=self.each(self.of_station(place, "wait"), started),
            throughput=self.over_time(self.of_station(place, "ended")),
        )


def simulate_network(
    network: JobNetwork, run: SimulationRun, progress: Progress | None = None
) -> NetworkResult:
    """Runs all replications; calls `progress` with the number done, from this thread.

    Jobs that never arrive and routes that are never taken are left out.
    """
    simulated = network.simulated()

    def one(replication: int, span: ReplicationSpan) -> NetworkArrays:
        return run_to_end(network_arrays(simulated, span, run.seed, replication), advance, grown)

    def in_system(arrays: NetworkArrays) -> Floats:
        first = len(OF_STATION) * len(simulated.topics)
        column: Floats = arrays.series[1:, first :: len(OF_TYPE)].sum(1)
        return column

    warm_up = warm_up_of(run, one, in_system)
    return _result(simulated, run, warm_up, replicated(run, warm_up, one, progress))


def _result(
    network: JobNetwork, run: SimulationRun, warm_up: float, replications: Sequence[NetworkArrays]
) -> NetworkResult:
    columns = _Columns(replications, network, run)
    names = [job.name for job in network.jobs]
    kinds = dict(zip(names, range(len(names)), strict=True))
    places = range(len(network.topics))
    tasks = [columns.of_station(at, name) for at in places for name in ("waiting", "busy")]
    counted = [columns.of_station(at, name, 0) for at in places for name in ("started", "ended")]
    scale = scale_of(network)
    return NetworkResult(
        network=network,
        run=run,
        warm_up=warm_up,
        sojourn=columns.sojourn(None),
        sojourn_of={name: columns.sojourn(kind) for name, kind in kinds.items()},
        in_system=columns.type_number(None, "in_system"),
        in_system_of={name: columns.type_number(at, "in_system") for name, at in kinds.items()},
        in_stations=columns.over_time(np.sum(tasks, axis=0)),
        throughput_of={name: columns.type_number(at, "done") for name, at in kinds.items()},
        stations={
            topic.name: columns.station(place, topic.consumers)
            for place, topic in enumerate(network.topics)
        },
        jobs=int(columns.of_type(None, "done").sum()),
        events=int(columns.of_type(None, "arrived", 0).sum() + np.sum(counted)),
        unstable=tuple(name for name, load in network.loads().items() if load >= 1),
        histogram=columns.histogram(scale),
        histogram_of=columns.histograms(names, scale),
        record=replications[0].record[: int(replications[0].state["rows"][0])],
    )
