"""The loop over the events of a network, compiled.

All times of a job are drawn when it arrives. An event leaves a hollow top of the heap, which its
first successor fills: an event with one successor sifts once. `stations.py` has what happens at a
station, `agenda.py` the heap.
"""

from typing import Any

from dovemq.models.simulation.arriving import ARRIVALS, next_arrival
from dovemq.models.simulation.compiled import inlined, kernel, part
from dovemq.models.simulation.histogram import bin_of
from dovemq.models.simulation.network.agenda import (
    IN_ORBIT,
    NO_EVENT,
    SERVING,
    drop_stale,
    holds,
    schedule,
    sift_down,
)
from dovemq.models.simulation.network.state import PURPOSES, NetworkArrays
from dovemq.models.simulation.network.stations import (
    ANY_BUSY,
    ARRIVED,
    ARRIVED_COUNT,
    BLOCKED,
    BUSY,
    DONE,
    DONE_COUNT,
    ENDED,
    ENDED_COUNT,
    IN_SYSTEM,
    ORBIT,
    PATHS,
    PREEMPTIVE,
    READY,
    READY_COUNT,
    RULED,
    SERVICES,
    SHARED,
    SOJOURN,
    STATION_WIDTH,
    WAITING,
    Ruled,
    abandon,
    column_of_type,
    end_shared,
    enter,
    free_server,
    give_up,
    line_up,
    occupy,
    put_down,
    record_event,
    start,
    station_of,
    take_waiting,
    try_again,
)
from dovemq.models.simulation.replication import NONE, change, keep_slice
from dovemq.models.simulation.runs import ENDED as RUN_ENDED
from dovemq.models.simulation.runs import FULL, PAUSED
from dovemq.models.simulation.sampling import draw
from dovemq.models.simulation.streams import uniform


@part
def _become_ready(arrays: NetworkArrays, ruled: Ruled, now: float, node: int) -> None:
    state = arrays.state[0]
    slot, number = node // state.width, node % state.width
    task = arrays.tasks[arrays.pool[slot].first_task + number]
    place = task.station
    arrays.nodes[node].ready = now
    arrays.tally[STATION_WIDTH * place + READY_COUNT] += 1.0
    if state.rows < arrays.record.size:
        record_event(arrays, now, READY, slot, number)
    if ruled is not None:
        arrays.pool[slot].active += 1
        if arrays.stations[place].plain == 0:
            enter(arrays, now, node)
            return
    if arrays.stations[place].busy < arrays.stations[place].servers:
        occupy(arrays, state, now, place)
        start(arrays, ruled, now, node, place)
    else:
        line_up(arrays, ruled, now, node, place)


@inlined
def _schedule_arrival(arrays: NetworkArrays, ruled: Ruled, now: float, kind: int) -> None:
    words, source = arrays.words[PURPOSES * kind :], arrays.sources[kind]
    if ruled is None:
        time = now + draw(words[ARRIVALS], arrays.shapes, arrays.values, source.place)
    else:
        time = next_arrival(words, source, arrays.tables, arrays.shapes, arrays.values, now)
    schedule(arrays.heap, arrays.state[0], time, -1 - kind)


@inlined
def _arrive(arrays: NetworkArrays, ruled: Ruled, now: float, kind: int) -> None:
    state = arrays.state[0]
    row, words = arrays.kinds[kind], arrays.words[PURPOSES * kind :]
    slot = state.free
    job = arrays.pool[slot]
    state.free = job.link
    path = row.first
    if row.paths > 1:
        chance = uniform(words[PATHS])
        while chance >= arrays.paths[path].share:
            path += 1
    job.arrived, job.serial, job.kind = now, state.serial, kind
    job.first_task, job.left = arrays.paths[path].first, arrays.paths[path].tasks
    state.serial += 1
    row.in_system += 1
    column = column_of_type(arrays, kind)
    arrays.tally[column + ARRIVED_COUNT] += 1.0
    change(arrays.tally, state, now, column + IN_SYSTEM, 1.0)
    if state.rows < arrays.record.size:
        record_event(arrays, now, ARRIVED, slot, NONE)
    _schedule_arrival(arrays, ruled, now, kind)
    node, tasks = slot * state.width, job.left
    for number in range(tasks):
        task = arrays.tasks[job.first_task + number]
        arrays.nodes[node + number].before = task.before
        if ruled is not None:
            arrays.nodes[node + number].begun = 0
        service = draw(words[SERVICES], arrays.shapes, arrays.values, task.service)
        arrays.nodes[node + number].service = service
    # A job that is lost at once must not give its slot back before all its tasks were looked at.
    job.active, job.lost = 1, 0
    for number in range(tasks):
        if job.lost == 0 and arrays.tasks[job.first_task + number].before == 0:
            _become_ready(arrays, ruled, now, node + number)
    if ruled is not None:
        job.active -= 1
        if job.lost and job.active == 0:
            give_up(arrays, now, slot)


