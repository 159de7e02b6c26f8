"""Short ways to write what the controller observes."""

from collections.abc import Sequence

from dovemq.fabric.autonomic import (
    ClientJoins,
    ClientLeaves,
    ClientRole,
    ControlMemory,
    PartitionLoad,
    QueueLoad,
    QueueStanding,
    standing_of,
)
from dovemq.fabric.autonomic.observation import ClientEvent

PRODUCER, CONSUMER = ClientRole.PRODUCER, ClientRole.CONSUMER
PRODUCER_JOINS, CONSUMER_JOINS = ClientJoins(PRODUCER), ClientJoins(CONSUMER)
PRODUCER_LEAVES, CONSUMER_LEAVES = ClientLeaves(PRODUCER), ClientLeaves(CONSUMER)
CAPACITY = 6.0
ROOMY = 100.0


def load(*clients: tuple[int, int], event: ClientEvent = None, now_ms: int = 0) -> QueueLoad:
    """Partitions 0, 1, … by their numbers of producers and consumers, with equal capacities."""
    partitions = tuple(
        PartitionLoad(number, producers, consumers, CAPACITY)
        for number, (producers, consumers) in enumerate(clients)
    )
    return QueueLoad(now_ms, partitions, event)


def roomy(clients: Sequence[Sequence[int]]) -> QueueStanding:
    """Partitions that no test fills, by their producers and consumers."""
    partitions = tuple(
        PartitionLoad(number, each[0], each[1], ROOMY) for number, each in enumerate(clients)
    )
    return standing_of(QueueLoad(0, partitions), ControlMemory())


def filled(*partitions: tuple[int, int, int], marked: int | None = None) -> QueueStanding:
    """Partitions by producers, consumers and visible messages."""
    listed = tuple(
        PartitionLoad(number, producers, consumers, CAPACITY, visible)
        for number, (producers, consumers, visible) in enumerate(partitions)
    )
    return standing_of(QueueLoad(0, listed), ControlMemory(marked))
