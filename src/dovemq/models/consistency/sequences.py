"""An exact set of sequence numbers that grows by batches and drops complete ranges."""

from typing import Final, NamedTuple

import numpy as np

from dovemq.models.consistency.columns import Flags, Integers
from dovemq.models.errors import ModelParameterInvalid

FIRST_SEQ: Final = 1
"""The number of the first message of a sender, by default."""
LOWEST_SEQ: Final = -(1 << 62)
"""A number below all others, for streams whose beginning is not known."""


class Added(NamedTuple):
    """The result of `SequenceSet.add`, for callers that keep a value beside each number.

    `new` marks the values that were not there, each at its first occurrence. `arrived` lists
    their places in the batch, in order of value; `places` says where each was put among the
    open numbers. Then the first `closed` open numbers left.
    """

    new: Flags
    arrived: Integers
    places: Integers
    closed: int


class SequenceSet:
    """The numbers `first … floor - 1`, and the sorted numbers in `open`.

    It holds 8 bytes per number between the first missing one and the greatest: nothing for a stream
    that is complete and in order, and all numbers after a missing one, unless that is given up.
    A batch costs the sorting of its own numbers and one pass over the open ones.
    """

    def __init__(self, first: int = FIRST_SEQ) -> None:
        self._first = first
        self.floor = first
        self.open: Integers = np.empty(0, np.int64)
        self.closed = 0
        """The count of numbers below the floor that were added, not given up."""

    def __len__(self) -> int:
        return self.closed + len(self.open)

    def add(self, values: Integers) -> Added:
        if len(values) and int(values.min()) < self._first:
            raise ModelParameterInvalid(
                "sequence number", values.min(), f"a number from {self._first} on"
            )
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
        """Stops waiting for missing numbers below; returns how many open numbers were closed.

        From then on `holds` is true for the missing ones.
        """
        if below <= self.floor:
            return 0
        left = int(np.searchsorted(self.open, below))
        self.open = self.open[left:].copy()
        self.floor = below
        self.closed += left
        return left + self._close()

    def shared(self, other: "SequenceSet") -> int:
        """Counts the common numbers of two sets that start alike and gave nothing up."""
        low, high = sorted((self, other), key=lambda each: each.floor)
        return low.closed + int(np.count_nonzero(high.holds(low.open)))

    def _close(self) -> int:
        """Raises the floor over the numbers that follow it without a gap."""
        if not len(self.open) or self.open[0] != self.floor:
            return 0
        gaps = self.open != np.arange(self.floor, self.floor + len(self.open))
        closed = int(np.argmax(gaps)) if gaps[-1] else len(self.open)
        self.floor += closed
        self.closed += closed
        self.open = self.open[closed:].copy()
        return closed


def merged(old: Integers, places: Integers, added: Integers) -> Integers:
    """Inserts each added value before the old value at its place."""
    if not len(old):
        return added
    everything = np.empty(len(old) + len(added), np.int64)
    is_old = np.ones(len(everything), np.bool_)
    targets = places + np.arange(len(added))
    is_old[targets] = False
    everything[targets] = added
    everything[is_old] = old
    return everything