@inlined
def _complete(arrays: NetworkArrays, now: float, slot: int) -> None:
    state, job = arrays.state[0], arrays.pool[slot]
    sojourn = now - job.arrived
    arrays.kinds[job.kind].in_system -= 1
    column = column_of_type(arrays, job.kind)
    change(arrays.tally, state, now, column + IN_SYSTEM, -1.0)
    arrays.tally[column + DONE_COUNT] += 1.0
    arrays.tally[column + SOJOURN] += sojourn
    if state.slice > 0:
        arrays.histogram[job.kind, bin_of(sojourn * state.per_scale)] += 1
    if state.rows < arrays.record.size:
        record_event(arrays, now, DONE, slot, NONE)
    job.link = state.free
    state.free = slot


@inlined
def _pass_on(arrays: NetworkArrays, ruled: Ruled, now: float, node: int) -> None:
    """The job of a task that has left its station goes on to the next tasks, or is done."""
    state = arrays.state[0]
    slot = node // state.width
    first, number = slot * state.width, node - slot * state.width
    job = arrays.pool[slot]
    task = arrays.tasks[job.first_task + number]
    job.left -= 1
    for place in range(task.next_first, task.next_first + task.next_count):
        successor = arrays.nodes[first + arrays.nexts[place]]
        successor.before -= 1
        if successor.before == 0 and job.lost == 0:
            _become_ready(arrays, ruled, now, first + arrays.nexts[place])
    if job.left == 0:
        _complete(arrays, now, slot)
    elif ruled is not None:
        job.active -= 1
        if job.lost and job.active == 0:
            give_up(arrays, now, slot)


@part
def _admit_blocked(arrays: NetworkArrays, now: float, place: int) -> None:
    """A station has room again: the first task that it blocked enters, and frees its own server.

    The server takes the next task of its line, which makes room there, and so on up the route.
    """
    state = arrays.state[0]
    while arrays.stations[place].first_blocked != NONE:
        station = arrays.stations[place]
        if station.busy + station.waiting >= station.room:
            return
        node = arrays.stations[place].first_blocked
        arrays.stations[place].first_blocked = arrays.nodes[node].link
        above = station_of(arrays, state, node)
        column = STATION_WIDTH * above
        arrays.stations[above].blocked -= 1
        change(arrays.tally, state, now, column + BLOCKED, -1.0)
        change(arrays.tally, state, now, column + BUSY, 1.0)
        _pass_on(arrays, RULED, now, node)
        free_server(arrays, now, above)
        place = above


@inlined
def _is_blocked(arrays: NetworkArrays, state: Any, now: float, node: int) -> bool:
    """Holds the server of a task that has ended while the next station has no room."""
    slot = node // state.width
    task = arrays.tasks[arrays.pool[slot].first_task + node - slot * state.width]
    if task.next_count != 1 or arrays.pool[slot].lost:
        return False
    below = station_of(arrays, state, slot * state.width + arrays.nexts[task.next_first])
    station = arrays.stations[below]
    if station.blocks == 0 or station.busy + station.waiting < station.room:
        return False
    arrays.nodes[node].link, arrays.nodes[node].stage = NONE, NO_EVENT
    if station.first_blocked == NONE:
        station.first_blocked = node
    else:
        arrays.nodes[station.last_blocked].link = node
    station.last_blocked = node
    arrays.stations[task.station].blocked += 1
    column = STATION_WIDTH * task.station
    change(arrays.tally, state, now, column + BLOCKED, 1.0)
    change(arrays.tally, state, now, column + BUSY, -1.0)
    return True


