"""The load of queues that size themselves, as this front end knows it: its own and the others'.

Own clients are counted at the moment of the question, so that clients which join one after the
other are not all elected to the same partition. Everything else is from the newest reports. Every
front end estimates the capacities of all partitions, so that one that begins to lead need not start
from nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import msgspec

from dovemq.core.ports import Clock
from dovemq.core.queue import Queue
from dovemq.fabric.autonomic import (
    CapacityEstimate,
    CapacitySample,
    CapacitySettings,
    ClientEvent,
    PartitionLoad,
    QueueLoad,
    estimate_capacity,
    typical_capacity,
)
from dovemq.fabric.load_reports import LoadReports, PartitionReport, decoded, joined

OtherReports: TypeAlias = Callable[[], Iterable[bytes]]
"""The newest reports of the other front ends that live."""


def no_others() -> Iterable[bytes]:
    return ()


class LoadView:
    def __init__(
        self,
        own: LoadReports,
        clock: Clock,
        others: OtherReports = no_others,
        settings: CapacitySettings | None = None,
    ) -> None:
        self._own = own
        self._clock = clock
        self._others_now = others
        self._settings = settings or CapacitySettings()
        self._others: Mapping[tuple[int, int], PartitionReport] = {}
        self._served: Mapping[tuple[int, int], PartitionReport] = {}
        self._estimates: dict[tuple[int, int], CapacityEstimate] = {}

    def follow(self, queues: Iterable[Queue]) -> None:
        """Take over the newest reports, and estimate the capacities of these queues."""
        own = (_without_clients(each) for each in self._own.newest.partitions)
        self._served = {(each.queue, each.partition): each for each in own}
        others = decoded(self._others_now())
        self._others = joined(each for report in others for each in report.partitions)
        now_ms = self._clock.now_ms()
        estimates: dict[tuple[int, int], CapacityEstimate] = {}
        for queue in queues:
            for number, each in self.reported(queue).items():
                place = (queue.number, number)
                sample = CapacitySample(now_ms, each.clients, each.utilisation, each.operations)
                known = self._estimates.get(place)
                estimates[place] = estimate_capacity(sample, known, self._settings)
        self._estimates = estimates

    def knows(self, queue: Queue) -> bool:
        """Whether reports of all active partitions were taken over."""
        active = queue.settings.layout.active
        return all((queue.number, number) in self._estimates for number in active)

    def reported(self, queue: Queue) -> dict[int, PartitionReport]:
        """The active partitions of a queue, with the clients, messages and work of each."""
        clients = self._own.clients.counts(queue.number)
        reports: dict[int, PartitionReport] = {}
        for partition in queue.settings.layout.active:
            place = (queue.number, partition)
            known = (source.get(place) for source in (self._served, self._others))
            parts = [PartitionReport(*place), *filter(None, known)]
            if partition in clients:
                tally = clients[partition]
                parts.append(PartitionReport(*place, tally.producers, tally.consumers))
            reports[partition] = joined(parts)[place]
        return reports

    def observation(self, queue: Queue, event: ClientEvent = None) -> QueueLoad:
        typical = self.typical_capacity(queue)
        partitions = tuple(
            PartitionLoad(
                number,
                each.producers,
                each.consumers,
                self.measured_capacity(queue, number) or typical,
                each.visible,
                each.held,
            )
            for number, each in self.reported(queue).items()
        )
        return QueueLoad(self._clock.now_ms(), partitions, event)

    def typical_capacity(self, queue: Queue) -> float:
        """The capacity of partitions of this queue that were not measured."""
        places = ((queue.number, number) for number in queue.settings.layout.active)
        known = (self._estimates[place] for place in places if place in self._estimates)
        return typical_capacity(known, self._settings)

    def measured_capacity(self, queue: Queue, partition: int) -> float | None:
        """The estimated capacity; None if the partition has not worked enough to be measured."""
        estimate = self._estimates.get((queue.number, partition))
        return estimate.value if estimate is not None and estimate.measured else None


def _without_clients(report: PartitionReport) -> PartitionReport:
    """A report of this front end itself, whose clients are counted anew."""
    return msgspec.structs.replace(report, producers=0, consumers=0)
