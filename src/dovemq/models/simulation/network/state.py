"""The state of one run of a network as its kernel holds it: plain arrays that can grow.

A job lives in a slot of `pool`; its tasks are the nodes from slot × width on. What happens next
is a binary heap of times: the end of a node's service, or (negative) the next arrival of a type.
Areas, counts and sums have a row per slice of time; row 0 is the warm-up.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovemq.models.simulation.compiled import codes
from dovemq.models.simulation.estimates import Floats
from dovemq.models.simulation.histogram import BINS
from dovemq.models.simulation.network.model import Network, Path
from dovemq.models.simulation.runs import Span
from dovemq.models.simulation.sampling import Rows, Shapes
from dovemq.models.simulation.streams import Words, seeded

(NONE,) = codes(-1, 0)
ARRIVALS, PATHS, SERVICES = range(3)
PURPOSES: Final = 3
SLOTS_FIRST: Final = 256
NODES_MAX: Final = 1 << 28

EVENTS: Final = ("arrived", "ready", "started", "ended", "done")
OF_STATION: Final = ("waiting", "busy", "any_busy", "ready", "started", "ended", "wait")
"""Three areas, three counts, and the sum of the times from ready to started."""
OF_TYPE: Final = ("in_system", "arrived", "done", "sojourn", "sojourn_square")
"""One area, two counts, two sums."""

_STATE = np.dtype(
    [
        ("slice_end", np.float64),
        ("slice_length", np.float64),
        ("per_scale", np.float64),
        ("slice", np.int64),
        ("width", np.int64),
        ("levels", np.int64),
        ("pending", np.int64),
        ("hollow", np.int64),
        ("free", np.int64),
        ("serial", np.int64),
        ("rows", np.int64),
        ("rows_max", np.int64),
    ]
)
_STATION = np.dtype([("servers", np.int64), ("busy", np.int64), ("waiting", np.int64)])
_TYPE = np.dtype(
    [("arrival", np.int64), ("first", np.int64), ("paths", np.int64), ("in_system", np.int64)]
)
_PATH = np.dtype([("share", np.float64), ("first", np.int64), ("tasks", np.int64)])
_TASK = np.dtype(
    [
        ("station", np.int64),
        ("level", np.int64),
        ("service", np.int64),
        ("before", np.int64),
        ("next_first", np.int64),
        ("next_count", np.int64),
    ]
)
_JOB = np.dtype(
    [
        ("arrived", np.float64),
        ("serial", np.int64),
        ("kind", np.int64),
        ("first_task", np.int64),
        ("left", np.int64),
        ("link", np.int64),
    ]
)
_NODE = np.dtype(
    [("service", np.float64), ("ready", np.float64), ("link", np.int64), ("before", np.int64)]
)
_PENDING = np.dtype([("time", np.float64), ("item", np.int64)])
RECORD = np.dtype(
    [
        ("time", np.float64),
        ("job", np.int64),
        ("event", np.int64),
        ("kind", np.int64),
        ("task", np.int64),
        ("station", np.int64),
    ]
)

Whole = NDArray[np.int64]


class Held(NamedTuple):
    """Everything the kernel reads and writes. `lists` is head and tail per station and level."""

    state: Rows
    stations: Rows
    kinds: Rows
    paths: Rows
    tasks: Rows
    nexts: Whole
    shapes: Rows
    values: Floats
    words: Words
    pool: Rows
    nodes: Rows
    lists: Whole
    heap: Rows
    tally: Floats
    series: Floats
    histogram: Whole
    record: Rows


def scale_of(network: Network) -> float:
    """Sojourns are counted relative to it: the mean work of a job, or the time between two."""
    rates = [1.0 / job.arrival.mean for job in network.jobs]
    servers = {station.name: station.servers for station in network.stations}
    work = sum(load * servers[name] for name, load in network.loads().items())
    return (work or 1.0) / sum(rates)


def held(network: Network, span: Span, seed: int, replication: int) -> Held:
    plan = _Plan(network)
    shapes, values = plan.shapes.tables()
    jobs, stations = len(network.jobs), len(network.stations)
    width = len(OF_STATION) * stations + len(OF_TYPE) * jobs
    state = np.zeros(1, _STATE)
    state["slice"] = 0 if span.warm_up else 1
    state["slice_end"] = span.warm_up or span.slice_length
    state["slice_length"] = span.slice_length
    state["per_scale"] = 1.0 / scale_of(network)
    state["width"], state["levels"] = plan.width, plan.levels
    state["rows_max"] = span.record_rows_max
    pool = np.zeros(SLOTS_FIRST, _JOB)
    _set_free(pool, state, 0)
    nodes = SLOTS_FIRST * plan.width
    keys = ((replication, kind, purpose) for kind in range(jobs) for purpose in range(PURPOSES))
    return Held(
        state=state,
        stations=plan.stations,
        kinds=plan.kinds,
        paths=plan.paths,
        tasks=plan.tasks,
        nexts=plan.nexts,
        shapes=shapes,
        values=values,
        words=seeded(seed, keys),
        pool=pool,
        nodes=np.zeros(nodes, _NODE),
        lists=np.full((2, stations * plan.levels), NONE),
        heap=np.zeros(nodes + jobs + 1, _PENDING),
        tally=np.zeros(width),
        series=np.zeros((span.slices + 1, width)),
        histogram=np.zeros((jobs, BINS), np.int64),
        record=np.zeros(span.record_rows_max, RECORD),
    )


class _Plan:
    """The network as tables: types, their paths, the paths' tasks, and what comes after each."""

    def __init__(self, network: Network) -> None:
        self.shapes = Shapes()
        self._network = network
        self._station_places = {each.name: at for at, each in enumerate(network.stations)}
        every_path = [path for job in network.jobs for path in job.paths]
        priorities = sorted({task.priority for path in every_path for task in path.tasks})
        self._level_places = {priority: at for at, priority in enumerate(priorities)}
        self.levels = len(priorities)
        self.width = max(len(path.tasks) for path in every_path)
        self.stations = np.zeros(len(network.stations), _STATION)
        self.stations["servers"] = [station.servers for station in network.stations]
        self.kinds = np.zeros(len(network.jobs), _TYPE)
        self.paths = np.zeros(len(every_path), _PATH)
        self.tasks = np.zeros(sum(len(path.tasks) for path in every_path), _TASK)
        nexts: list[int] = []
        paths = tasks = 0
        for kind, job in enumerate(network.jobs):
            self.kinds[kind] = (self.shapes.place(job.arrival), paths, len(job.paths), 0)
            cumulated = 0.0
            for number, path in enumerate(job.paths, 1):
                cumulated += path.share
                share = cumulated if number < len(job.paths) else np.inf
                self.paths[paths] = (share, tasks, len(path.tasks))
                self._place_tasks(path, tasks, nexts)
                paths += 1
                tasks += len(path.tasks)
        self.nexts = np.array(nexts, np.int64)

    def _place_tasks(self, path: Path, first: int, nexts: list[int]) -> None:
        for place, task in enumerate(path.tasks):
            after = [at for at, other in enumerate(path.tasks) if task.name in other.after]
            self.tasks[first + place] = (
                self._station_places[task.station],
                self._level_places[task.priority],
                self.shapes.place(self._network.service_of(task)),
                len(set(task.after)),
                len(nexts),
                len(after),
            )
            nexts.extend(after)


def _set_free(pool: Rows, state: Rows, first: int) -> None:
    pool["link"][first:] = np.arange(first + 1, len(pool) + 1)
    pool["link"][-1] = state["free"][0] if first else NONE
    state["free"] = first


def grown(held: Held) -> Held:
    """With twice the room for jobs; nodes keep their places, since a slot's come in its order."""
    slots, nodes = len(held.pool), len(held.nodes)
    if nodes >= NODES_MAX:
        raise MemoryError(f"more than {slots:,} jobs are under way: the model is unstable")
    pool = np.concatenate((held.pool, np.zeros(slots, _JOB)))
    _set_free(pool, held.state, slots)
    return held._replace(
        pool=pool,
        nodes=np.concatenate((held.nodes, np.zeros(nodes, _NODE))),
        heap=np.concatenate((held.heap, np.zeros(nodes, _PENDING))),
    )
