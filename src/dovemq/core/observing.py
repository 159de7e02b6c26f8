"""Who is told what happens to messages: counters and the lifecycle trace, none of them known here.

`Observer` is told of facts, whoever asked for them and whether or not an answer reached anybody.
`Trail` is one request's part in them: it adds who asked and when the answer went out.
"""

from collections.abc import Sequence
from typing import Protocol

from dovemq.core.commands import Duplicate, Lease, Receipt, Sent
from dovemq.core.message import Message
from dovemq.core.queue import Queue


class Observer(Protocol):
    """Called on the event loop. Returns at once and raises nothing."""

    def committed(self, items: int, seconds: float) -> None:
        """One commit of a store, from the hand-over to the answer of the disk."""
        ...

    def sent(self, queue: Queue, partition: int, messages: Sequence[Message]) -> None:
        """They are durable, and not visible before this returns."""
        ...

    def settled(self, queue: Queue, partition: int, receipts: Sequence[Receipt]) -> None:
        """The messages are gone, durably unless the store fails."""
        ...

    def expired(self, queue: Queue, partition: int, sequences: Sequence[int]) -> None:
        """Removed unsettled: older than the retention period, or purged."""
        ...

    def redriven(self, queue: Queue, leases: Sequence[Lease]) -> None:
        """Adopted by another queue: a dead-letter queue, or one that a move task names."""
        ...

    def looked(self, queue: Queue, found: int) -> None:
        """A dequeue: a hit, or with nothing found a miss. A long poll may look several times."""
        ...

    def answered_empty(self, queue: Queue) -> None:
        """A receive ended without a message."""
        ...

    def extended(self, queue: Queue, count: int) -> None: ...

    def released(self, queue: Queue, count: int) -> None:
        """Leases taken back because their answer could not be delivered."""
        ...

    def removed(self, queue: Queue) -> None:
        """The queue is gone, and its messages with it."""
        ...


class Unobserved:
    """Nobody wants to know."""

    def committed(self, items: int, seconds: float) -> None:
        pass

    def sent(self, queue: Queue, partition: int, messages: Sequence[Message]) -> None:
        pass

    def settled(self, queue: Queue, partition: int, receipts: Sequence[Receipt]) -> None:
        pass

    def expired(self, queue: Queue, partition: int, sequences: Sequence[int]) -> None:
        pass

    def redriven(self, queue: Queue, leases: Sequence[Lease]) -> None:
        pass

    def looked(self, queue: Queue, found: int) -> None:
        pass

    def answered_empty(self, queue: Queue) -> None:
        pass

    def extended(self, queue: Queue, count: int) -> None:
        pass

    def released(self, queue: Queue, count: int) -> None:
        pass

    def removed(self, queue: Queue) -> None:
        pass


class Trail(Protocol):
    """What one request did. Without `written` nothing that it leased was handed out."""

    def sent(self, answers: Sequence[Sent | Duplicate]) -> None: ...

    def leased(self, queue: Queue, leases: Sequence[Lease]) -> None: ...

    def missed(self, queue: Queue) -> None: ...

    def settled(self, receipts: Sequence[Receipt]) -> None:
        """The receipts as they were asked for, whatever their answers."""
        ...

    def written(self) -> None:
        """The system has taken the whole answer."""
        ...
