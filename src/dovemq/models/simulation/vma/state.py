"""The state of one replication of the tandem: plain arrays that the kernel changes.

A message has a slot of `pool`; lists are links between slots, and −1 ends a list. The ends of
service are sorted, the soonest last, above a bound at infinity in place 0. Delays that are the
same for every message (two passages of the link, the timeout) are first-in first-out `rings`.
Measurements have a row per slice of time; row 0 is the warm-up.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovemq.models.checks import Floats
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
from dovemq.models.vma.parameters import VmaParameters

RINGS: Final = 3
LISTS: Final = 5
PURPOSES: Final = 6
SLOTS_MAX: Final = 1 << 26

AREAS: Final = (
    "sender_waiting",
    "visible",
    "sender_busy",
    "broker_busy",
    "sender_any_busy",
    "broker_any_busy",
    "in_system",
)
"""Numbers over time: waiting messages, busy threads, 1 while any is busy, unreceived messages."""
EVENTS: Final = (
    "arrived",
    "send_started",
    "sent",
    "leased",
    "served",
    "lost",
    "expired",
    "received",
    "repeated",
)
"""Events that are counted and can be recorded. `repeated` is a further receive of a message."""
SUMS: Final = ("done", "sojourn", "sending", "resting")
"""Sums over the received messages of a class: `sending` lasts until the message is at the broker,
`resting` from there to its first lease."""

_STATE = row_type(
    f8=TIMES + "next_arrival next_other reliability visibility_timeout link_delay",
    i8=COUNTERS + "sender_threads broker_threads in_order timed sender_waiting visible "
    "sender_busy broker_busy in_system full",
)
_PARAMETERS: Final = "reliability visibility_timeout link_delay sender_threads broker_threads"
_KIND = row_type(f8="share", i8="level sender broker")
_MESSAGE = row_type(
    f8="arrived sent leased sender_time broker_time chance",
    i8="serial",
    i4="link after copies leases",
    i2="kind level stage listed",
)
_THREAD = row_type(f8="end", i8="slot")
_DELAYED = row_type(f8="due", i8="serial slot lost")
RECORD = row_type(f8="time", i8="message event kind")

Whole = NDArray[np.int64]


class TandemArrays(NamedTuple):
    """Everything that the kernel reads and writes.

    `lists` has five rows with a slot per priority level: head and tail of the messages that wait to
    be sent, head and tail of those that may be leased in turn, and the head of those that are
    visible again. `tally` is the current row of `series`: areas, counts, sums per class. `turns`
    holds the head and the length of each ring.
    """

    state: Rows
    kinds: Rows
    shapes: Rows
    values: Floats
    words: Words
    pool: Rows
    lists: Whole
    sender: Rows
    broker: Rows
    rings: Rows
    turns: Whole
    tally: Floats
    series: Floats
    histogram: Whole
    record: Rows


def scale_of(tandem: VmaParameters) -> float:
    """The unit of the histogram of sojourns: the mean service time of a message."""
    sender, broker = tandem.sender_time, tandem.broker_time
    total = sum(
        each.share * ((each.sender or sender).mean + (each.broker or broker).mean)
        for each in tandem.classes
    )
    return total or tandem.arrival_time.mean


def tandem_layout(tandem: VmaParameters) -> Layout:
    return layout(((*AREAS, *EVENTS), 1), (SUMS, len(tandem.classes)))


def tandem_arrays(tandem: VmaParameters, run: SimulationRun, replication: int) -> TandemArrays:
    levels = sorted({each.priority for each in tandem.classes})
    shapes = Shapes(tandem.arrival_time)
    kinds = _kinds(tandem, levels, shapes)
    table, values = shapes.tables()
    pool = np.zeros(SLOTS_FIRST, _MESSAGE)
    return TandemArrays(
        state=_state(tandem, run, pool),
        kinds=kinds,
        shapes=table,
        values=values,
        words=seeded(run.seed, ((replication, purpose) for purpose in range(PURPOSES))),
        pool=pool,
        lists=np.full((LISTS, len(levels)), NONE),
        sender=_threads(int(tandem.sender_threads)),
        broker=_threads(int(tandem.broker_threads)),
        rings=np.zeros((RINGS, SLOTS_FIRST), _DELAYED),
        turns=np.zeros((RINGS, 2), np.int64),
        **measurements(tandem_layout(tandem), run, len(kinds), RECORD, replication),
    )


def _state(tandem: VmaParameters, run: SimulationRun, pool: Rows) -> Rows:
    state = started(_STATE, run, scale_of(tandem), pool)
    state["next_arrival"] = NONE
    state["next_other"] = state["slice_end"]
    for name in _PARAMETERS.split():
        state[name] = getattr(tandem, name)
    state["in_order"] = tandem.order == "in"
    state["timed"] = tandem.failure == "timer"
    return state


def _threads(count: int) -> Rows:
    threads = np.zeros(count + 1, _THREAD)
    threads["end"][0] = np.inf
    return threads


def _kinds(tandem: VmaParameters, levels: list[int], shapes: Shapes) -> Rows:
    kinds = np.zeros(len(tandem.classes), _KIND)
    cumulated = np.cumsum([each.share for each in tandem.classes])
    cumulated[-1] = np.inf
    for place, each in enumerate(tandem.classes):
        sender, broker = each.sender or tandem.sender_time, each.broker or tandem.broker_time
        level = levels.index(each.priority)
        kinds[place] = (cumulated[place], level, shapes.place(sender), shapes.place(broker))
    return kinds


def grown(arrays: TandemArrays) -> TandemArrays:
    """Returns the arrays with twice the room for messages and delays."""
    slots = len(arrays.pool)
    pool = grown_pool(arrays.pool, arrays.state, "waiting messages", slots, SLOTS_MAX)
    rings = np.zeros((RINGS, 2 * slots), _DELAYED)
    for ring, (head, length) in enumerate(arrays.turns):
        rings[ring, :length] = arrays.rings[ring].take(np.arange(head, head + length) % slots)
    arrays.turns[:, 0] = 0
    arrays.state["full"] = 0
    return arrays._replace(pool=pool, rings=rings)
