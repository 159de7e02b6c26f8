"""The ports through which stores and service report what happens to messages.

An `Observer` gets every fact, whoever caused it and whether or not a response was delivered. A
`Trail` belongs to one request, and adds its client and the time of its response. Counters and the
lifecycle trace implement them.
"""

from collections.abc import Sequence
from typing import Protocol

from dovemq.core.commands import Duplicate, Lease, Receipt, Sent
from dovemq.core.message import Message
from dovemq.core.queue import Queue
from dovemq.core.workflows.jobs import Job


class Observer:
    """Receives facts on the event loop; this one ignores them.

    Methods return at once and raise nothing.
    """

    def committed(self, items: int, seconds: float) -> None:
        """A store made one commit; `seconds` passed from its start until the disk confirmed it."""

    def sent(self, queue: Queue, partition: int, messages: Sequence[Message]) -> None:
        """The messages are durable. They are not visible before this method returns."""

    def settled(self, queue: Queue, partition: int, receipts: Sequence[Receipt]) -> None:
        """The messages are deleted, durably unless the store fails."""

    def expired(self, queue: Queue, partition: int, sequences: Sequence[int]) -> None:
        """Messages were removed without being settled: their retention ended, or a purge."""

    def redriven(self, queue: Queue, leases: Sequence[Lease]) -> None:
        """Another queue adopted the messages: a dead-letter queue or the target of a move."""

    def exchanged(self, queue: Queue, leases: Sequence[Lease], target: int) -> None:
        """The partition `target` of the queue adopted the messages; nobody got the leases."""

    def looked(self, queue: Queue, found: int) -> None:
        """A receive looked into a partition: a hit, or a miss if `found` is 0."""

    def monitored(self, queue: Queue, partitions: int) -> None:
        """The numbers of messages in so many partitions were looked at, for the strategy pms."""

    def answered_empty(self, queue: Queue) -> None:
        """A receive ended without a message."""

    def extended(self, queue: Queue, count: int) -> None:
        """The ends of leases were changed by their holders."""

    def released(self, queue: Queue, count: int) -> None:
        """Leases were undone because their response could not be delivered."""

    def removed(self, queue: Queue) -> None:
        """The queue was removed with its messages."""

    def job_changed(self, before: Job | None, job: Job) -> None:
        """A change of a job is stored, once at one front end; `before` is None for a new job.

        Tasks that the change leaves as they were are the same objects in both.
        """


class Trail(Protocol):
    """The record of one request. Without `written`, none of its leases was delivered."""

    def sent(self, answers: Sequence[Sent | Duplicate]) -> None: ...

    def leased(self, queue: Queue, leases: Sequence[Lease]) -> None: ...

    def missed(self, queue: Queue) -> None: ...

    def settled(self, receipts: Sequence[Receipt]) -> None:
        """The receipts of the request, whether or not they were settled."""

    def written(self) -> None:
        """The operating system has taken the whole response."""
