"""The choice of a dequeue controller: the next queue for a request, or to park it, or to answer.

The pure strategies of the service make the same choices from the same numbers; a test compares
them. They live in another layer, which the models do not import.
"""

from numpy.typing import NDArray

from dovemq.models.simulation.compiled import codes, part

PARK, ANSWER = codes(-2, 0)
CONVENTIONAL, PMS, RDS = codes(0, 3)


@part
def next_queue(
    method: int,
    regulated: bool,
    fanout: int,
    wanted: int,
    found: int,
    tried: int,
    position: int,
    lengths: NDArray,  # type: ignore[type-arg]
) -> int:
    """Returns a queue, or PARK or ANSWER.

    `tried` has a bit for each queue that the request has accessed since its start or its last
    wake-up; `position` is the queue whose turn it is; `lengths` are those of the last look, and
    below 0 before it.
    """
    queues = lengths.size
    count = 0
    for queue in range(queues):
        count += (tried >> queue) & 1
    if method == RDS and count > 0 and found == 0:
        return PARK
    if found >= wanted or count >= fanout:
        return ANSWER
    best, most = ANSWER, -1
    for step in range(queues):
        queue = (position + step) % queues
        if (tried >> queue) & 1:
            continue
        if method != PMS:
            return queue
        length = max(lengths[queue], 0)
        if length > most and (length > 0 or not regulated or lengths[queue] < 0):
            best, most = queue, length
    return best
