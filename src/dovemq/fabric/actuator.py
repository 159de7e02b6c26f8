"""Carries decisions of the controller into the settings of a queue, without I/O.

A queue's partitions live on the front ends that the placement gives them: the free nodes of the
paper are the front ends without a partition of the queue. The controller does not move partitions
between front ends. It chooses the number of a new partition so that its place is a free one, or the
one with the fewest partitions of the queue.

A *marked* partition stays active in the layout, and the memory of the controller names it. It gets
no new client and no message without a session, and serves the clients that it has. Its removal lets
it drain, as if the owner had asked for fewer partitions; when it is empty, the layout forgets it.
"""

import collections
from collections.abc import Callable
from typing import Final

import msgspec

from dovemq.core.limits import PARTITIONS
from dovemq.core.partitions import ControlMemory, with_active, with_draining
from dovemq.core.queue import Queue, QueueSettings
from dovemq.fabric.autonomic import ActionKind, ControlAction

NUMBERS_PER_PARTITION: Final = 8
"""A queue chooses among this many numbers for each partition that it may have, so that nearly every
place has a free one."""

Placement = Callable[[int, int], int]
"""The front end that serves the partition, or would: number of the queue, of the partition."""


def one_place(queue_number: int, partition: int) -> int:
    """The placement of a store that one process uses alone."""
    return 0


def free_number(queue: Queue, last_number: int, placement: Placement) -> int:
    """The number for a new partition: one at a place with the fewest partitions of the queue.

    Among these, numbers that were used before come first, since each number that was ever used is
    looked after for as long as the queue exists. Otherwise they are used in turn.
    """
    active, highest = queue.settings.layout.active, queue.settings.layout.highest
    numbers = min(NUMBERS_PER_PARTITION * queue.settings.partitions_max, PARTITIONS.most)
    first = last_number + 1
    turn = [each % numbers for each in range(first, first + numbers)]
    taken = collections.Counter(placement(queue.number, number) for number in active)
    free = (number for number in turn if number not in active)
    return min(free, key=lambda number: (taken[placement(queue.number, number)], number > highest))


def carried_out(
    settings: QueueSettings, action: ControlAction | None, memory: ControlMemory
) -> QueueSettings:
    """The settings with the layout after the action and with the memory of it."""
    layout = settings.layout
    if action is not None and action.kind is ActionKind.ADD:
        layout = with_active(layout, action.partition)
    elif action is not None and action.kind is ActionKind.REMOVE:
        layout = with_draining(layout, action.partition)
    return msgspec.structs.replace(
        settings, layout=layout, partitions=len(layout.active), control=memory
    )
