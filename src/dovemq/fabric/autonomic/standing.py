"""The figures by which the rules judge a queue: shares, loads, and flooding or draining."""

import enum

from msgspec import Struct

from dovemq.core.partitions import ControlMemory
from dovemq.fabric.autonomic.observation import PartitionLoad, QueueLoad


class ClientBalance(enum.Enum):
    """The effect of a partition's clients on its backlog in the long run."""

    FLOODING = "flooding"
    DRAINING = "draining"
    STABLE = "stable"


class PartitionStanding(Struct, frozen=True):
    """`producer_share` is x_i, `consumer_share` is y_i, `load` is L_i."""

    partition: PartitionLoad
    producer_share: float
    consumer_share: float
    marked: bool

    @property
    def number(self) -> int:
        return self.partition.number

    @property
    def load(self) -> float:
        return self.partition.clients / self.partition.capacity

    @property
    def balance(self) -> ClientBalance:
        """R1 and R2. Equal fractions are equal floats, so that equality needs no tolerance."""
        if self.producer_share > self.consumer_share:
            return ClientBalance.FLOODING
        if self.producer_share < self.consumer_share:
            return ClientBalance.DRAINING
        return ClientBalance.STABLE


class QueueStanding(Struct, frozen=True):
    """`capacity` is that of the unmarked partitions; `clients` are all, also of a marked one."""

    partitions: tuple[PartitionStanding, ...]
    producers: int
    consumers: int
    capacity: float

    @property
    def clients(self) -> int:
        return self.producers + self.consumers

    @property
    def load(self) -> float:
        return self.clients / self.capacity

    @property
    def unmarked(self) -> tuple[PartitionStanding, ...]:
        return tuple(each for each in self.partitions if not each.marked)


def standing_of(observation: QueueLoad, memory: ControlMemory) -> QueueStanding:
    """The figures of all partitions. A mark on the only partition does not count."""
    marked = memory.marked if len(observation.partitions) > 1 else None
    producers = sum(each.producers for each in observation.partitions)
    consumers = sum(each.consumers for each in observation.partitions)
    partitions = tuple(
        PartitionStanding(
            each,
            each.producers / producers if producers else 0.0,
            each.consumers / consumers if consumers else 0.0,
            each.number == marked,
        )
        for each in observation.partitions
    )
    capacity = sum(each.partition.capacity for each in partitions if not each.marked)
    return QueueStanding(partitions, producers, consumers, capacity)
