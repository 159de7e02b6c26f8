"""The loop over the events of the queue system, compiled.

The next event is the soonest of a send, a request, a look, the end of a job at a queue's server,
the wake-up of a parked request, and the end of a slice. An access counts what it finds when its
service starts, and its messages are received when the service ends.
"""

import math
from typing import Any

from dovemq.models.checks import Floats
from dovemq.models.simulation.compiled import codes, inlined, kernel, part
from dovemq.models.simulation.histogram import bin_of
from dovemq.models.simulation.rds.choosing import PARK, next_queue
from dovemq.models.simulation.rds.state import RdsArrays
from dovemq.models.simulation.replication import NONE, change, keep_slice
from dovemq.models.simulation.runs import ENDED, FULL, PAUSED
from dovemq.models.simulation.sampling import exponential
from dovemq.models.simulation.streams import uniform

MESSAGE, REQUEST, LOOK = codes(0, 3)
IN_SYSTEM, STORED, BUSY, PARKED = codes(0, 4)
SENT, REQUESTS, REFUSED, ANSWERED, HITS, MISSES, LOOKS, WOKEN = codes(4, 12)
DONE, SOJOURN = codes(12, 14)
REQUEST_TIMES, SENDER_CHOICE = codes(0, 2)


@inlined
def _slot(arrays: RdsArrays, state: Any, now: float, kind: int, owner: int) -> int:
    """Takes a free slot; the loop makes sure that there is one."""
    slot: int = state.free
    job = arrays.pool[slot]
    state.free = job.link
    state.used += 1
    job.time, job.kind, job.owner = now, kind, owner
    job.found = job.tried = 0
    return slot


@inlined
def _free(arrays: RdsArrays, state: Any, slot: int) -> None:
    arrays.pool[slot].link = state.free
    state.free = slot
    state.used -= 1


@part
def _start(arrays: RdsArrays, now: float, queue: int) -> None:
    """Starts the first job that waits for a queue's server."""
    state, server = arrays.state[0], arrays.servers[queue]
    slot = server.head
    job = arrays.pool[slot]
    server.head = job.link
    if server.head == NONE:
        server.tail = NONE
    server.serving = slot
    if job.kind == MESSAGE:
        arrays.ends[queue] = now + state.enqueue_cost
    elif job.kind == LOOK:
        arrays.ends[queue] = now + state.look_cost
    else:
        server.taking = min(server.stored, state.wanted - job.found)
        cost = state.miss_cost
        if server.taking > 0:
            cost = state.hit_cost + server.taking * state.message_cost
        arrays.ends[queue] = now + cost


@part
def _put(arrays: RdsArrays, now: float, queue: int, slot: int) -> None:
    """Appends a job to those of a queue's server."""
    state, server = arrays.state[0], arrays.servers[queue]
    arrays.pool[slot].link = NONE
    if server.tail == NONE:
        server.head = slot
    else:
        arrays.pool[server.tail].link = slot
    server.tail = slot
    if server.serving == NONE:
        state.busy += 1
        change(arrays.tally, state, now, BUSY, 1.0)
        _start(arrays, now, queue)


@part
def _ask_later(arrays: RdsArrays, now: float, owner: int) -> None:
    between = exponential(arrays.words[REQUEST_TIMES], arrays.values)
    arrays.next_requests[owner] = now + between * arrays.state[0].request_every


@part
def _go_on(arrays: RdsArrays, now: float, slot: int) -> None:
    """Sends a request to its next queue, parks it, or answers it."""
    state, request = arrays.state[0], arrays.pool[slot]
    owner = request.owner
    controller = arrays.controllers[owner]
    queue = next_queue(
        state.method,
        state.regulated != 0,
        state.fanout,
        state.wanted,
        request.found,
        request.tried,
        controller.position,
        arrays.lengths[owner],
    )
    if queue >= 0:
        controller.position = (queue + 1) % arrays.servers.size
        if state.regulated and arrays.lengths[owner, queue] >= 0:
            left = arrays.lengths[owner, queue] - state.wanted + request.found
            arrays.lengths[owner, queue] = max(left, 0)
        _put(arrays, now, queue, slot)
    elif queue == PARK:
        _park(arrays, state, now, slot)
    else:
        arrays.tally[ANSWERED] += 1.0
        if state.closed:
            _ask_later(arrays, now, owner)
        _free(arrays, state, slot)


