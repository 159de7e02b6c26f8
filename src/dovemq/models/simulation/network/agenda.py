"""The coming events of a network: a binary heap by time.

An item is the event of a node (4 × node + what happens), or, if it is negative, the next arrival of
a job type or the next end at a topic that shares its consumers. Events that no longer hold stay in
the heap and are skipped: a node or a topic knows the time of its own event. When the heap is full,
they are removed.
"""

from typing import Any

from dovemq.models.simulation.compiled import codes, inlined, part
from dovemq.models.simulation.network.state import NetworkArrays
from dovemq.models.simulation.sampling import Rows

SERVING, IN_LINE, IN_ORBIT, NO_EVENT = codes(0, 4)
"""The stages of a node. Its event is the end of the service, of its patience, of the orbit."""


@inlined
def is_before(time: float, item: int, other_time: float, other_item: int) -> bool:
    """Orders events; at the same time the end of a service goes before an arrival."""
    return time < other_time or (time == other_time and item > other_item)


@inlined
def sift_down(heap: Rows, count: int, time: float, item: int, hollow: int) -> None:
    """Puts an event into the heap at a hollow place."""
    place, child = hollow, 2 * hollow + 1
    while child < count:
        least = heap[child]
        if child + 1 < count:
            right = heap[child + 1]
            if is_before(right.time, right.item, least.time, least.item):
                least = right
                child += 1
        if is_before(time, item, least.time, least.item):
            break
        heap[place].time, heap[place].item = least.time, least.item
        place = child
        child = 2 * place + 1
    heap[place].time, heap[place].item = time, item


@inlined
def schedule(heap: Rows, state: Any, time: float, item: int) -> None:
    if state.hollow:
        state.hollow = 0
        sift_down(heap, state.pending, time, item, 0)
        return
    place = state.pending
    state.pending += 1
    while place > 0:
        parent = heap[(place - 1) >> 1]
        if not is_before(time, item, parent.time, parent.item):
            break
        heap[place].time, heap[place].item = parent.time, parent.item
        place = (place - 1) >> 1
    heap[place].time, heap[place].item = time, item


@inlined
def holds(arrays: NetworkArrays, time: float, item: int) -> bool:
    """Says whether an event was neither cancelled nor moved."""
    if item >= 0:
        node = arrays.nodes[item >> 2]
        return bool(node.due == time and node.stage == (item & 3))
    place = -1 - item - arrays.kinds.size
    return bool(place < 0 or arrays.stations[place].event == time)


@part
def drop_stale(arrays: NetworkArrays) -> None:
    """Removes the events that no longer hold and builds the heap again."""
    state, heap = arrays.state[0], arrays.heap
    kept = 0
    for place in range(state.pending):
        time, item = heap[place].time, heap[place].item
        if holds(arrays, time, item):
            heap[kept].time, heap[kept].item = time, item
            kept += 1
    state.pending = kept
    for place in range(kept // 2 - 1, -1, -1):
        sift_down(heap, kept, heap[place].time, heap[place].item, place)
