"""Order of one stream: out-of-order messages and displacement, batch by batch; clean cuts."""

from typing import NamedTuple

import numpy as np

from dovemq.models.consistency.columns import Integers
from dovemq.models.consistency.metrics import Consistency
from dovemq.models.consistency.patience import Extend, Piles, best_extend
from dovemq.models.consistency.sequences import FIRST_SEQ, LOWEST_SEQ, SequenceSet, merged


class OrderTally:
    """Exact figures of order. A message is dropped once no earlier one can come: its rank is known.

    It holds 24 bytes per message received after the first missing one: memory grows with the
    disorder of a stream that loses nothing, and with its length while a message is missing, unless
    that message is given up.
    """

    def __init__(self, first: int = FIRST_SEQ, extend: Extend | None = None) -> None:
        self._seen = SequenceSet(first)
        self._positions: Integers = np.empty(0, np.int64)
        self._piles = Piles(extend or best_extend())
        self._displacement = 0
        self._duplicates = 0

    @property
    def seen(self) -> SequenceSet:
        return self._seen

    def add(self, seqs: Integers) -> Integers:
        """Adds numbers in the order of receiving; repeated ones are counted and left out.

        Returns the new ones, in their order.
        """
        position, rank = len(self._seen), self._seen.closed
        added = self._seen.add(seqs)
        ranks = np.cumsum(added.new) - 1
        positions = position + ranks[added.arrived]
        self._positions = merged(self._positions, added.places, positions)
        self._duplicates += len(seqs) - len(added.arrived)
        new = seqs[added.new]
        self._piles.add(new)
        self._close(added.closed, rank)
        return new

    def give_up(self, below: int) -> None:
        """Stops waiting for missing messages below that number; they no longer count."""
        rank = self._seen.closed
        self._close(self._seen.give_up(below), rank)

    def result(self) -> Consistency:
        """Returns the figures as if the stream ended here."""
        count = len(self._seen)
        open_distance = _distance(self._positions, self._seen.closed)
        return Consistency(
            duplicates=self._duplicates,
            ordered=count,
            out_of_order=count - self._piles.longest,
            displacement=self._displacement + open_distance,
        )

    def kept(self) -> "KeptOrder":
        """Returns everything that a later process needs to continue."""
        seen = self._seen
        numbers = (seen.floor, seen.closed, self._displacement, self._duplicates)
        return KeptOrder(
            (*numbers, self._piles.settled), seen.open, self._positions, self._piles.tails
        )

    @classmethod
    def resumed(cls, kept: "KeptOrder", extend: Extend | None = None) -> "OrderTally":
        floor, closed, displacement, duplicates, settled = kept.numbers
        tally = cls(LOWEST_SEQ, extend)
        seen = tally._seen
        seen.open, seen.floor, seen.closed = kept.open, floor, closed
        tally._positions = kept.positions
        tally._displacement, tally._duplicates = displacement, duplicates
        tally._piles = Piles(extend or best_extend(), kept.tails, settled)
        return tally

    def _close(self, count: int, rank: int) -> None:
        """Closes the first `count` open messages, whose ranks start at `rank` and are final."""
        if count:
            self._displacement += _distance(self._positions[:count], rank)
            self._positions = self._positions[count:].copy()
        self._piles.forget_below(self._seen.floor)


class KeptOrder(NamedTuple):
    """The state of an `OrderTally`: five numbers and three columns."""

    numbers: tuple[int, int, int, int, int]
    open: Integers
    positions: Integers
    tails: Integers


def _distance(positions: Integers, rank: int) -> int:
    """Returns the sum of the distances of positions from the ranks `rank`, `rank + 1`, …"""
    return int(np.abs(positions - np.arange(rank, rank + len(positions))).sum())


def clean_cuts(
    values: Integers, most_before: int, least_after: int, *, ties: bool = False
) -> tuple[int, int] | None:
    """Returns the first and the last clean cut of a piece, as places between its values.

    A cut is clean if everything before it is less than everything after it. An increasing
    subsequence never has to choose between the two sides, and no message of one side belongs to a
    position on the other. So the longest increasing subsequence and the displacement of the whole
    are the sums over the pieces between clean cuts, and the pieces can be measured separately.

    `most_before` and `least_after` are the extremes of the sequence before and after the piece.
    Place p lies before the value at p; place 0 is the start, `len(values)` the end. None: there is
    no clean cut. `ties`: equal values are in order, so they may be on both sides of a cut.
    """
    highest = np.maximum.accumulate(np.concatenate(([most_before], values)))
    lowest = np.minimum.accumulate(np.concatenate((values, [least_after]))[::-1])[::-1]
    places = np.flatnonzero(highest <= lowest if ties else highest < lowest)
    return (int(places[0]), int(places[-1])) if len(places) else None
