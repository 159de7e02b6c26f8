"""Reports of load: the clients, messages and work of the queues that size themselves.

Each front end takes a report of its own every second. It counts its own clients by partition, and
for the partitions that it serves also their messages, their operations, and their part of its
utilisation. Others read it from the front end's heartbeat. A report is a hint: it is a few seconds
old, and nothing is lost if it is missing or wrong.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from dovemq.core.errors import DoveError
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue
from dovemq.fabric.members import Locality
from dovemq.fabric.session_counts import ClientCount, SessionCounts

log = logging.getLogger(__name__)

REPORTED_MAX: Final = 512
"""Partitions in one report, about 20 kB. The rest is left out, and its clients do not count."""


class PartitionTraffic(Protocol):
    """Messages that were sent to and deleted from partitions of this front end since its start."""

    def operations(self, queue_number: int, partition: int) -> int: ...

    def operations_of_all(self) -> int: ...


class NoTraffic:
    def operations(self, queue_number: int, partition: int) -> int:
        return 0

    def operations_of_all(self) -> int:
        return 0


class PartitionReport(Struct, frozen=True, array_like=True):
    """A partition as one front end knows it, or as all know it together.

    The fields after `served` are those of the front end that serves the partition. `held` counts
    leased and delayed messages. `operations` and `utilisation` are those of the last second.
    A later release may add fields at the end.
    """

    queue: int
    partition: int
    producers: int = 0
    consumers: int = 0
    served: bool = False
    visible: int = 0
    held: int = 0
    operations: int = 0
    utilisation: float = 0.0

    @property
    def clients(self) -> int:
        return self.producers + self.consumers


class LoadReport(Struct, frozen=True):
    """`left_out` counts partitions that the bound of the report has excluded."""

    partitions: tuple[PartitionReport, ...] = ()
    left_out: int = 0


class LoadReports:
    """The reports of this front end."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        clients: SessionCounts,
        is_local: Locality,
        traffic: PartitionTraffic,
        utilisation: Callable[[], float],
    ) -> None:
        self.clients = clients
        self.newest = LoadReport()
        self._store = store
        self._clock = clock
        self._is_local = is_local
        self._traffic = traffic
        self._utilisation = utilisation
        self._operations: dict[tuple[int, int], int] = {}
        self._operations_of_all = 0

    def encoded(self) -> bytes | None:
        """The newest report for a heartbeat; None if there is nothing to report."""
        return msgspec.json.encode(self.newest) if self.newest.partitions else None

    async def take(self, queues: Sequence[Queue]) -> None:
        """Take a report of these queues, which size themselves."""
        worth = self._worth_of_an_operation()
        before, self._operations = self._operations, {}
        rows = [row for queue in queues for row in [*await self._rows(queue, before, worth)]]
        left_out = max(len(rows) - REPORTED_MAX, 0)
        if left_out and not self.newest.left_out:
            log.warning(
                "%d partitions of queues that size themselves are not reported: %d is the most",
                left_out,
                REPORTED_MAX,
            )
        self.newest = LoadReport(tuple(rows[:REPORTED_MAX]), left_out)

    def _worth_of_an_operation(self) -> float:
        """The part of the utilisation since the last report that one operation stands for."""
        of_all = self._traffic.operations_of_all()
        count, self._operations_of_all = of_all - self._operations_of_all, of_all
        utilisation = self._utilisation()
        return utilisation / count if count > 0 else 0.0

    async def _rows(
        self, queue: Queue, before: Mapping[tuple[int, int], int], worth: float
    ) -> Iterable[PartitionReport]:
        clients = self.clients.counts(queue.number)
        rows: list[PartitionReport] = []
        for number in queue.settings.layout.active:
            row = _with_clients(PartitionReport(queue.number, number), clients.get(number))
            if self._is_local(queue.number, number):
                row = await self._served(queue, row, before, worth)
            if row.served or row.clients:
                rows.append(row)
        return rows

    async def _served(
        self,
        queue: Queue,
        row: PartitionReport,
        before: Mapping[tuple[int, int], int],
        worth: float,
    ) -> PartitionReport:
        place = (row.queue, row.partition)
        self._operations[place] = known = self._traffic.operations(*place)
        try:
            partition = self._store.partition(queue, row.partition)
            counts = await partition.counts(self._clock.now_ms())
        except DoveError as error:
            log.debug("partition %d of queue %s is not counted: %s", place[1], queue.key, error)
            return row
        operations = known - before.get(place, known)
        return msgspec.structs.replace(
            row,
            served=True,
            visible=counts.visible,
            held=counts.leased + counts.delayed,
            operations=operations,
            utilisation=round(min(worth * operations, 1.0), 4),
        )


def decoded(reports: Iterable[bytes]) -> Iterator[LoadReport]:
    """The reports of other front ends; one of a form that is unknown here is passed over."""
    for report in reports:
        try:
            yield msgspec.json.decode(report, type=LoadReport)
        except msgspec.DecodeError as error:
            log.debug("the report of a front end has an unknown form: %s", error)


def joined(reports: Iterable[PartitionReport]) -> dict[tuple[int, int], PartitionReport]:
    """The partitions as all front ends know them together.

    While a partition moves, two front ends may have reported to serve it. The one with more
    messages, or with more work, counts: the other has just opened it or given it away.
    """
    known: dict[tuple[int, int], PartitionReport] = {}
    for each in reports:
        place = (each.queue, each.partition)
        known[place] = _together(known[place], each) if place in known else each
    return known


def _weight(report: PartitionReport) -> tuple[bool, int, int]:
    return report.served, report.visible + report.held, report.operations


def _together(one: PartitionReport, other: PartitionReport) -> PartitionReport:
    served = max(one, other, key=_weight)
    return msgspec.structs.replace(
        served,
        producers=one.producers + other.producers,
        consumers=one.consumers + other.consumers,
    )


def _with_clients(row: PartitionReport, clients: ClientCount | None) -> PartitionReport:
    if clients is None:
        return row
    return msgspec.structs.replace(row, producers=clients.producers, consumers=clients.consumers)
