"""What came out of runs of a network, as estimates with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovemq.models.simulation.estimates import Estimate, Floats, ratio
from dovemq.models.simulation.histogram import Histogram, Whole
from dovemq.models.simulation.network.model import Network
from dovemq.models.simulation.network.state import OF_STATION, OF_TYPE, Held, scale_of
from dovemq.models.simulation.runs import Run
from dovemq.models.simulation.sampling import Rows


@dataclass(frozen=True, slots=True)
class StationResult:
    """`waiting` tasks and the shares of `busy` servers are over time; `any_busy` is the share of
    the time in which at least one is; `wait` is the time from ready to started."""

    waiting: Estimate
    busy: Estimate
    any_busy: Estimate
    wait: Estimate
    throughput: Estimate


@dataclass(frozen=True, slots=True)
class NetworkResult:
    """Every figure leaves the warm-up out, but `events`.

    sojourn, sojourn_of   time from arrival to the end of the last task: of all jobs, by type
    in_system, …_of       jobs under way over time, by type: work in progress
    in_stations           tasks at the stations over time, Σ L_j: WIP as 002 counts it
    throughput_of         jobs done per unit of time
    events                jobs arrived, service starts and service ends, counted
    unstable              stations offered more than they can do: figures grow with the horizon
    record                the first events of replication 0: time, job, event (a place in EVENTS),
                          kind, task (a place in the path) and station, −1 where there is none
    """

    network: Network
    run: Run
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
    histogram: Histogram = field(repr=False)
    histogram_of: dict[str, Histogram] = field(repr=False)
    record: Rows = field(repr=False)

    def quantile(self, probability: float, job: str | None = None) -> Estimate:
        """Of the sojourn; within the width of a bin, 0.8 %."""
        histogram = self.histogram if job is None else self.histogram_of[job]
        return histogram.quantile(probability)


class _Columns:
    """The figures of all replications: a row per replication, a column per slice."""

    def __init__(self, replications: Sequence[Held], network: Network, run: Run) -> None:
        self._series: Floats = np.array([each.series for each in replications])
        self._types_first = len(OF_STATION) * len(network.stations)
        self._types = len(network.jobs)
        self._confidence = run.confidence
        self._slice_length = run.horizon / run.slices

    def of_station(self, place: int, name: str, warm: int = 1) -> Floats:
        column = len(OF_STATION) * place + OF_STATION.index(name)
        figures: Floats = self._series[:, warm:, column]
        return figures

    def of_type(self, kind: int | None, name: str, warm: int = 1) -> Floats:
        kinds = range(self._types) if kind is None else [kind]
        first = self._types_first + OF_TYPE.index(name)
        places = [first + len(OF_TYPE) * each for each in kinds]
        figures: Floats = self._series[:, warm:, places].sum(2)
        return figures

    def over_time(self, figures: Floats, per: int = 1) -> Estimate:
        length = np.full(figures.shape, per * self._slice_length)
        return ratio(figures, length, self._confidence)

    def sojourn(self, kind: int | None) -> Estimate:
        done = self.of_type(kind, "done")
        return ratio(self.of_type(kind, "sojourn"), done, self._confidence)

    def station(self, place: int, servers: int) -> StationResult:
        started = self.of_station(place, "started")
        return StationResult(
            waiting=self.over_time(self.of_station(place, "waiting")),
            busy=self.over_time(self.of_station(place, "busy"), servers),
            any_busy=self.over_time(self.of_station(place, "any_busy")),
            wait=ratio(self.of_station(place, "wait"), started, self._confidence),
            throughput=self.over_time(self.of_station(place, "ended")),
        )


def result_of(
    network: Network, run: Run, warm_up: float, replications: Sequence[Held]
) -> NetworkResult:
    columns = _Columns(replications, network, run)
    counts: Whole = np.array([each.histogram for each in replications])
    names = [job.name for job in network.jobs]
    places = range(len(network.stations))
    tasks = [columns.of_station(at, name) for at in places for name in ("waiting", "busy")]
    counted = [columns.of_station(at, name, 0) for at in places for name in ("started", "ended")]
    scale = scale_of(network)
    return NetworkResult(
        network=network,
        run=run,
        warm_up=warm_up,
        sojourn=columns.sojourn(None),
        sojourn_of={name: columns.sojourn(kind) for kind, name in enumerate(names)},
        in_system=columns.over_time(columns.of_type(None, "in_system")),
        in_system_of={
            name: columns.over_time(columns.of_type(kind, "in_system"))
            for kind, name in enumerate(names)
        },
        in_stations=columns.over_time(np.sum(tasks, axis=0)),
        throughput_of={
            name: columns.over_time(columns.of_type(kind, "done"))
            for kind, name in enumerate(names)
        },
        stations={
            station.name: columns.station(place, station.servers)
            for place, station in enumerate(network.stations)
        },
        jobs=int(columns.of_type(None, "done").sum()),
        events=int(columns.of_type(None, "arrived", 0).sum() + np.sum(counted)),
        unstable=tuple(name for name, load in network.loads().items() if load >= 1),
        histogram=Histogram(counts.sum(1), scale, run.confidence),
        histogram_of={
            name: Histogram(counts[:, kind], scale, run.confidence)
            for kind, name in enumerate(names)
        },
        record=replications[0].record[: int(replications[0].state["rows"][0])],
    )
