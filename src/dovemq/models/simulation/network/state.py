"""The state of one replication of a network: plain arrays that the kernel changes.

A job has a slot of `pool`; its tasks are the nodes from slot × width on. `agenda.py` has the coming
events. Areas, counts and sums have a row per slice of time; row 0 is the warm-up. A station is a
topic, its servers are the consumers, and a path is a route.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovemq.models.arrivals import Batches, ModulatedPoisson, RateSteps
from dovemq.models.checks import Floats
from dovemq.models.jobs import JobNetwork, JobRoute, Topic
from dovemq.models.simulation.arriving import source_tables
from dovemq.models.simulation.replication import (
    COUNTERS,
    NONE,
    SLOTS_FIRST,
    TIMES,
    Layout,
    doubled,
    grown_pool,
    layout,
    measurements,
    started,
)
from dovemq.models.simulation.runs import SimulationRun
from dovemq.models.simulation.sampling import Rows, Shapes, row_type
from dovemq.models.simulation.streams import Words, seeded
from dovemq.models.topic_rules import DISCIPLINES, ROOM_MAX

PURPOSES: Final = 6
NODES_MAX: Final = 1 << 28

EVENTS: Final = ("arrived", "ready", "started", "ended", "done", "lost", "interrupted")
OF_STATION: Final = (
    *("waiting", "busy", "any_busy", "ready", "started", "ended", "wait"),
    *("blocked", "orbit", "refused", "abandoned"),
)
"""Three areas, three counts, and the sum of the times from ready to started; areas of blocked
servers and of tasks that will try again; counts of tasks that found no room or lost patience."""
OF_TYPE: Final = ("in_system", "arrived", "done", "sojourn", "lost")
"""One area, two counts, one sum, one count."""

_STATE = row_type(
    f8=TIMES,
    i8=COUNTERS + "width levels pending hollow at_once blocking",
)
_STATION = row_type(
    i8="servers busy waiting plain discipline room blocks patience retry "
    "root held blocked first_blocked last_blocked orbit",
    f8="retry_share event due progress changed",
)
"""`root` is that of the tasks that share the servers, by the progress at which each is done; `held`
is the place of its servers in `held`, where tasks can be interrupted."""
_TYPE = row_type(i8="first paths in_system")
_PATH = row_type(f8="share", i8="first tasks")
_TASK = row_type(i8="station level service before next_first next_count")
_JOB = row_type(f8="arrived", i8="serial kind first_task left link active lost")
_NODE = row_type(f8="service ready", i8="link before")
_RULED_NODE = row_type(f8="service ready due", i8="link before back stage held begun")
_PENDING = row_type(f8="time", i8="item")
RECORD = row_type(f8="time", i8="job event kind task station")

Whole = NDArray[np.int64]


class NetworkArrays(NamedTuple):
    """Everything that the kernel reads and writes.

    `lists` holds head and tail of the tasks that wait, per station and priority level. `held` are
    the tasks in service at stations where they can be interrupted.
    """

    state: Rows
    stations: Rows
    kinds: Rows
    sources: Rows
    tables: Floats
    paths: Rows
    tasks: Rows
    nexts: Whole
    shapes: Rows
    values: Floats
    words: Words
    pool: Rows
    nodes: Rows
    lists: Whole
    held: Whole
    heap: Rows
    tally: Floats
    series: Floats
    histogram: Whole
    record: Rows


def scale_of(network: JobNetwork) -> float:
    """The unit of the histogram of sojourns: the mean work of a job, or the time between jobs."""
    loads = network.loads()
    work = sum(loads[topic.name] * topic.consumers for topic in network.topics)
    return (work or 1.0) / network.job_rate


def is_ruled(network: JobNetwork) -> bool:
    """Says whether stations have rules, or jobs arrive other than by independent times."""
    processes = (RateSteps, ModulatedPoisson, Batches)
    return not all(topic.rules.plain for topic in network.topics) or any(
        isinstance(job.arrival, processes) for job in network.jobs
    )


def network_layout(network: JobNetwork) -> Layout:
    return layout((OF_STATION, len(network.topics)), (OF_TYPE, len(network.jobs)))


def network_arrays(network: JobNetwork, run: SimulationRun, replication: int) -> NetworkArrays:
    plan = _Plan(network)
    shapes, values = plan.shapes.tables()
    jobs = len(network.jobs)
    pool = np.zeros(SLOTS_FIRST, _JOB)
    state = started(_STATE, run, scale_of(network), pool)
    state["width"], state["levels"] = plan.width, plan.levels
    state["blocking"] = any(topic.rules.blocks for topic in network.topics)
    # One event schedules at most this many others, with all tasks that it frees.
    state["at_once"] = 2 * (plan.width + len(plan.stations)) + 4
    nodes = SLOTS_FIRST * plan.width
    keys = ((replication, kind, purpose) for kind in range(jobs) for purpose in range(PURPOSES))
    return NetworkArrays(
        state=state,
        stations=plan.stations,
        kinds=plan.kinds,
        sources=plan.sources,
        tables=plan.tables,
        paths=plan.paths,
        tasks=plan.tasks,
        nexts=plan.nexts,
        shapes=shapes,
        values=values,
        words=seeded(run.seed, keys),
        pool=pool,
        nodes=np.zeros(nodes, _RULED_NODE if is_ruled(network) else _NODE),
        lists=np.full((2, len(plan.stations) * plan.levels), NONE),
        held=np.full(plan.held, NONE),
        heap=np.zeros(nodes + jobs + int(state["at_once"][0]), _PENDING),
        **measurements(network_layout(network), run, jobs, RECORD, replication),
    )


class _Plan:
    """The network as tables: job types, their routes, the tasks of routes, and their successors."""

    def __init__(self, network: JobNetwork) -> None:
        self.shapes = Shapes()
        self._services = network.service_times()
        self._places = network.places
        every_path = [route for job in network.jobs for route in job.routes]
        priorities = sorted({task.priority for path in every_path for task in path.tasks})
        self._level_places = {priority: at for at, priority in enumerate(priorities)}
        self.levels = len(priorities)
        self.width = max(len(path.tasks) for path in every_path)
        self._place_stations(network.topics)
        arrivals = [job.arrival_time for job in network.jobs]
        self.sources, self.tables = source_tables(arrivals, self.shapes)
        self.kinds = np.zeros(len(network.jobs), _TYPE)
        self.paths = np.zeros(len(every_path), _PATH)
        self.tasks = np.zeros(sum(len(path.tasks) for path in every_path), _TASK)
        nexts: list[int] = []
        paths = tasks = 0
        for kind, job in enumerate(network.jobs):
            self.kinds[kind] = (paths, len(job.routes), 0)
            cumulated = 0.0
            for number, path in enumerate(job.routes, 1):
                cumulated += path.share
                share = cumulated if number < len(job.routes) else np.inf
                self.paths[paths] = (share, tasks, len(path.tasks))
                self._place_tasks(path, tasks, nexts)
                paths += 1
                tasks += len(path.tasks)
        self.nexts = np.array(nexts, np.int64)

    def _place_stations(self, topics: Sequence[Topic]) -> None:
        self.stations = np.zeros(len(topics), _STATION)
        self.held = 0
        for row, topic in zip(self.stations, topics, strict=True):
            rules = topic.rules
            fields: dict[str, Any] = {
                "servers": topic.consumers,
                "plain": rules.plain,
                "discipline": DISCIPLINES.index(rules.discipline),
                "room": ROOM_MAX if rules.room is None else rules.room,
                "blocks": rules.blocks,
                "patience": NONE if rules.patience is None else self.shapes.place(rules.patience),
                "retry": NONE if rules.retry is None else self.shapes.place(rules.retry),
                "retry_share": rules.retry_share,
                "event": math.inf,
                "held": self.held,
            }
            fields |= dict.fromkeys(("root", "first_blocked", "last_blocked"), NONE)
            for name, value in fields.items():
                row[name] = value
            self.held += topic.consumers if rules.discipline == "preemptive" else 0

    def _place_tasks(self, path: JobRoute, first: int, nexts: list[int]) -> None:
        for place, task in enumerate(path.tasks):
            after = [at for at, other in enumerate(path.tasks) if task.name in other.after]
            self.tasks[first + place] = (
                self._places[task.topic],
                self._level_places[task.priority],
                self.shapes.place(task.service or self._services[task.topic]),
                len(set(task.after)),
                len(nexts),
                len(after),
            )
            nexts.extend(after)


def grown(arrays: NetworkArrays) -> NetworkArrays:
    """Returns the arrays with twice the room for jobs; the nodes of a slot keep their places."""
    pool = grown_pool(arrays.pool, arrays.state, "unfinished tasks", len(arrays.nodes), NODES_MAX)
    return arrays._replace(pool=pool, nodes=doubled(arrays.nodes), heap=doubled(arrays.heap))
