"""Queues that size themselves: keeps reports of their load, and runs their controller.

Every front end knows these queues, reports its part of their load, and estimates capacities. The
leading one also carries out what the controller decides. There is nothing to do while no queue
sizes itself.
"""

import logging
from collections.abc import Callable

from msgspec import Struct

from dovemq.core.errors import DoveError
from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue, QueueKey
from dovemq.fabric.actuator import Placement, one_place
from dovemq.fabric.controlling import PartitionController
from dovemq.fabric.exchange import Exchange
from dovemq.fabric.load_reports import LoadReports, NoTraffic, PartitionTraffic
from dovemq.fabric.load_view import LoadView, OtherReports, no_others
from dovemq.fabric.members import Locality, everywhere_local
from dovemq.fabric.session_counts import SessionCounts

log = logging.getLogger(__name__)


def never_busy() -> float:
    return 0.0


class SizingPorts(Struct, frozen=True):
    """The sources and places that the sizing of queues gets from the front end around it.

    `utilisation` is the share of its CPU quota that was used since the last call.
    """

    traffic: PartitionTraffic = NoTraffic()
    utilisation: Callable[[], float] = never_busy
    others: OtherReports = no_others
    placement: Placement = one_place
    is_local: Locality = everywhere_local


class SelfSizing:
    """`changed` is called with each queue whose layout was changed here."""

    def __init__(
        self,
        store: Store,
        exchange: Exchange,
        clock: Clock,
        changed: Callable[[Queue], None],
        clients: SessionCounts,
        ports: SizingPorts,
    ) -> None:
        self.reports = LoadReports(
            store, clock, clients, ports.is_local, ports.traffic, ports.utilisation
        )
        self.view = LoadView(self.reports, clock, ports.others)
        self.controller = PartitionController(
            store.catalogue, self.view, exchange, clock, ports.placement, changed
        )
        self._catalogue = store.catalogue
        self._queues: dict[int, QueueKey] = {}

    @property
    def count(self) -> int:
        """Queues that size themselves, as far as they are known here."""
        return len(self._queues)

    def noticed(self, queue: Queue) -> None:
        """A version of a queue was seen; if it sizes itself, the next step takes care of it."""
        if queue.settings.auto:
            self._queues[queue.number] = queue.key

    async def step(self, *, leads: bool) -> None:
        """Take a report of all known queues; the leading front end also controls them."""
        if not self._queues and not self.reports.newest.partitions:
            return
        queues = await self._found()
        await self.reports.take(queues)
        self.view.follow(queues)
        for queue in queues if leads else ():
            try:
                await self.controller.step(queue)
            except DoveError as error:
                log.warning("queue %s is sized later: %s", queue.key, error)

    async def _found(self) -> list[Queue]:
        """The known queues in their newest versions, without those that have gone."""
        queues: list[Queue] = []
        for number, key in list(self._queues.items()):
            queue = await self._catalogue.find(key)
            if queue is None or queue.number != number or not queue.settings.auto:
                del self._queues[number]
            else:
                queues.append(queue)
        return queues
