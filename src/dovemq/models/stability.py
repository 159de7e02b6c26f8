"""When a station is stable: its load stays below its servers by more than rounding.

Loads are quotients, products and sums of decimal fractions, so a load that is exactly the number of
servers may be computed a few units in the last place below it: 0.3/0.1 < 3. So near to full load
every figure is mostly rounding, and such a station counts as unstable.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from dovemq.models.checks import Flags, Floats

ROUNDING: Final = 1e-12
"""A utilisation that is nearer to 1 than this is 1; the rounding of a load is some 1e-16 of it."""


def is_stable(load: ArrayLike, servers: ArrayLike = 1.0) -> Flags:
    """Says whether the load is below the servers; `load` is in units of one server."""
    return np.asarray(np.asarray(load) < np.asarray(servers) * (1.0 - ROUNDING))


def servers_from(load: ArrayLike) -> Floats:
    """Returns the smallest number of servers that is stable with the load."""
    return np.asarray(np.floor(np.asarray(load, np.float64) / (1.0 - ROUNDING)) + 1.0)
