"""Clean cuts: places where a sequence can be divided without changing its order figures.

A cut is *clean* if everything before it is less than everything after it. An increasing
subsequence never has to choose between the two sides, and no message of one side belongs to a
position on the other. So the longest increasing subsequence and the displacement of the whole are
the sums over the pieces between clean cuts, and the pieces can be measured separately.
"""

import numpy as np

from dovemq.models.consistency.columns import Integers


def clean_cuts(
    values: Integers, most_before: int, least_after: int, *, ties: bool = False
) -> tuple[int, int] | None:
    """Returns the first and the last clean cut of a piece, as places between its values.

    `most_before` and `least_after` are the extremes of the sequence before and after the piece.
    Place p lies before the value at p; place 0 is the start, `len(values)` the end. None: there is
    no clean cut. `ties`: equal values are in order, so they may be on both sides of a cut.
    """
    highest = np.maximum.accumulate(np.concatenate(([most_before], values)))
    lowest = np.minimum.accumulate(np.concatenate((values, [least_after]))[::-1])[::-1]
    places = np.flatnonzero(highest <= lowest if ties else highest < lowest)
    return (int(places[0]), int(places[-1])) if len(places) else None