@inlined
def _park(arrays: RdsArrays, state: Any, now: float, slot: int) -> None:
    request = arrays.pool[slot]
    request.time = now + state.sleep
    request.link = NONE
    if state.parked_tail == NONE:
        state.parked_head = slot
    else:
        arrays.pool[state.parked_tail].link = slot
    state.parked_tail = slot
    state.parked += 1
    arrays.controllers[request.owner].parked += 1
    change(arrays.tally, state, now, PARKED, 1.0)


@part
def _wake(arrays: RdsArrays, now: float) -> int:
    """Takes the request that has been parked longest; it may access all queues again."""
    state = arrays.state[0]
    slot: int = state.parked_head
    request = arrays.pool[slot]
    state.parked_head = request.link
    if state.parked_head == NONE:
        state.parked_tail = NONE
    state.parked -= 1
    arrays.controllers[request.owner].parked -= 1
    change(arrays.tally, state, now, PARKED, -1.0)
    arrays.tally[WOKEN] += 1.0
    request.tried = 0
    return slot


@inlined
def _store(arrays: RdsArrays, state: Any, now: float, queue: int, slot: int) -> None:
    server = arrays.servers[queue]
    arrays.pool[slot].link = NONE
    if server.stored_tail == NONE:
        server.stored_head = slot
    else:
        arrays.pool[server.stored_tail].link = slot
    server.stored_tail = slot
    server.stored += 1
    state.stored += 1
    change(arrays.tally, state, now, STORED, 1.0)


@part
def _receive(arrays: RdsArrays, now: float, queue: int) -> None:
    """Takes the messages that an access has found, the oldest first."""
    state, server = arrays.state[0], arrays.servers[queue]
    for _ in range(server.taking):
        slot = server.stored_head
        message = arrays.pool[slot]
        server.stored_head = message.link
        sojourn = now - message.time
        arrays.tally[DONE] += 1.0
        arrays.tally[SOJOURN] += sojourn
        if state.slice > 0:
            arrays.histogram[0, bin_of(sojourn * state.per_scale)] += 1
        _free(arrays, state, slot)
    if server.stored_head == NONE:
        server.stored_tail = NONE
    server.stored -= server.taking
    state.stored -= server.taking
    state.in_system -= server.taking
    change(arrays.tally, state, now, STORED, -float(server.taking))
    change(arrays.tally, state, now, IN_SYSTEM, -float(server.taking))


@part
def _send(arrays: RdsArrays, now: float) -> None:
    state = arrays.state[0]
    chance = uniform(arrays.words[SENDER_CHOICE])
    controller = arrays.controllers[int(chance * arrays.controllers.size)]
    queue = controller.enqueue_position
    controller.enqueue_position = (queue + 1) % arrays.servers.size
    arrays.tally[SENT] += 1.0
    state.in_system += 1
    change(arrays.tally, state, now, IN_SYSTEM, 1.0)
    _put(arrays, now, queue, _slot(arrays, state, now, MESSAGE, NONE))


