"""Why a queue has the partitions that it has, in sentences for `dovemq queue explain`."""

from collections.abc import Iterator

from dovemq.core.partitions import ControlMemory
from dovemq.fabric.autonomic.controller import ControlSettings, decide
from dovemq.fabric.autonomic.observation import QueueLoad
from dovemq.fabric.autonomic.standing import PartitionStanding, standing_of


def explain(
    observation: QueueLoad, memory: ControlMemory, settings: ControlSettings
) -> tuple[str, ...]:
    """The queue's figures, each partition's figures, and what the controller would do now.

    What it did before, and why, is in the audit log.
    """
    standing = standing_of(observation, memory)
    return (
        f"{len(standing.partitions)} partitions, from {settings.partitions_min} to "
        f"{settings.partitions_max} allowed; {standing.producers} producers and "
        f"{standing.consumers} consumers on a capacity of {standing.capacity:g} clients: load "
        f"{standing.load:.2f}",
        *map(_partition, standing.partitions),
        *_next(observation, memory, settings),
    )


def _partition(each: PartitionStanding) -> str:
    partition = each.partition
    marked = ", marked for removal" if each.marked else ""
    return (
        f"partition {each.number}: {partition.producers} producers ({each.producer_share:.3f} of "
        f"all), {partition.consumers} consumers ({each.consumer_share:.3f}), load {each.load:.2f} "
        f"of {partition.capacity:g}, {partition.visible} visible and {partition.held} hidden "
        f"messages, {each.balance.value}{marked}"
    )


def _next(
    observation: QueueLoad, memory: ControlMemory, settings: ControlSettings
) -> Iterator[str]:
    decision, _ = decide(observation, memory, settings)
    if decision.action is not None:
        yield f"next, by {decision.action.reason.rule}: {decision.action.text}"
    if decision.withheld is not None:
        yield f"no change, by {decision.withheld.rule}: {decision.withheld.text}"
    for each in decision.exchanges:
        yield (
            f"next, by {each.reason.rule}: move {each.count} messages from partition "
            f"{each.source} to partition {each.target}: {each.reason.text}"
        )
