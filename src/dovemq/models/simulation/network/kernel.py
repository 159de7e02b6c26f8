"""The loop over the events of a network, compiled.

All times of a job are drawn when it arrives. An event leaves a hollow top of the heap, which its
first successor fills: an event with one successor sifts once.
"""

from typing import Any, Final

from dovemq.models.simulation.compiled import codes, inlined, kernel, part
from dovemq.models.simulation.histogram import bin_of
from dovemq.models.simulation.network.state import PURPOSES, NetworkArrays
from dovemq.models.simulation.replication import NONE, change, keep_slice
from dovemq.models.simulation.runs import ENDED as RUN_ENDED
from dovemq.models.simulation.runs import FULL, PAUSED
from dovemq.models.simulation.sampling import Rows, draw
from dovemq.models.simulation.streams import uniform

ARRIVALS, PATHS, SERVICES = range(3)
ARRIVED, READY, STARTED, ENDED, DONE = codes(0, 5)
STATION_WIDTH: Final = 7
WAITING, BUSY, ANY_BUSY, READY_COUNT, STARTED_COUNT, ENDED_COUNT, WAIT = range(7)
TYPE_WIDTH: Final = 4
IN_SYSTEM, ARRIVED_COUNT, DONE_COUNT, SOJOURN = range(4)


@part
def _record(arrays: NetworkArrays, now: float, event: int, slot: int, task: int) -> None:
    state, job = arrays.state[0], arrays.pool[slot]
    row = arrays.record[state.rows]
    row.time, row.event, row.job, row.kind = now, event, job.serial, job.kind
    row.task = row.station = NONE
    if task != NONE:
        row.task, row.station = task, arrays.tasks[job.first_task + task].station
    state.rows += 1


@inlined
def _is_before(time: float, item: int, other_time: float, other_item: int) -> bool:
    """Orders events; at the same time the end of a service goes before an arrival."""
    return time < other_time or (time == other_time and item > other_item)


@inlined
def _sift_down(heap: Rows, count: int, time: float, item: int) -> None:
    """Puts an event into the heap, whose top is hollow."""
    place, child = 0, 1
    while child < count:
        least = heap[child]
        if child + 1 < count:
            right = heap[child + 1]
            if _is_before(right.time, right.item, least.time, least.item):
                least = right
                child += 1
        if _is_before(time, item, least.time, least.item):
            break
        heap[place].time, heap[place].item = least.time, least.item
        place = child
        child = 2 * place + 1
    heap[place].time, heap[place].item = time, item


@inlined
def _schedule(heap: Rows, state: Any, time: float, item: int) -> None:
    if state.hollow:
        state.hollow = 0
        _sift_down(heap, state.pending, time, item)
        return
    place = state.pending
    state.pending += 1
    while place > 0:
        parent = heap[(place - 1) >> 1]
        if not _is_before(time, item, parent.time, parent.item):
            break
        heap[place].time, heap[place].item = parent.time, parent.item
        place = (place - 1) >> 1
    heap[place].time, heap[place].item = time, item


@inlined
def _column_of_type(arrays: NetworkArrays, kind: int) -> int:
    return STATION_WIDTH * arrays.stations.size + TYPE_WIDTH * kind


