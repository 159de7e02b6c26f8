"""Counters of events of each queue, and of commits.

The meter is the `Observer` of a running server: it counts events and forwards them to the trace.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, ParamSpec

from msgspec import Struct

from dovemq.core.commands import Lease, Receipt
from dovemq.core.message import Message
from dovemq.core.observing import Observer
from dovemq.core.queue import Queue, QueueKey
from dovemq.core.workflows.jobs import Job
from dovemq.telemetry.counters import BucketHistogram
from dovemq.telemetry.trace import Trace
from dovemq.telemetry.workflow_meter import WorkflowMeter

log = logging.getLogger(__name__)

P = ParamSpec("P")

COMMIT_US_BOUNDS: Final = (
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
)  # fmt: skip
COMMIT_ITEMS_BOUNDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)


class QueueTally(Struct):
    """Counts since the start of the process, of messages unless the name says otherwise."""

    key: QueueKey
    sent: int = 0
    received: int = 0
    settled: int = 0
    extended: int = 0
    expired: int = 0
    redriven: int = 0
    released: int = 0
    hits: int = 0
    misses: int = 0
    empty_receives: int = 0
    exchanged: int = 0
    monitor_looks: int = 0

    @property
    def traffic(self) -> int:
        return self.sent + self.received + self.misses


class ExchangeFlow(Struct, frozen=True):
    """Messages that were moved from one partition of a queue to another."""

    source: int
    target: int
    messages: int


class Meter(Observer):
    def __init__(self, trace: Trace | None = None) -> None:
        self.queues: dict[int, QueueTally] = {}
        """Counters by the number of the queue, for queues that had events."""
        self.partition_operations: dict[tuple[int, int], int] = {}
        """Messages sent and deleted, by the numbers of queue and partition, for queues that size
        themselves."""
        self.exchange_flows: dict[tuple[int, int, int], int] = {}
        """Messages exchanged, by the numbers of queue, source and target."""
        self.commit_us = BucketHistogram(COMMIT_US_BOUNDS)
        self.commit_items = BucketHistogram(COMMIT_ITEMS_BOUNDS)
        self.trace = trace
        self.workflows = WorkflowMeter()

    def committed(self, items: int, seconds: float) -> None:
        self.commit_us.add(int(seconds * 1_000_000))
        self.commit_items.add(items)

    def sent(self, queue: Queue, partition: int, messages: Sequence[Message]) -> None:
        self._tally(queue).sent += len(messages)
        if queue.settings.auto:
            self._worked(queue, partition, len(messages))
        if self.trace is not None:
            _record(self.trace.sent, queue, partition, messages)

    def settled(self, queue: Queue, partition: int, receipts: Sequence[Receipt]) -> None:
        self._tally(queue).settled += len(receipts)
        if queue.settings.auto:
            self._worked(queue, partition, len(receipts))
        if self.trace is not None:
            _record(self.trace.settled, queue, partition, receipts)

    def expired(self, queue: Queue, partition: int, sequences: Sequence[int]) -> None:
        self._tally(queue).expired += len(sequences)
        if self.trace is not None:
            _record(self.trace.expired, queue, partition, sequences)

    def redriven(self, queue: Queue, leases: Sequence[Lease]) -> None:
        self._tally(queue).redriven += len(leases)
        if self.trace is not None:
            _record(self.trace.redriven, queue, leases)

    def exchanged(self, queue: Queue, leases: Sequence[Lease], target: int) -> None:
        self._tally(queue).exchanged += len(leases)
        for lease in leases:
            flow = (queue.number, lease.receipt.partition, target)
            self.exchange_flows[flow] = self.exchange_flows.get(flow, 0) + 1
        if self.trace is not None:
            _record(self.trace.exchanged, queue, leases)

    def monitored(self, queue: Queue, partitions: int) -> None:
        self._tally(queue).monitor_looks += partitions

    def looked(self, queue: Queue, found: int) -> None:
        tally = self._tally(queue)
        if found:
            tally.received += found
            tally.hits += 1
        else:
            tally.misses += 1

    def answered_empty(self, queue: Queue) -> None:
        self._tally(queue).empty_receives += 1

    def extended(self, queue: Queue, count: int) -> None:
        self._tally(queue).extended += count

    def released(self, queue: Queue, count: int) -> None:
        self._tally(queue).released += count

    def removed(self, queue: Queue) -> None:
        self.queues.pop(queue.number, None)
        for place in [each for each in self.partition_operations if each[0] == queue.number]:
            del self.partition_operations[place]
        for flow in [each for each in self.exchange_flows if each[0] == queue.number]:
            del self.exchange_flows[flow]

    def flows(self, queue: Queue) -> list[ExchangeFlow]:
        """The exchanges between the partitions of a queue at this front end."""
        return [
            ExchangeFlow(source, target, count)
            for (number, source, target), count in sorted(self.exchange_flows.items())
            if number == queue.number
        ]

    def job_changed(self, before: Job | None, job: Job) -> None:
        self.workflows.job_changed(before, job)

    def operations(self, queue_number: int, partition: int) -> int:
        """Messages that were sent and deleted there, of a queue that sizes itself."""
        return self.partition_operations.get((queue_number, partition), 0)

    def operations_of_all(self) -> int:
        """Messages that were sent and deleted in all partitions of this front end."""
        return sum(tally.sent + tally.settled for tally in self.queues.values())

    def _worked(self, queue: Queue, partition: int, count: int) -> None:
        place = (queue.number, partition)
        self.partition_operations[place] = self.partition_operations.get(place, 0) + count

    def _tally(self, queue: Queue) -> QueueTally:
        tally = self.queues.get(queue.number)
        if tally is None:
            tally = self.queues[queue.number] = QueueTally(queue.key)
        return tally


def _record(record: Callable[P, None], *event: P.args, **more: P.kwargs) -> None:
    """A store whose observer fails stops for good: a bug of the trace must not cause that."""
    try:
        record(*event, **more)
    except Exception as error:
        log.error("trace: an event is not recorded: %s", type(error).__name__)
