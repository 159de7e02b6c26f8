"""Election: the partition that a client gets when it joins, or when its session migrates.

The elected partition is the one with the smallest share of producers (or consumers), which is the
farthest from the fair share 1/k. A partition with a load above 1 is passed over while another one
has a load of at most 1 (R3): the paper states this rule, but its algorithm leaves it out, since its
partitions have equal capacities. Ties go to the lowest load, then to the lowest number.

Partitions of the client's own front end are *near*. The others cost a passage over the link for
each request; the paper's clients reach all queues alike. A near partition is elected if it has at
most one client more than the one with the smallest share.
"""

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct

from dovemq.fabric.autonomic.observation import ClientRole
from dovemq.fabric.autonomic.reasons import ControlCause, ControlReason
from dovemq.fabric.autonomic.standing import PartitionStanding, QueueStanding

MIGRATION_CLIENTS_MIN: Final = 2
"""A session moves to a partition that has so many clients of its role fewer: after the move both
are no further apart than before, so that no session moves back."""
NEAR_MIGRATION_CLIENTS_MIN: Final = 1
"""The same for a move to a near partition from one that is not. Such a move is never undone: a
session leaves a near partition only by the other rule."""
NEAR_CLIENTS_MORE_MAX: Final = 1
"""A near partition may have this many more clients of the role than the smallest share has."""


class Election(Struct, frozen=True):
    """`partition` may be one that the same decision adds."""

    partition: int
    reason: ControlReason


def elect(
    standing: QueueStanding, role: ClientRole, near: Collection[int] = frozenset()
) -> Election:
    """The partition for a client that joins; a marked one is never elected."""
    candidates = standing.unmarked
    within = [each for each in candidates if each.load <= 1.0]
    chosen = _nearest(within or candidates, role, near)
    if within and chosen.number != _smallest(candidates, role).number:
        cause = ControlCause.OTHERS_OVERLOADED
    elif role is ClientRole.PRODUCER:
        cause = ControlCause.FEWEST_PRODUCERS
    else:
        cause = ControlCause.FEWEST_CONSUMERS
    return _elected(chosen, role, cause)


def elect_again(
    standing: QueueStanding, role: ClientRole, current: int, near: Collection[int] = frozenset()
) -> Election | None:
    """The partition that a session of `current` should move to; None if it should stay.

    It moves away from a partition that is marked or gone, or to one that has at least
    `MIGRATION_CLIENTS_MIN` clients of its role fewer; one fewer if it comes near by that.
    """
    election = elect(standing, role, near)
    present = next((each for each in standing.partitions if each.number == current), None)
    if present is None or election.partition == current:
        return election if present is None else None
    chosen = next(each for each in standing.unmarked if each.number == election.partition)
    if present.marked:
        return _elected(chosen, role, ControlCause.MARKED_LEFT, partition=current)
    fewer = _clients(present, role) - _clients(chosen, role)
    comes_near = election.partition in near and current not in near
    needed = NEAR_MIGRATION_CLIENTS_MIN if comes_near else MIGRATION_CLIENTS_MIN
    return election if fewer >= needed else None


def _nearest(
    candidates: Sequence[PartitionStanding], role: ClientRole, near: Collection[int]
) -> PartitionStanding:
    smallest = _smallest(candidates, role)
    clients_max = _clients(smallest, role) + NEAR_CLIENTS_MORE_MAX
    level = [
        each for each in candidates if each.number in near and _clients(each, role) <= clients_max
    ]
    return _smallest(level, role) if level else smallest


def _smallest(candidates: Sequence[PartitionStanding], role: ClientRole) -> PartitionStanding:
    return min(candidates, key=lambda each: (_share(each, role), each.load, each.number))


def _share(standing: PartitionStanding, role: ClientRole) -> float:
    if role is ClientRole.PRODUCER:
        return standing.producer_share
    return standing.consumer_share


def _clients(standing: PartitionStanding, role: ClientRole) -> int:
    partition = standing.partition
    return partition.producers if role is ClientRole.PRODUCER else partition.consumers


def _elected(
    chosen: PartitionStanding, role: ClientRole, cause: ControlCause, **others: float
) -> Election:
    numbers = {"share": _share(chosen, role), "load": chosen.load, **others}
    return Election(chosen.number, ControlReason(cause, numbers))