@inlined
def _leave(arrays: NetworkArrays, now: float, node: int, place: int) -> bool:
    """A task that has ended leaves a station with rules of its own, unless it is blocked."""
    state, station = arrays.state[0], arrays.stations[place]
    arrays.nodes[node].stage = NO_EVENT
    if station.discipline != SHARED:
        if state.blocking and _is_blocked(arrays, state, now, node):
            return False
        if station.discipline == PREEMPTIVE:
            put_down(arrays, node, place)
        free_server(arrays, now, place)
    return True


@inlined
def _end(arrays: NetworkArrays, ruled: Ruled, now: float, node: int) -> None:
    state = arrays.state[0]
    place = station_of(arrays, state, node)
    arrays.tally[STATION_WIDTH * place + ENDED_COUNT] += 1.0
    if state.rows < arrays.record.size:
        record_event(arrays, now, ENDED, node // state.width, node % state.width)
    if ruled is None:
        take_waiting(arrays, ruled, now, place)
        _pass_on(arrays, ruled, now, node)
    elif _leave(arrays, now, node, place):
        _pass_on(arrays, ruled, now, node)
        if arrays.stations[place].first_blocked != NONE:
            _admit_blocked(arrays, now, place)


@part
def _happen(arrays: NetworkArrays, now: float, item: int) -> int:
    """Handles what only stations with rules have; returns the task that ends now, or NONE."""
    if item < 0:
        return end_shared(arrays, now, -1 - item - arrays.kinds.size)
    if (item & 3) == IN_ORBIT:
        try_again(arrays, now, item >> 2)
    else:
        place = abandon(arrays, now, item >> 2)
        _admit_blocked(arrays, now, place)
    return NONE


@part
def _end_slice(arrays: NetworkArrays) -> None:
    state, tally = arrays.state[0], arrays.tally
    keep_slice(tally, arrays.series, state)
    for place in range(arrays.stations.size):
        station, column = arrays.stations[place], STATION_WIDTH * place
        tally[column + WAITING] = station.waiting * state.slice_length
        tally[column + BUSY] = (station.busy - station.blocked) * state.slice_length
        tally[column + ANY_BUSY] = min(station.busy, 1) * state.slice_length
        tally[column + BLOCKED] = station.blocked * state.slice_length
        tally[column + ORBIT] = station.orbit * state.slice_length
    for kind in range(arrays.kinds.size):
        in_system = arrays.kinds[kind].in_system
        tally[column_of_type(arrays, kind) + IN_SYSTEM] = in_system * state.slice_length


@inlined
def _has_room(arrays: NetworkArrays, ruled: Ruled) -> bool:
    """Says whether there is room for one more job and for the events of one event."""
    state = arrays.state[0]
    if ruled is None:
        return bool(state.free != NONE)
    if state.free == NONE:
        return False
    if state.pending + state.at_once <= arrays.heap.size:
        return True
    drop_stale(arrays)
    return bool(2 * (state.pending + state.at_once) <= arrays.heap.size + state.at_once)


@kernel
def advance(arrays: NetworkArrays, ruled: Ruled, events_max: int) -> int:
    """Runs to the end of the last slice (RUN_ENDED), until no room is left (FULL), or PAUSED."""
    state = arrays.state[0]
    slices = arrays.series.shape[0]
    kinds = arrays.kinds.size
    if state.pending == 0:
        for kind in range(kinds):
            _schedule_arrival(arrays, ruled, 0.0, kind)
    for _ in range(events_max):
        if not _has_room(arrays, ruled):
            return FULL
        now, item = arrays.heap[0].time, arrays.heap[0].item
        while now >= state.slice_end:
            _end_slice(arrays)
            if state.slice == slices:
                return RUN_ENDED
        state.hollow = 1
        if ruled is None:
            if item < 0:
                _arrive(arrays, ruled, now, -1 - item)
            else:
                _end(arrays, ruled, now, item >> 2)
        elif holds(arrays, now, item):
            node = NONE
            if item >= 0 and (item & 3) == SERVING:
                node = item >> 2
            elif item < 0 and item >= -kinds:
                _arrive(arrays, ruled, now, -1 - item)
            else:
                node = _happen(arrays, now, item)
            if node != NONE:
                _end(arrays, ruled, now, node)
        if state.hollow:
            state.hollow = 0
            state.pending -= 1
            last = arrays.heap[state.pending]
            sift_down(arrays.heap, state.pending, last.time, last.item, 0)
    return PAUSED
