"""Closed networks by exact mean value analysis, for stations of constant speed and delays.

    R_kr(n) = D_kr·(1 + Σ_s Q_ks(n − 1_r)),  X_r(n) = n_r/Σ_k R_kr(n),  Q_kr(n) = X_r(n)·R_kr(n)

A customer that arrives sees the network with itself removed (Reiser and Lavenberg 1980). The
recursion passes over all population vectors up to that of the network, one total after another:
their number is the product of the populations plus one, so it is exponential in the classes. For
load-dependent stations the recursion loses all digits near saturation (Chandy and Sauer 1980);
`convolution.py` solves those.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models.analytic.circulation import ClosedMeasures, busy_shares
from dovemq.models.checks import Floats
from dovemq.models.closed import ClosedNetwork
from dovemq.models.errors import ModelSpecInvalid, TooLarge

VECTORS_MAX: Final = 2_000_000
"""The most population vectors of an exact solution."""
CUSTOMERS_MAX: Final = 100_000
"""The most customers of an exact solution: each costs a pass."""
CELLS_MAX: Final = 500_000_000
"""The most population vectors times stations times classes."""
APPROXIMATE: Final = "use the approximate method, schweitzer"


def mva(network: ClosedNetwork) -> ClosedMeasures:
    for station in network.stations:
        if station.load_dependent:
            reason = "mean value analysis knows one speed: use convolution or schweitzer"
            raise ModelSpecInvalid(f"station {station.name}", reason)
    check_vectors(network)
    demands = network.demands / _speeds(network)[:, None]
    waits = np.array([station.waits for station in network.stations])
    seen = np.zeros((1, len(demands)))
    for level in _levels(network.populations.astype(np.intp)):
        # Axes: population vector, station, class.
        before = np.where(waits, seen, 0.0)[level.before].transpose(0, 2, 1)
        times = demands * (1.0 + before)
        rates = level.vectors / np.where(level.vectors > 0, times.sum(axis=1), 1.0)
        numbers = times * rates[:, None, :]
        seen = numbers.sum(axis=2)
    throughput = rates[-1]
    shares = busy_shares(network, throughput)
    return ClosedMeasures(network, "mva", throughput, numbers[-1], shares)


def check_vectors(network: ClosedNetwork) -> int:
    """Returns the number of population vectors up to that of the network, if it is not too many."""
    customers = int(network.populations.sum())
    if customers > CUSTOMERS_MAX:
        raise TooLarge("customers of an exact solution", customers, CUSTOMERS_MAX, APPROXIMATE)
    vectors = 1
    for population in network.populations:
        vectors *= int(population) + 1
    if vectors > VECTORS_MAX:
        raise TooLarge("population vectors", vectors, VECTORS_MAX, APPROXIMATE)
    if (cells := vectors * network.demands.size) > CELLS_MAX:
        what = "population vectors × stations × classes"
        raise TooLarge(what, cells, CELLS_MAX, APPROXIMATE)
    return vectors


def _speeds(network: ClosedNetwork) -> Floats:
    return np.array([each.speeds[0] if each.speeds else 1.0 for each in network.stations])


@dataclass(frozen=True, slots=True)
class _Level:
    """All population vectors of one total, and the place of each less one customer of a class."""

    vectors: NDArray[np.intp]
    before: NDArray[np.intp]


def _levels(populations: NDArray[np.intp]) -> Iterator[_Level]:
    """Yields the levels from a total of 1 up; classes without customers stay at 0."""
    strides = np.array(
        [np.prod(populations[place + 1 :] + 1) for place in range(len(populations))], dtype=np.intp
    )
    codes = np.zeros(1, dtype=np.intp)
    for _ in range(int(populations.sum())):
        vectors = codes[:, None] // strides % (populations + 1)
        more = (codes[:, None] + strides)[vectors < populations]
        following = np.unique(more)
        vectors = following[:, None] // strides % (populations + 1)
        before = np.searchsorted(codes, following[:, None] - strides)
        before = np.where(vectors > 0, np.minimum(before, len(codes) - 1), 0)
        yield _Level(vectors, before)
        codes = following
