"""The consistency of queues, as a monitor has published it over the admin API.

The last measurement of each queue is kept in memory for the metrics of this front end. The service
does not verify it.
"""

from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Meta, Struct

from dovemq.core.queue import Queue
from dovemq.telemetry.metrics import MetricSample

QUEUES_MAX: Final = 10_000
"""Above this number the least recently published measurement is dropped."""
GAUGE: Final = "dovemq_queue_consistency"

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Source = Annotated[str, Meta(min_length=1, max_length=128)]


class Measurement(Struct, frozen=True, forbid_unknown_fields=True):
    """Counts of messages since `from_ms`, from events up to `to_ms`.

    `open` messages were sent and may still arrive; `lost` ones did not arrive in time, or not as
    they were sent. `out_of_order` and `displacement` refer to the `ordered` ones.
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
        """The rates as `models/consistency` defines them."""
        return {
            "duplication_rate": _rate(self.duplicates, self.messages),
            "loss_rate": _rate(self.lost, self.messages),
            "out_of_order_rate": _rate(self.out_of_order, self.ordered),
            "average_displacement": _rate(self.displacement, self.ordered),
        }


class PublishedMeasurement(Struct, frozen=True):
    """A measurement with its time and the account that published it."""

    measurement: Measurement
    published_ms: int
    account: str


class Measurements:
    """Measurements by the number of the queue, so that a queue that is created again has none."""

    def __init__(self, queues_max: int = QUEUES_MAX) -> None:
        self._queues_max = queues_max
        # The least recently published first.
        self._measured: dict[int, PublishedMeasurement] = {}

    def put(self, queue: Queue, measured: PublishedMeasurement) -> None:
        self._measured.pop(queue.number, None)
        self._measured[queue.number] = measured
        if len(self._measured) > self._queues_max:
            del self._measured[next(iter(self._measured))]

    def get(self, queue: Queue) -> PublishedMeasurement | None:
        return self._measured.get(queue.number)

    def samples(self, queue: Queue) -> Iterator[MetricSample]:
        measured = self.get(queue)
        if measured is not None:
            for name, value in measured.measurement.rates.items():
                yield MetricSample(GAUGE, value, (queue.key.account, queue.key.name, name))


def _rate(count: int, of: int) -> float:
    return count / of if of else 0.0
