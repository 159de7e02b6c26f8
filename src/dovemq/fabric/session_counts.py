"""The numbers of this front end's clients by queue and partition.

The table of sessions writes them; reports of load and elections read them.
"""

from msgspec import Struct

from dovemq.fabric.autonomic import ClientRole


class ClientCount(Struct, frozen=True):
    producers: int = 0
    consumers: int = 0


class SessionCounts:
    def __init__(self) -> None:
        self._of_queue: dict[int, dict[int, ClientCount]] = {}

    def counts(self, queue_number: int) -> dict[int, ClientCount]:
        """The clients by partition, at this moment; partitions without any are left out."""
        return dict(self._of_queue.get(queue_number, {}))

    def add(self, queue_number: int, partition: int, role: ClientRole, change: int) -> None:
        """Count a client that has come (1) or gone (-1)."""
        counts = self._of_queue.setdefault(queue_number, {})
        before = counts.pop(partition, ClientCount())
        producers, consumers = before.producers, before.consumers
        if role is ClientRole.PRODUCER:
            producers += change
        else:
            consumers += change
        if producers or consumers:
            counts[partition] = ClientCount(producers, consumers)
        elif not counts:
            del self._of_queue[queue_number]
