"""An exact set of sequence numbers that grows by batches and forgets what is complete."""

from typing import Final, NamedTuple

import numpy as np

from dovemq.models.consistency.columns import Flags, Integers

FIRST_SEQ: Final = 1
"""What senders number their first message, unless told otherwise."""
LOWEST_SEQ: Final = -(1 << 62)
"""Below any: for streams of which the beginning is not known."""


class Added(NamedTuple):
    """What `SequenceSet.add` did, for those who keep something beside each number.

    `new` marks the values that were not there, each at its first occurrence. `arrived` lists
    their places in the batch, in order of value; `places` says where each was put among the
    open numbers. Then the first `closed` open numbers left.
    """

    new: Flags
    arrived: Integers
    places: Integers
    closed: int


class SequenceSet:
    """All of `first … floor - 1`, and `open`: the others, sorted.

    Holds 8 bytes per number between the first one missing and the greatest: nothing for a stream
    that is complete and in order, all after a number that never comes, unless that is given up.
    A batch costs the sorting of its own numbers and one pass over the open ones.
    """

    def __init__(self, first: int = FIRST_SEQ) -> None:
        self._first = first
        self.floor = first
        self.open: Integers = np.empty(0, np.int64)
        self.closed = 0
        """Numbers that are there below the floor: all but those given up."""

    def __len__(self) -> int:
        return self.closed + len(self.open)

    def add(self, values: Integers) -> Added:
        if len(values) and int(values.min()) < self._first:
            raise ValueError(f"sequence number {values.min()} is below the first, {self._first}")
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        fresh = ~self.holds(ordered)
        fresh[1:] &= ordered[1:] != ordered[:-1]
        arrived, numbers = order[fresh], ordered[fresh]
        new = np.zeros(len(values), np.bool_)
        new[arrived] = True
        places = np.searchsorted(self.open, numbers)
        self.open = merged(self.open, places, numbers)
        return Added(new, arrived, places, self._close())

    def holds(self, values: Integers) -> Flags:
        found = values < self.floor
        if len(self.open):
            places = np.minimum(np.searchsorted(self.open, values), len(self.open) - 1)
            found |= self.open[places] == values
        return found

    def give_up(self, below: int) -> int:
        """What is missing below that number is not waited for; answers how many open ones left.

        From then on `holds` is true of them.
        """
        if below <= self.floor:
            return 0
        left = int(np.searchsorted(self.open, below))
        self.open = self.open[left:].copy()
        self.floor = below
        self.closed += left
        return left + self._close()

    def shared(self, other: "SequenceSet") -> int:
        """How many numbers both have; both start at the same first one and gave nothing up."""
        low, high = sorted((self, other), key=lambda each: each.floor)
        return low.closed + int(np.count_nonzero(high.holds(low.open)))

    def _close(self) -> int:
        """Raise the floor over the numbers that now follow it without a gap."""
        if not len(self.open) or self.open[0] != self.floor:
            return 0
        gaps = self.open != np.arange(self.floor, self.floor + len(self.open))
        closed = int(np.argmax(gaps)) if gaps[-1] else len(self.open)
        self.floor += closed
        self.closed += closed
        self.open = self.open[closed:].copy()
        return closed


def merged(old: Integers, places: Integers, added: Integers) -> Integers:
    """The old values with each added one put before the old one of that place."""
    if not len(old):
        return added
    everything = np.empty(len(old) + len(added), np.int64)
    is_old = np.ones(len(everything), np.bool_)
    targets = places + np.arange(len(added))
    is_old[targets] = False
    everything[targets] = added
    everything[is_old] = old
    return everything
