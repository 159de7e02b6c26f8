"""The state of one replication: plain arrays that the kernel changes.

A message, a request and a look each have a slot of `pool`. A slot is in one list at a time: that of
the jobs that wait for a queue's server, that of a queue's stored messages, or that of the parked
requests, which is in the order of their wake-ups because all sleep equally long.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovemq.models.checks import Floats
from dovemq.models.simulation.rds.parameters import LOOPS, METHODS, WAKES, RdsParameters
from dovemq.models.simulation.replication import (
    COUNTERS,
    NONE,
    SLOTS_FIRST,
    TIMES,
    Layout,
    grown_pool,
    layout,
    measurements,
    started,
)
from dovemq.models.simulation.runs import SimulationRun
from dovemq.models.simulation.sampling import Rows, Shapes, row_type
from dovemq.models.simulation.streams import Words, seeded

SLOTS_MAX: Final = 1 << 27
PURPOSES: Final = 3
AREAS: Final = ("in_system", "stored", "busy", "parked")
COUNTS: Final = ("sent", "requests", "refused", "answered", "hits", "misses", "looks", "woken")
OF_MESSAGES: Final = ("done", "sojourn")

_STATE = row_type(
    f8=TIMES + "next_send send_every request_every sleep period "
    "enqueue_cost hit_cost message_cost miss_cost look_cost",
    i8=COUNTERS + "method closed arrival blocks regulated fanout wanted "
    "busy stored in_system parked parked_head parked_tail used senders absent",
)
_JOB = row_type(f8="time", i8="kind owner found tried link")
_SERVER = row_type(i8="serving taking head tail stored stored_head stored_tail")
_CONTROLLER = row_type(i8="parked position enqueue_position")
RECORD = row_type(f8="time", i8="event")

Whole = NDArray[np.int64]


class RdsArrays(NamedTuple):
    """Everything that the kernel reads and writes.

    `ends`, `next_requests` and `next_looks` are times of coming events, by queue and by controller.
    `lengths` are the lengths of the queues at the last look, per controller; `looking` says whether
    a look is under way.
    """

    state: Rows
    servers: Rows
    controllers: Rows
    ends: Floats
    next_requests: Floats
    next_looks: Floats
    lengths: Whole
    looking: Whole
    values: Floats
    words: Words
    pool: Rows
    tally: Floats
    series: Floats
    histogram: Whole
    record: Rows


def rds_layout() -> Layout:
    return layout((AREAS, 1), (COUNTS, 1), (OF_MESSAGES, 1))


def rds_arrays(parameters: RdsParameters, run: SimulationRun, replication: int) -> RdsArrays:
    pool = np.zeros(SLOTS_FIRST, _JOB)
    state = started(_STATE, run, parameters.hit_cost, pool)
    _describe(state, parameters)
    servers = np.zeros(parameters.queues, _SERVER)
    for name in ("serving", "head", "tail", "stored_head", "stored_tail"):
        servers[name] = NONE
    keys = ((replication, purpose) for purpose in range(PURPOSES))
    rng = np.random.default_rng((run.seed, replication, PURPOSES))
    count = parameters.controllers
    return RdsArrays(
        state=state,
        servers=servers,
        controllers=_controllers(parameters, rng),
        ends=np.full(parameters.queues, np.inf),
        next_requests=rng.exponential(1.0 / parameters.request_rate, count),
        next_looks=parameters.period * rng.random(count if parameters.method == "pms" else 0),
        lengths=np.full((parameters.controllers, parameters.queues), -1),
        looking=np.zeros((parameters.controllers, parameters.queues), np.int64),
        values=Shapes().tables()[1],
        words=seeded(run.seed, keys),
        pool=pool,
        **measurements(rds_layout(), run, 1, RECORD, replication),
    )


def _describe(state: Rows, parameters: RdsParameters) -> None:
    for name in ("enqueue_cost", "hit_cost", "message_cost", "miss_cost", "look_cost", "sleep"):
        state[name] = getattr(parameters, name)
    state["period"], state["fanout"] = parameters.period, parameters.fanout
    state["wanted"] = parameters.wanted
    state["request_every"] = 1.0 / parameters.request_rate
    state["send_every"] = 1.0 / parameters.enqueue_rate
    state["next_send"] = np.inf if parameters.senders else 0.0
    state["senders"] = state["absent"] = parameters.senders
    state["method"] = METHODS.index(parameters.method)
    state["closed"] = LOOPS.index(parameters.loop)
    state["arrival"] = WAKES.index(parameters.wake)
    state["blocks"], state["regulated"] = parameters.parked_blocks, parameters.regulation
    state["parked_head"] = state["parked_tail"] = NONE


def _controllers(parameters: RdsParameters, rng: np.random.Generator) -> Rows:
    """Controllers whose turns start at queues that are drawn at random."""
    controllers = np.zeros(parameters.controllers, _CONTROLLER)
    for name in ("position", "enqueue_position"):
        controllers[name] = rng.integers(parameters.queues, size=parameters.controllers)
    return controllers


def grown(arrays: RdsArrays) -> RdsArrays:
    what = "messages and requests at the queues"
    pool = grown_pool(arrays.pool, arrays.state, what, len(arrays.pool), SLOTS_MAX)
    return arrays._replace(pool=pool)
