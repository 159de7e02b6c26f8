"""Order of one stream: out-of-order messages and displacement, batch by batch."""

import numpy as np

from dovemq.models.consistency.columns import Integers
from dovemq.models.consistency.metrics import Consistency
from dovemq.models.consistency.patience import Extend, Piles, best_extend
from dovemq.models.consistency.sequences import FIRST_SEQ, SequenceSet, merged


class OrderTally:
    """Exact. The rank of a message is known once no earlier one can come: it is then forgotten.

    Holds 24 bytes per message received after the first one that is missing: the disorder, not
    the length, of a stream that loses nothing; up to its length where something is missing.
    """

    def __init__(self, first: int = FIRST_SEQ, extend: Extend | None = None) -> None:
        self._first = first
        self._seen = SequenceSet(first)
        self._positions: Integers = np.empty(0, np.int64)
        self._piles = Piles(extend or best_extend())
        self._displacement = 0
        self._duplicates = 0

    @property
    def seen(self) -> SequenceSet:
        return self._seen

    def add(self, seqs: Integers) -> Integers:
        """Numbers in the order of receiving; repeated ones are counted and left out.

        Answers those that were new, in their order.
        """
        position = len(self._seen)
        floor = self._seen.floor
        added = self._seen.add(seqs)
        ranks = np.cumsum(added.new) - 1
        positions = position + ranks[added.arrived]
        self._positions = merged(self._positions, added.places, positions)
        self._duplicates += len(seqs) - len(added.arrived)
        new = seqs[added.new]
        self._piles.add(new)
        if added.closed:
            self._displacement += _distance(self._positions[: added.closed], floor - self._first)
            self._positions = self._positions[added.closed :].copy()
            self._piles.forget_below(self._seen.floor)
        return new

    def result(self) -> Consistency:
        """As if the stream ended here."""
        count = len(self._seen)
        open_distance = _distance(self._positions, self._seen.floor - self._first)
        return Consistency(
            duplicates=self._duplicates,
            ordered=count,
            out_of_order=count - self._piles.longest,
            displacement=self._displacement + open_distance,
        )


def _distance(positions: Integers, rank: int) -> int:
    """Sum of the distances of positions from the ranks `rank`, `rank + 1`, …"""
    return int(np.abs(positions - np.arange(rank, rank + len(positions))).sum())