@part
def _end(arrays: RdsArrays, now: float, queue: int) -> None:
    """Ends the job at a queue's server: first its effect, then the next job, then what follows."""
    state, server = arrays.state[0], arrays.servers[queue]
    slot = server.serving
    job = arrays.pool[slot]
    if job.kind == MESSAGE:
        _store(arrays, state, now, queue, slot)
    elif job.kind == LOOK:
        arrays.tally[LOOKS] += 1.0
        arrays.lengths[job.owner, queue] = server.stored
        arrays.looking[job.owner, queue] = 0
    else:
        job.found += server.taking
        job.tried |= 1 << queue
        arrays.tally[HITS if server.taking > 0 else MISSES] += 1.0
        _receive(arrays, now, queue)
    server.serving = NONE
    arrays.ends[queue] = math.inf
    if server.head != NONE:
        _start(arrays, now, queue)
    else:
        state.busy -= 1
        change(arrays.tally, state, now, BUSY, -1.0)
    if job.kind == REQUEST:
        _go_on(arrays, now, slot)
    elif job.kind == LOOK:
        _free(arrays, state, slot)
    else:
        if state.senders:
            _send(arrays, now)
        if state.arrival and state.parked > 0:
            _put(arrays, now, queue, _wake(arrays, now))


@part
def _request(arrays: RdsArrays, now: float, owner: int) -> None:
    state = arrays.state[0]
    arrays.next_requests[owner] = math.inf
    if not state.closed:
        _ask_later(arrays, now, owner)
    arrays.tally[REQUESTS] += 1.0
    if state.blocks and arrays.controllers[owner].parked > 0:
        arrays.tally[REFUSED] += 1.0
        return
    _go_on(arrays, now, _slot(arrays, state, now, REQUEST, owner))


@part
def _look(arrays: RdsArrays, now: float, owner: int) -> None:
    """Sends a look to every queue that has answered the one before."""
    state = arrays.state[0]
    arrays.next_looks[owner] += state.period
    for queue in range(arrays.servers.size):
        if arrays.looking[owner, queue] == 0:
            arrays.looking[owner, queue] = 1
            _put(arrays, now, queue, _slot(arrays, state, now, LOOK, owner))


@part
def _end_slice(arrays: RdsArrays) -> None:
    state = arrays.state[0]
    keep_slice(arrays.tally, arrays.series, state)
    length = state.slice_length
    arrays.tally[IN_SYSTEM] = state.in_system * length
    arrays.tally[STORED] = state.stored * length
    arrays.tally[BUSY] = state.busy * length
    arrays.tally[PARKED] = state.parked * length


@inlined
def _soonest(times: Floats) -> int:
    first = 0
    for place in range(1, times.size):
        if times[place] < times[first]:
            first = place
    return first


@kernel
def advance(arrays: RdsArrays, events_max: int) -> int:
    """Runs to the end of the last slice (ENDED), or until there is no room (FULL), or PAUSED."""
    state = arrays.state[0]
    slices = arrays.series.shape[0]
    for _ in range(events_max):
        if state.slice == slices:
            return ENDED
        # A look takes a slot for each queue, and no other event takes more than two.
        if arrays.pool.size - state.used < arrays.servers.size + 2:
            return FULL
        if state.absent > 0:
            state.absent -= 1
            _send(arrays, 0.0)
            continue
        ended, request = _soonest(arrays.ends), _soonest(arrays.next_requests)
        # Only pms looks at queues.
        look = _soonest(arrays.next_looks) if arrays.next_looks.size > 0 else NONE
        looked = math.inf if look == NONE else arrays.next_looks[look]
        woken = math.inf
        if state.parked_head != NONE:
            woken = arrays.pool[state.parked_head].time
        asked = arrays.next_requests[request]
        now = min(arrays.ends[ended], state.next_send, asked, looked, woken, state.slice_end)
        if now == arrays.ends[ended]:
            _end(arrays, now, ended)
        elif now == state.next_send:
            state.next_send += state.send_every
            _send(arrays, now)
        elif now == woken:
            _go_on(arrays, now, _wake(arrays, now))
        elif now == asked:
            _request(arrays, now, request)
        elif now == looked:
            _look(arrays, now, look)
        else:
            _end_slice(arrays)
    return PAUSED
