"""How consistent queues were, as a monitor has measured it and told the admin API.

In memory alone, the last word on each queue: a monitor that runs tells it again. Believed as it
comes; the service measures nothing of this itself.
"""

from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Meta, Struct

from dovemq.core.queue import Queue
from dovemq.telemetry.metrics import Sample

QUEUES_MAX: Final = 10_000
"""Beyond it the queue that was told of longest ago is forgotten."""
GAUGE: Final = "dovemq_queue_consistency"

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Source = Annotated[str, Meta(min_length=1, max_length=128)]


class Measurement(Struct, frozen=True, forbid_unknown_fields=True):
    """Counts of messages since `from_ms`, among events up to `to_ms`.

    `open` were sent and may still come; `lost` did not come in time, or never as they were sent.
    `ordered` take part in `out_of_order` and `displacement`.
    """

    source: Source
    from_ms: Count
    to_ms: Count
    messages: Count
    received: Count
    duplicates: Count
    lost: Count
    open: Count
    ordered: Count
    out_of_order: Count
    displacement: Count

    @property
    def rates(self) -> dict[str, float]:
        """As `models/consistency` defines them."""
        return {
            "duplication_rate": _rate(self.duplicates, self.messages),
            "loss_rate": _rate(self.lost, self.messages),
            "out_of_order_rate": _rate(self.out_of_order, self.ordered),
            "average_displacement": _rate(self.displacement, self.ordered),
        }


class PublishedMeasurement(Struct, frozen=True):
    """Told when, and by which account."""

    measurement: Measurement
    published_ms: int
    account: str


class Measurements:
    """By the number of a queue, so that one that is made anew has none."""

    def __init__(self, queues_max: int = QUEUES_MAX) -> None:
        self._queues_max = queues_max
        # The one told of longest ago first.
        self._measured: dict[int, PublishedMeasurement] = {}

    def put(self, queue: Queue, measured: PublishedMeasurement) -> None:
        self._measured.pop(queue.number, None)
        self._measured[queue.number] = measured
        if len(self._measured) > self._queues_max:
            del self._measured[next(iter(self._measured))]

    def get(self, queue: Queue) -> PublishedMeasurement | None:
        return self._measured.get(queue.number)

    def samples(self, queue: Queue) -> Iterator[Sample]:
        measured = self.get(queue)
        if measured is not None:
            for name, value in measured.measurement.rates.items():
                yield Sample(GAUGE, value, (queue.key.account, queue.key.name, name))


def _rate(count: int, of: int) -> float:
    return count / of if of else 0.0
