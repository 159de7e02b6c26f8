"""Positions in the log of a partition, and the sequences of its messages.

A position is one number of 63 bits that orders everything written to a log, whatever the clocks of
its owners say:

    epoch (20 bits)   rises with every change of the owner
    segment (22 bits) groups that are removed together; rises within an epoch
    slot (21 bits)    the group within its segment

A sequence has the same epoch in its high bits and a counter below, so that a new owner's messages
come after those of any owner before it.
"""

from typing import Final

SLOT_BITS: Final = 21
SEGMENT_BITS: Final = 22
COUNTER_BITS: Final = SLOT_BITS + SEGMENT_BITS
EPOCH_MAX: Final = (1 << 20) - 1
SLOTS_MAX: Final = 1 << SLOT_BITS


def first_position(epoch: int) -> int:
    return epoch << COUNTER_BITS


def epoch_of(position: int) -> int:
    """The epoch of a position or of a sequence."""
    return position >> COUNTER_BITS


def segment_of(position: int) -> int:
    """The segment, with the epoch in its high bits: it rises with the position."""
    return position >> SLOT_BITS


def segment_start(segment: int) -> int:
    """The first position of a segment."""
    return segment << SLOT_BITS


def first_sequence(epoch: int) -> int:
    return epoch << COUNTER_BITS
