"""Exchange: how many messages should move from which partition to which.

A partition's fair part of all visible messages is its share of the consumers. What it has above
that is its surplus; what it lacks is its deficit. A move never takes more than the surplus of its
source or the deficit of its target, so that it is not reversed later. Moves cost work at both ends,
so not every difference causes one: a flooding partition (R1) gives to a draining one (R2), any
partition gives to one whose consumers have no message at all, and a partition without consumers
gives everything, since nobody else would receive it. Leased and delayed messages stay.
"""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from dovemq.fabric.autonomic.reasons import ControlCause, ControlReason
from dovemq.fabric.autonomic.standing import ClientBalance, PartitionStanding, QueueStanding


class SuggestedExchange(Struct, frozen=True):
    source: int
    target: int
    count: int
    reason: ControlReason


def suggest_exchanges(
    standing: QueueStanding, count_min: int, count_max: int
) -> tuple[SuggestedExchange, ...]:
    """Moves of at most `count_max` messages in all, the largest differences first.

    A move of fewer than `count_min` messages is not worth its cost, except from a partition without
    consumers.
    """
    fair = _fair_parts(standing)
    excess = {
        each.number: each.partition.visible - math.ceil(fair[each.number])
        for each in standing.partitions
    }
    found: list[SuggestedExchange] = []
    for source in _by_size(standing.partitions, excess, 1):
        for target in _by_size(standing.unmarked, excess, -1):
            cause = _cause(source, target)
            count = min(excess[source.number], -excess[target.number], count_max)
            if cause is None or count < (1 if cause is ControlCause.STRANDED else count_min):
                continue
            reason = _reason(cause, source, target, excess[source.number])
            found.append(SuggestedExchange(source.number, target.number, count, reason))
            excess[source.number] -= count
            excess[target.number] += count
            count_max -= count
    return tuple(found)


def _fair_parts(standing: QueueStanding) -> dict[int, float]:
    """Each partition's fair part of the visible messages.

    While nobody consumes, the unmarked partitions have equal parts.
    """
    total = sum(each.partition.visible for each in standing.partitions)
    if not standing.consumers:
        part = total / len(standing.unmarked)
        return {each.number: 0.0 if each.marked else part for each in standing.partitions}
    return {each.number: total * each.consumer_share for each in standing.partitions}


def _by_size(
    partitions: Sequence[PartitionStanding], excess: Mapping[int, int], sign: int
) -> list[PartitionStanding]:
    """The partitions with a surplus (sign 1) or a deficit (sign -1), the largest first."""
    chosen = (each for each in partitions if sign * excess[each.number] > 0)
    return sorted(chosen, key=lambda each: (-sign * excess[each.number], each.number))


def _cause(source: PartitionStanding, target: PartitionStanding) -> ControlCause | None:
    """The cause for which messages may move between these two; None if they should not."""
    starves = target.partition.visible == 0 and target.partition.consumers > 0
    if source.partition.consumers == 0 and (source.marked or target.partition.consumers > 0):
        return ControlCause.STRANDED
    if source.balance is ClientBalance.FLOODING and target.balance is ClientBalance.DRAINING:
        return ControlCause.FLOODED
    return ControlCause.STARVED if starves else None


def _reason(
    cause: ControlCause, source: PartitionStanding, target: PartitionStanding, surplus: int
) -> ControlReason:
    numbers = {
        "producer_share": source.producer_share,
        "consumer_share": source.consumer_share,
        "visible": source.partition.visible,
        "surplus": surplus,
        "consumers": target.partition.consumers,
    }
    return ControlReason(cause, numbers)
