"""Explains a queue's partitions for `dovemq queue explain`: figures by partition, and sentences.

A queue that sizes itself is explained from the reports of load, as its controller sees it. One with
a fixed number has none, so its partitions are counted.
"""

from typing import Final

from msgspec import Struct

from dovemq.core.ports import Clock, Store
from dovemq.core.queue import Queue
from dovemq.fabric.autonomic import PartitionStanding, explain, standing_of
from dovemq.fabric.controlling import control_settings
from dovemq.fabric.load_view import LoadView

ACTIVE: Final = "active"
MARKED: Final = "marked"
DRAINING: Final = "draining"


class ExplainedPartition(Struct, frozen=True):
    """Figures of a partition. `held` counts leased and delayed messages.

    `producer_share` and `consumer_share` are x_i and y_i, its shares of all clients of the queue.

    The others are None unless the queue sizes itself. `capacity_measured` is None as long as the
    partition has not worked enough. `operations` and `utilisation` are those of the last second.
    """

    number: int
    state: str
    visible: int
    held: int
    producers: int | None = None
    consumers: int | None = None
    producer_share: float | None = None
    consumer_share: float | None = None
    load: float | None = None
    capacity: float | None = None
    capacity_measured: float | None = None
    operations: int | None = None
    utilisation: float | None = None
    balance: str | None = None


class QueueExplanation(Struct, frozen=True):
    """`leads` tells whether the front end that explains is the one that decides."""

    auto: bool
    leads: bool
    inhibited_ms: int
    partitions: tuple[ExplainedPartition, ...]
    sentences: tuple[str, ...]


async def explained(
    queue: Queue, view: LoadView, store: Store, clock: Clock, *, leads: bool
) -> QueueExplanation:
    settings, layout = queue.settings, queue.settings.layout
    if not settings.auto:
        partitions = [
            await _counted(queue, number, store, clock, ACTIVE) for number in layout.active
        ]
        sentences: tuple[str, ...] = (
            f"number of partitions {len(layout.active)}: the number is fixed by its owner",
        )
    else:
        partitions = _observed(queue, view)
        observation = view.observation(queue)
        wanted = control_settings(settings, view.typical_capacity(queue))
        texts = explain(observation, settings.control, wanted)
        # The figures of the partitions are not repeated as sentences.
        sentences = (texts[0], *texts[1 + len(partitions) :])
    partitions += [
        await _counted(queue, number, store, clock, DRAINING) for number in layout.draining
    ]
    inhibited_ms = max(settings.control.inhibited_until_ms - clock.now_ms(), 0)
    return QueueExplanation(settings.auto, leads, inhibited_ms, tuple(partitions), sentences)


def _observed(queue: Queue, view: LoadView) -> list[ExplainedPartition]:
    standing = standing_of(view.observation(queue), queue.settings.control)
    return [_explained(queue, view, each) for each in standing.partitions]


def _explained(queue: Queue, view: LoadView, standing: PartitionStanding) -> ExplainedPartition:
    number, load = standing.number, standing.partition
    work = view.reported(queue)[number]
    return ExplainedPartition(
        number,
        MARKED if standing.marked else ACTIVE,
        load.visible,
        load.held,
        load.producers,
        load.consumers,
        standing.producer_share,
        standing.consumer_share,
        standing.load,
        load.capacity,
        view.measured_capacity(queue, number),
        work.operations,
        work.utilisation,
        standing.balance.value,
    )


async def _counted(
    queue: Queue, number: int, store: Store, clock: Clock, state: str
) -> ExplainedPartition:
    counts = await store.partition(queue, number).counts(clock.now_ms())
    return ExplainedPartition(number, state, counts.visible, counts.leased + counts.delayed)
