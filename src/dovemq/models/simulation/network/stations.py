"""The ways of a task at a station: it enters, waits, starts, is interrupted, or leaves.

Tasks in line are lists by level of priority, in which a task knows both neighbours. Tasks that
share the servers are a skew heap (Sleator and Tarjan 1986) by the progress of the station at which
each is done; a station of n tasks and c servers progresses at the speed min(1, c/n).
"""

import math
from typing import Any, Final, TypeAlias

from dovemq.models.simulation.compiled import codes, inlined, part
from dovemq.models.simulation.network.agenda import (
    IN_LINE,
    IN_ORBIT,
    NO_EVENT,
    SERVING,
    schedule,
)
from dovemq.models.simulation.network.state import PURPOSES, NetworkArrays
from dovemq.models.simulation.replication import NONE, change
from dovemq.models.simulation.sampling import Rows, draw
from dovemq.models.simulation.streams import uniform

PATHS, SERVICES, PATIENCE, RETRIES = 1, 2, 4, 5
"""The rows of the streams of a job type; `arriving.py` has the others."""
FCFS, SHARED, PREEMPTIVE = range(3)
ARRIVED, READY, STARTED, ENDED, DONE, LOST, INTERRUPTED = codes(0, 7)
Ruled: TypeAlias = int | None
"""None where all stations and arrivals are plain: numba then leaves out what only others need."""
(RULED,) = codes(1, 2)
STATION_WIDTH: Final = 11
WAITING, BUSY, ANY_BUSY, READY_COUNT, STARTED_COUNT, ENDED_COUNT, WAIT = range(7)
BLOCKED, ORBIT, REFUSED_COUNT, ABANDONED_COUNT = range(7, 11)
TYPE_WIDTH: Final = 5
IN_SYSTEM, ARRIVED_COUNT, DONE_COUNT, SOJOURN, LOST_COUNT = range(5)


@part
def record_event(arrays: NetworkArrays, now: float, event: int, slot: int, task: int) -> None:
    state, job = arrays.state[0], arrays.pool[slot]
    row = arrays.record[state.rows]
    row.time, row.event, row.job, row.kind = now, event, job.serial, job.kind
    row.task = row.station = NONE
    if task != NONE:
        row.task, row.station = task, arrays.tasks[job.first_task + task].station
    state.rows += 1


@inlined
def column_of_type(arrays: NetworkArrays, kind: int) -> int:
    return STATION_WIDTH * arrays.stations.size + TYPE_WIDTH * kind


@inlined
def station_of(arrays: NetworkArrays, state: Any, node: int) -> int:
    slot = node // state.width
    task = arrays.pool[slot].first_task + node - slot * state.width
    place: int = arrays.tasks[task].station
    return place


@inlined
def _begin(arrays: NetworkArrays, now: float, node: int, place: int) -> None:
    """Counts the first start of a task."""
    column = STATION_WIDTH * place
    arrays.tally[column + STARTED_COUNT] += 1.0
    arrays.tally[column + WAIT] += now - arrays.nodes[node].ready


