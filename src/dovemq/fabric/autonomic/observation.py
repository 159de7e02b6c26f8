"""The controller's view of a queue."""

import enum
from typing import TypeAlias

from msgspec import Struct

from dovemq.core.errors import InvariantError


class ClientRole(enum.Enum):
    PRODUCER = "producer"
    CONSUMER = "consumer"


class PartitionLoad(Struct, frozen=True):
    """A partition with its clients, the number of clients that it sustains, and its messages.

    `held` counts leased and delayed messages: they never move, and the partition is not empty.
    """

    number: int
    producers: int
    consumers: int
    capacity: float
    visible: int = 0
    held: int = 0

    def __post_init__(self) -> None:
        if not self.capacity > 0:
            raise InvariantError(f"The capacity of partition {self.number} is {self.capacity}.")

    @property
    def clients(self) -> int:
        return self.producers + self.consumers

    @property
    def messages(self) -> int:
        return self.visible + self.held

    @property
    def empty(self) -> bool:
        return self.clients == 0 and self.messages == 0


class ClientJoins(Struct, frozen=True):
    """A client asks for a partition. The observation does not count it yet."""

    role: ClientRole


class ClientLeaves(Struct, frozen=True):
    """A client has left. The observation does not count it any more."""

    role: ClientRole


ClientEvent: TypeAlias = ClientJoins | ClientLeaves | None


class QueueLoad(Struct, frozen=True):
    """All partitions of a queue at one time. `event` is None at the controller's own period.

    The paper's controller acts on events alone. The period lets it act on what no event reports: an
    inhibition that has ended, a partition that has become empty, a new estimate of a capacity.
    """

    now_ms: int
    partitions: tuple[PartitionLoad, ...]
    event: ClientEvent = None

    def __post_init__(self) -> None:
        numbers = {each.number for each in self.partitions}
        if not self.partitions or len(numbers) < len(self.partitions):
            raise InvariantError("A queue needs partitions, and each has a number of its own.")
