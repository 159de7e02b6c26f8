"""When a run that started empty has settled: the warm-up to leave out.

By the marginal standard error rule (White 1997): of all cuts in the first half of a series, the
one that makes the standard error of what remains least.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

PILOTS: Final = 5
POINTS_MIN: Final = 10


def settled_from(series: NDArray[np.float64]) -> int:
    """The number of first points to leave out; the series is of means over equal times."""
    points = len(series)
    if points < POINTS_MIN:
        return 0
    cuts = range(points // 2 + 1)
    errors = [float(np.var(series[cut:])) / (points - cut) for cut in cuts]
    return int(np.argmin(errors))
