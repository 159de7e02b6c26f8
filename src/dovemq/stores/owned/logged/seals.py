"""Seals: which groups of a log count, after its owner has changed.

A new owner scans the log. Appends of an earlier owner may still be on their way, and a database
that does not fence accepts them later. So the first group of an epoch is a seal: it says up to
which position its owner has read, and what earlier epochs wrote beyond that position is void:

    epoch 1   g1  g2  g3  (g4)          g4 landed after the scan of epoch 2
    epoch 2   seal(g2) + contents of g3,  g5  g6
    replay    g1  g2  seal  g5  g6      g3 and g4 are void

The last group that was found (g3) is in doubt. Its owner had one append under way at most, so all
groups before it were answered; this one may be on a minority of replicas, and another scan may not
see it. The new owner must not build on it: it would answer a repeated send as a duplicate of a
message that then disappears. So the seal ends before g3, and contains what g3 contained.

A seal may itself be void, if its owner died before the append was answered and the next owner did
not see it. A void seal has no effect. Hence seals are judged from the newest to the oldest, and all
of them are read before the scan: a seal comes after the groups that it makes void.
"""

from bisect import bisect_right
from collections.abc import Mapping

from dovemq.stores.owned.logged.positions import epoch_of, first_position


class Seals:
    def __init__(self, sealed: Mapping[int, int]) -> None:
        """`sealed`: the last position that counts of earlier epochs, by the epoch of the seal."""
        effective: list[tuple[int, int]] = []
        for epoch in sorted(sealed, reverse=True):
            if not effective or first_position(epoch) <= effective[-1][1]:
                effective.append((epoch, sealed[epoch]))
        effective.reverse()
        self._epochs = [epoch for epoch, _ in effective]
        self._ends = [end for _, end in effective]

    def count(self, position: int) -> bool:
        """Whether the group at this position counts; otherwise it is void."""
        later = bisect_right(self._epochs, epoch_of(position))
        return later == len(self._ends) or position <= self._ends[later]