@inlined
def _start(arrays: NetworkArrays, state: Any, now: float, node: int, place: int) -> None:
    column = STATION_WIDTH * place
    arrays.tally[column + STARTED_COUNT] += 1.0
    arrays.tally[column + WAIT] += now - arrays.nodes[node].ready
    _schedule(arrays.heap, state, now + arrays.nodes[node].service, node)
    if state.rows < arrays.record.size:
        _record(arrays, now, STARTED, node // state.width, node % state.width)


@part
def _become_ready(arrays: NetworkArrays, now: float, node: int) -> None:
    state = arrays.state[0]
    slot, number = node // state.width, node % state.width
    task = arrays.tasks[arrays.pool[slot].first_task + number]
    station, column = arrays.stations[task.station], STATION_WIDTH * task.station
    arrays.nodes[node].ready = now
    arrays.tally[column + READY_COUNT] += 1.0
    if state.rows < arrays.record.size:
        _record(arrays, now, READY, slot, number)
    if station.busy < station.servers:
        if station.busy == 0:
            change(arrays.tally, state, now, column + ANY_BUSY, 1.0)
        station.busy += 1
        change(arrays.tally, state, now, column + BUSY, 1.0)
        _start(arrays, state, now, node, task.station)
        return
    station.waiting += 1
    change(arrays.tally, state, now, column + WAITING, 1.0)
    arrays.nodes[node].link = NONE
    place = task.station * state.levels + task.level
    if arrays.lists[0, place] == NONE:
        arrays.lists[0, place] = node
    else:
        arrays.nodes[arrays.lists[1, place]].link = node
    arrays.lists[1, place] = node


@inlined
def _arrive(arrays: NetworkArrays, state: Any, now: float, kind: int) -> None:
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
    column = _column_of_type(arrays, kind)
    arrays.tally[column + ARRIVED_COUNT] += 1.0
    change(arrays.tally, state, now, column + IN_SYSTEM, 1.0)
    if state.rows < arrays.record.size:
        _record(arrays, now, ARRIVED, slot, NONE)
    gap = draw(words[ARRIVALS], arrays.shapes, arrays.values, row.arrival)
    _schedule(arrays.heap, state, now + gap, -1 - kind)
    node = slot * state.width
    for number in range(job.left):
        task = arrays.tasks[job.first_task + number]
        arrays.nodes[node + number].before = task.before
        service = draw(words[SERVICES], arrays.shapes, arrays.values, task.service)
        arrays.nodes[node + number].service = service
    for number in range(job.left):
        if arrays.tasks[job.first_task + number].before == 0:
            _become_ready(arrays, now, node + number)


@inlined
def _take_waiting(arrays: NetworkArrays, state: Any, now: float, place: int) -> None:
    """The free server takes the next task of its station, or idles."""
    station, column = arrays.stations[place], STATION_WIDTH * place
    if station.waiting == 0:
        station.busy -= 1
        change(arrays.tally, state, now, column + BUSY, -1.0)
        if station.busy == 0:
            change(arrays.tally, state, now, column + ANY_BUSY, -1.0)
        return
    at = place * state.levels
    while arrays.lists[0, at] == NONE:
        at += 1
    node = arrays.lists[0, at]
    arrays.lists[0, at] = arrays.nodes[node].link
    station.waiting -= 1
    change(arrays.tally, state, now, column + WAITING, -1.0)
    _start(arrays, state, now, node, place)


@inlined
def _complete(arrays: NetworkArrays, state: Any, now: float, slot: int) -> None:
    job = arrays.pool[slot]
    sojourn = now - job.arrived
    arrays.kinds[job.kind].in_system -= 1
    column = _column_of_type(arrays, job.kind)
    change(arrays.tally, state, now, column + IN_SYSTEM, -1.0)
    arrays.tally[column + DONE_COUNT] += 1.0
    arrays.tally[column + SOJOURN] += sojourn
    if state.slice > 0:
        arrays.histogram[job.kind, bin_of(sojourn * state.per_scale)] += 1
    if state.rows < arrays.record.size:
        _record(arrays, now, DONE, slot, NONE)
    job.link = state.free
    state.free = slot


@inlined
def _end(arrays: NetworkArrays, state: Any, now: float, node: int) -> None:
    slot = node // state.width
    first, number = slot * state.width, node - slot * state.width
    job = arrays.pool[slot]
    task = arrays.tasks[job.first_task + number]
    arrays.tally[STATION_WIDTH * task.station + ENDED_COUNT] += 1.0
    if state.rows < arrays.record.size:
        _record(arrays, now, ENDED, slot, number)
    _take_waiting(arrays, state, now, task.station)
    for place in range(task.next_first, task.next_first + task.next_count):
        successor = arrays.nodes[first + arrays.nexts[place]]
        successor.before -= 1
        if successor.before == 0:
            _become_ready(arrays, now, first + arrays.nexts[place])
    job.left -= 1
    if job.left == 0:
        _complete(arrays, state, now, slot)


@part
def _end_slice(arrays: NetworkArrays) -> None:
    state, tally = arrays.state[0], arrays.tally
    keep_slice(tally, arrays.series, state)
    for place in range(arrays.stations.size):
        station, column = arrays.stations[place], STATION_WIDTH * place
        tally[column + WAITING] = station.waiting * state.slice_length
        tally[column + BUSY] = station.busy * state.slice_length
        tally[column + ANY_BUSY] = min(station.busy, 1) * state.slice_length
    for kind in range(arrays.kinds.size):
        in_system = arrays.kinds[kind].in_system
        tally[_column_of_type(arrays, kind) + IN_SYSTEM] = in_system * state.slice_length


@kernel
def advance(arrays: NetworkArrays, events_max: int) -> int:
    """Runs to the end of the last slice (RUN_ENDED), until no room is left (FULL), or PAUSED."""
    state = arrays.state[0]
    slices = arrays.series.shape[0]
    if state.pending == 0:
        for kind in range(arrays.kinds.size):
            words = arrays.words[PURPOSES * kind + ARRIVALS]
            gap = draw(words, arrays.shapes, arrays.values, arrays.kinds[kind].arrival)
            _schedule(arrays.heap, state, gap, -1 - kind)
    for _ in range(events_max):
        now, item = arrays.heap[0].time, arrays.heap[0].item
        while now >= state.slice_end:
            _end_slice(arrays)
            if state.slice == slices:
                return RUN_ENDED
        if state.free == NONE:
            return FULL
        state.hollow = 1
        if item < 0:
            _arrive(arrays, state, now, -1 - item)
        else:
            _end(arrays, state, now, item)
        if state.hollow:
            state.hollow = 0
            state.pending -= 1
            last = arrays.heap[state.pending]
            _sift_down(arrays.heap, state.pending, last.time, last.item)
    return PAUSED
