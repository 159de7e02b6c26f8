"""The loop over the events of the replicated queue, compiled.

The next event is the soonest of the end of a pause and the end of a service.
"""

import math
from typing import Any

from dovemq.models.checks import Floats
from dovemq.models.simulation.compiled import inlined, kernel, part
from dovemq.models.simulation.joram.state import (
    CONSUMER,
    EMPTY_HANDED,
    GONE,
    MOVER,
    PAUSING,
    PRODUCER,
    QUEUED,
    SERVED,
    JoramArrays,
)
from dovemq.models.simulation.replication import NONE
from dovemq.models.simulation.runs import ENDED, PAUSED
from dovemq.models.simulation.sampling import exponential


@inlined
def _soonest(times: Floats, count: int) -> int:
    first = 0
    for place in range(1, count):
        if times[place] < times[first]:
            first = place
    return first


@part
def _pause(arrays: JoramArrays, now: float, number: int) -> None:
    state, client = arrays.state[0], arrays.clients[number]
    if client.left == 0 or client.leaving:
        client.stage = GONE
        arrays.wakes[number] = math.inf
        return
    length = state.consumer_pause if client.role == CONSUMER else state.producer_pause
    client.stage = PAUSING
    arrays.wakes[number] = now + length * exponential(arrays.words[0], arrays.values)


@part
def _wait_for_message(arrays: JoramArrays, now: float, number: int) -> None:
    client = arrays.clients[number]
    partition = arrays.partitions[client.partition]
    client.stage, client.since, client.link = EMPTY_HANDED, now, NONE
    if partition.empty_tail == NONE:
        partition.empty_head = number
    else:
        arrays.clients[partition.empty_tail].link = number
    partition.empty_tail = number


@part
def _service_time(arrays: JoramArrays, client: Any, partition: Any) -> float:
    state = arrays.state[0]
    length: float = state.send_time
    if client.role == CONSUMER:
        length = state.receive_time
    elif client.role == MOVER:
        length = state.move_time * client.left
    slower: float = 1.0 + state.slowdown * partition.waiting / 1000.0
    return length * slower * exponential(arrays.words[0], arrays.values)


@part
def _start(arrays: JoramArrays, now: float, place: int) -> None:
    """Starts the first operation that can be done; a consumer without a message waits for one."""
    partition = arrays.partitions[place]
    while partition.head != NONE:
        number = partition.head
        client = arrays.clients[number]
        partition.head = client.link
        if partition.head == NONE:
            partition.tail = NONE
        if client.role == CONSUMER:
            if partition.waiting == 0:
                _wait_for_message(arrays, now, number)
                continue
            partition.waiting -= 1
        elif client.role == MOVER and client.target != NONE:
            client.left = min(client.left, partition.waiting)
            partition.waiting -= client.left
        client.stage = SERVED
        partition.serving = number
        length = _service_time(arrays, client, partition)
        partition.busy += length
        arrays.ends[place] = now + length
        return


@part
def ask(arrays: JoramArrays, now: float, number: int) -> None:
    """Appends a client to those that wait for its partition's server."""
    client = arrays.clients[number]
    partition = arrays.partitions[client.partition]
    arrays.wakes[number] = math.inf
    client.stage, client.link = QUEUED, NONE
    if partition.tail == NONE:
        partition.head = number
    else:
        arrays.clients[partition.tail].link = number
    partition.tail = number
    if partition.serving == NONE:
        _start(arrays, now, client.partition)


@part
def _store(arrays: JoramArrays, now: float, place: int, count: int) -> None:
    """Adds messages, and lets as many consumers that wait for one ask again."""
    partition = arrays.partitions[place]
    partition.waiting += count
    for _ in range(count):
        if partition.empty_head == NONE:
            return
        number = partition.empty_head
        client = arrays.clients[number]
        partition.empty_head = client.link
        if partition.empty_head == NONE:
            partition.empty_tail = NONE
        client.starved += now - client.since
        ask(arrays, now, number)


@part
def _end(arrays: JoramArrays, now: float, place: int) -> None:
    partition = arrays.partitions[place]
    number = partition.serving
    client = arrays.clients[number]
    partition.serving = NONE
    arrays.ends[place] = math.inf
    if client.role == MOVER:
        _carry(arrays, now, place, number)
    else:
        client.done += 1
        client.left -= 1
        if client.role == PRODUCER:
            partition.produced += 1
            _store(arrays, now, place, 1)
        else:
            partition.consumed += 1
        _pause(arrays, now, number)
    if partition.serving == NONE:
        _start(arrays, now, place)


@part
def _carry(arrays: JoramArrays, now: float, place: int, number: int) -> None:
    """Takes a mover from its source to its target, or ends it there."""
    client, partition = arrays.clients[number], arrays.partitions[place]
    if client.target == NONE:
        partition.moved += client.left
        client.stage = GONE
        _store(arrays, now, place, client.left)
        return
    client.partition, client.target = client.target, NONE
    ask(arrays, now, number)


@kernel
def begin(arrays: JoramArrays, number: int) -> None:
    """Lets a client that has joined begin: a mover with its source, others with a pause."""
    now = arrays.state[0].now
    if arrays.clients[number].role == MOVER:
        ask(arrays, now, number)
    else:
        _pause(arrays, now, number)


@kernel
def advance(arrays: JoramArrays, until: float, events_max: int) -> int:
    """Runs until a time (ENDED), or PAUSED after so many events."""
    state = arrays.state[0]
    for _ in range(events_max):
        woken = _soonest(arrays.wakes, max(state.clients, 1))
        ended = _soonest(arrays.ends, state.partitions)
        now = min(arrays.wakes[woken], arrays.ends[ended])
        if now > until:
            state.now = until
            return ENDED
        state.now = now
        if now == arrays.ends[ended]:
            _end(arrays, now, ended)
        else:
            ask(arrays, now, woken)
    return PAUSED
