"""The monitor of the strategy pms: the numbers of visible messages by partition, at the last look.

There is no task of its own: the first receive after a period makes the look, and others that come
meanwhile use the old numbers. So a queue that nobody receives from is not looked at.
"""

from dovemq.core.observing import Observer
from dovemq.core.ports import Clock
from dovemq.fabric.dequeue import DequeueSettings, PartitionsView
from dovemq.fabric.members import Members
from dovemq.fabric.together import counts_by_partition


class CountMonitor:
    def __init__(self, members: Members, clock: Clock, observer: Observer) -> None:
        self._members = members
        self._clock = clock
        self._observer = observer
        self._looking = False
        self.counts: dict[int, int] = {}
        self.counted_ms = 0

    async def look(self, settings: DequeueSettings, now_ms: int) -> None:
        """Count the messages if a look is due."""
        view = PartitionsView(self._members.numbers, 0, self.counts, self.counted_ms)
        if self._looking or not view.is_monitor_due(settings, now_ms):
            return
        self._looking = True
        try:
            counts = await counts_by_partition(self._members, self._clock)
        finally:
            self._looking = False
        self.counts = {number: each.visible for number, each in counts.items()}
        self.counted_ms = now_ms
        self._observer.monitored(self._members.queue, len(counts))