@inlined
def start(arrays: NetworkArrays, ruled: Ruled, now: float, node: int, place: int) -> None:
    """A server of the station, which is counted as busy, starts the task or resumes it."""
    state = arrays.state[0]
    due = now + arrays.nodes[node].service
    if ruled is None:
        _begin(arrays, now, node, place)
    else:
        if arrays.nodes[node].begun == 0:
            _begin(arrays, now, node, place)
            arrays.nodes[node].begun = 1
        arrays.nodes[node].due, arrays.nodes[node].stage = due, SERVING
        if arrays.stations[place].discipline == PREEMPTIVE:
            at = arrays.stations[place].held + arrays.stations[place].busy - 1
            arrays.held[at] = node
            arrays.nodes[node].held = at
    schedule(arrays.heap, state, due, 4 * node + SERVING)
    if state.rows < arrays.record.size:
        record_event(arrays, now, STARTED, node // state.width, node % state.width)


@inlined
def occupy(arrays: NetworkArrays, state: Any, now: float, place: int) -> None:
    """Counts one more busy server."""
    column = STATION_WIDTH * place
    if arrays.stations[place].busy == 0:
        change(arrays.tally, state, now, column + ANY_BUSY, 1.0)
    arrays.stations[place].busy += 1
    change(arrays.tally, state, now, column + BUSY, 1.0)


@inlined
def vacate(arrays: NetworkArrays, state: Any, now: float, place: int) -> None:
    """Counts one less busy server."""
    column = STATION_WIDTH * place
    arrays.stations[place].busy -= 1
    change(arrays.tally, state, now, column + BUSY, -1.0)
    if arrays.stations[place].busy == 0:
        change(arrays.tally, state, now, column + ANY_BUSY, -1.0)


@inlined
def line_up(arrays: NetworkArrays, ruled: Ruled, now: float, node: int, place: int) -> None:
    """Puts a task at the end of the line of its level."""
    state = arrays.state[0]
    arrays.stations[place].waiting += 1
    change(arrays.tally, state, now, STATION_WIDTH * place + WAITING, 1.0)
    slot = node // state.width
    task = arrays.tasks[arrays.pool[slot].first_task + node - slot * state.width]
    at = place * state.levels + task.level
    last = NONE
    arrays.nodes[node].link = NONE
    if arrays.lists[0, at] == NONE:
        arrays.lists[0, at] = node
    else:
        last = arrays.lists[1, at]
        arrays.nodes[last].link = node
    arrays.lists[1, at] = node
    if ruled is not None:
        arrays.nodes[node].back = last


@inlined
def take_waiting(arrays: NetworkArrays, ruled: Ruled, now: float, place: int) -> None:
    """The free server takes the next task of its station, or idles."""
    state, station = arrays.state[0], arrays.stations[place]
    if station.waiting == 0:
        vacate(arrays, state, now, place)
        return
    at = place * state.levels
    while arrays.lists[0, at] == NONE:
        at += 1
    node = arrays.lists[0, at]
    arrays.lists[0, at] = arrays.nodes[node].link
    if ruled is not None and arrays.nodes[node].link != NONE:
        arrays.nodes[arrays.nodes[node].link].back = NONE
    station.waiting -= 1
    change(arrays.tally, state, now, STATION_WIDTH * place + WAITING, -1.0)
    start(arrays, ruled, now, node, place)


@part
def free_server(arrays: NetworkArrays, now: float, place: int) -> None:
    take_waiting(arrays, RULED, now, place)


@part
def _plan(arrays: NetworkArrays, time: float, item: int) -> None:
    schedule(arrays.heap, arrays.state[0], time, item)


@part
def enter(arrays: NetworkArrays, now: float, node: int) -> None:
    """A task comes to a station with rules of its own; it may be refused."""
    state = arrays.state[0]
    slot = node // state.width
    task = arrays.tasks[arrays.pool[slot].first_task + node - slot * state.width]
    place = task.station
    station = arrays.stations[place]
    if station.busy + station.waiting >= station.room:
        arrays.tally[STATION_WIDTH * place + REFUSED_COUNT] += 1.0
        _turn_away(arrays, now, node, place)
    elif station.discipline == SHARED:
        _join(arrays, now, node, place)
    elif station.busy < station.servers or (
        station.discipline == PREEMPTIVE and _interrupt(arrays, now, place, task.level)
    ):
        if station.busy < station.servers:
            occupy(arrays, state, now, place)
        start(arrays, RULED, now, node, place)
    else:
        line_up(arrays, RULED, now, node, place)
        arrays.nodes[node].stage, arrays.nodes[node].due = IN_LINE, -1.0
        if station.patience != NONE:
            words = arrays.words[PURPOSES * arrays.pool[slot].kind + PATIENCE]
            due = now + draw(words, arrays.shapes, arrays.values, station.patience)
            arrays.nodes[node].due = due
            _plan(arrays, due, 4 * node + IN_LINE)


@part
def _turn_away(arrays: NetworkArrays, now: float, node: int, place: int) -> None:
    """A task that is refused or out of patience tries again later, or its job is lost."""
    state, station = arrays.state[0], arrays.stations[place]
    slot = node // state.width
    words = arrays.words[PURPOSES * arrays.pool[slot].kind + RETRIES]
    arrays.nodes[node].stage = NO_EVENT
    if station.retry != NONE and uniform(words) < station.retry_share:
        due = now + draw(words, arrays.shapes, arrays.values, station.retry)
        arrays.nodes[node].due, arrays.nodes[node].stage = due, IN_ORBIT
        _plan(arrays, due, 4 * node + IN_ORBIT)
        station.orbit += 1
        change(arrays.tally, state, now, STATION_WIDTH * place + ORBIT, 1.0)
        return
    arrays.pool[slot].lost = 1
    arrays.pool[slot].active -= 1
    if arrays.pool[slot].active == 0:
        give_up(arrays, now, slot)


@part
def give_up(arrays: NetworkArrays, now: float, slot: int) -> None:
    """A job whose task was lost leaves when its last task under way has ended."""
    state, job = arrays.state[0], arrays.pool[slot]
    column = column_of_type(arrays, job.kind)
    arrays.kinds[job.kind].in_system -= 1
    change(arrays.tally, state, now, column + IN_SYSTEM, -1.0)
    arrays.tally[column + LOST_COUNT] += 1.0
    if state.rows < arrays.record.size:
        record_event(arrays, now, LOST, slot, NONE)
    job.link = state.free
    state.free = slot


@part
def try_again(arrays: NetworkArrays, now: float, node: int) -> None:
    state = arrays.state[0]
    place = station_of(arrays, state, node)
    arrays.stations[place].orbit -= 1
    change(arrays.tally, state, now, STATION_WIDTH * place + ORBIT, -1.0)
    enter(arrays, now, node)


@part
def abandon(arrays: NetworkArrays, now: float, node: int) -> int:
    """A task leaves the line; returns its station."""
    state = arrays.state[0]
    slot = node // state.width
    task = arrays.tasks[arrays.pool[slot].first_task + node - slot * state.width]
    place: int = task.station
    at = place * state.levels + task.level
    before, after = arrays.nodes[node].back, arrays.nodes[node].link
    if before == NONE:
        arrays.lists[0, at] = after
    else:
        arrays.nodes[before].link = after
    if after != NONE:
        arrays.nodes[after].back = before
    else:
        arrays.lists[1, at] = before
    arrays.stations[place].waiting -= 1
    change(arrays.tally, state, now, STATION_WIDTH * place + WAITING, -1.0)
    arrays.tally[STATION_WIDTH * place + ABANDONED_COUNT] += 1.0
    _turn_away(arrays, now, node, place)
    return place


@part
def _interrupt(arrays: NetworkArrays, now: float, place: int, level: int) -> bool:
    """Interrupts the least urgent task in service, the latest of them, if it is less urgent.

    It goes to the head of its line. Its server has no task then, and is still counted as busy.
    """
    state, station = arrays.state[0], arrays.stations[place]
    victim, worst = NONE, level
    for at in range(station.held, station.held + station.busy):
        node = arrays.held[at]
        slot = node // state.width
        own = arrays.tasks[arrays.pool[slot].first_task + node - slot * state.width].level
        later = victim != NONE and arrays.nodes[node].ready > arrays.nodes[victim].ready
        if own > worst or (own == worst and later):
            victim, worst = node, own
    if victim == NONE:
        return False
    put_down(arrays, victim, place)
    row = arrays.nodes[victim]
    row.service, row.due, row.stage = row.due - now, -1.0, IN_LINE
    at = place * state.levels + worst
    head = arrays.lists[0, at]
    row.back, row.link = NONE, head
    if head == NONE:
        arrays.lists[1, at] = victim
    else:
        arrays.nodes[head].back = victim
    arrays.lists[0, at] = victim
    station.waiting += 1
    change(arrays.tally, state, now, STATION_WIDTH * place + WAITING, 1.0)
    if state.rows < arrays.record.size:
        record_event(arrays, now, INTERRUPTED, victim // state.width, victim % state.width)
    return True


@inlined
def put_down(arrays: NetworkArrays, node: int, place: int) -> None:
    """Takes a task out of those in service that can be interrupted; the last takes its place."""
    last = arrays.stations[place].held + arrays.stations[place].busy - 1
    moved = arrays.held[last]
    arrays.held[arrays.nodes[node].held] = moved
    arrays.nodes[moved].held = arrays.nodes[node].held


@part
def _merged(nodes: Rows, one: int, other: int) -> int:
    """Returns the root of two skew heaps; `link` and `back` are the children of a node."""
    root, parent = NONE, NONE
    while one != NONE and other != NONE:
        if nodes[other].due < nodes[one].due:
            one, other = other, one
        rest = nodes[one].back
        nodes[one].back = nodes[one].link
        if parent == NONE:
            root = one
        else:
            nodes[parent].link = one
        parent, one = one, rest
    rest = other if one == NONE else one
    if parent == NONE:
        return rest
    nodes[parent].link = rest
    return root


@inlined
def _progress(station: Any, now: float) -> None:
    present = station.busy + station.waiting
    if present > 0:
        speed = min(1.0, station.servers / present)
        station.progress += (now - station.changed) * speed
    else:
        station.progress = 0.0
    station.changed = now


@inlined
def _next_end(arrays: NetworkArrays, state: Any, now: float, place: int) -> None:
    """Finds the next end at a station that is shared; an event that is too early stays."""
    station = arrays.stations[place]
    if station.root == NONE:
        station.due = math.inf
        return
    speed = min(1.0, station.servers / (station.busy + station.waiting))
    left = max(0.0, arrays.nodes[station.root].due - station.progress)
    station.due = now + left / speed
    if station.due < station.event:
        station.event = station.due
        _plan(arrays, station.due, -1 - arrays.kinds.size - place)


@part
def _join(arrays: NetworkArrays, now: float, node: int, place: int) -> None:
    """A task starts to share the servers. Those beyond the servers count as waiting."""
    state, station = arrays.state[0], arrays.stations[place]
    _progress(station, now)
    _begin(arrays, now, node, place)
    row = arrays.nodes[node]
    row.due, row.stage, row.link, row.back = station.progress + row.service, NO_EVENT, NONE, NONE
    station.root = _merged(arrays.nodes, station.root, node)
    if station.busy < station.servers:
        occupy(arrays, state, now, place)
    else:
        station.waiting += 1
        change(arrays.tally, state, now, STATION_WIDTH * place + WAITING, 1.0)
    _next_end(arrays, state, now, place)
    if state.rows < arrays.record.size:
        record_event(arrays, now, STARTED, node // state.width, node % state.width)


@part
def end_shared(arrays: NetworkArrays, now: float, place: int) -> int:
    """Returns the task that ends now at a station that is shared, or NONE if it is too early."""
    state, station = arrays.state[0], arrays.stations[place]
    station.event = math.inf
    if station.root == NONE or station.due > now:
        if station.root != NONE:
            station.event = station.due
            _plan(arrays, station.due, -1 - arrays.kinds.size - place)
        return NONE
    _progress(station, now)
    node: int = station.root
    station.root = _merged(arrays.nodes, arrays.nodes[node].link, arrays.nodes[node].back)
    if station.waiting > 0:
        station.waiting -= 1
        change(arrays.tally, state, now, STATION_WIDTH * place + WAITING, -1.0)
    else:
        vacate(arrays, state, now, place)
    _next_end(arrays, state, now, place)
    return node
