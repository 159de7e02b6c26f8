"""Closed networks with load-dependent stations, exactly, by convolution.

The normalising constant G(n) is the convolution of the weights of all stations,

    F_k(m) = |m|!·f_k(|m|)·Π_r D_kr^(m_r)/m_r!,   f_k(j) = Π_(i ≤ j) 1/speed_k(i)

(Buzen 1973; Reiser and Kobayashi 1975). X_r = G(N − 1_r)/G(N), and a station has m customers with
probability F_k(m)·G_(−k)(N − m)/G(N), where G_(−k) leaves the station out. With z = Σ_r D_kr·z_r
the station is the power series Σ f_k(j)·z^j, which Horner's rule applies by shifts of the whole
array. Every term is positive and kept as a logarithm: nothing cancels and nothing overflows.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from scipy import special

from dovemq.models.analytic.circulation import ClosedMeasures
from dovemq.models.analytic.mva import APPROXIMATE, check_vectors
from dovemq.models.checks import Floats
from dovemq.models.closed import ClosedNetwork, ClosedStation
from dovemq.models.errors import TooLarge

STEPS_MAX: Final = 1_000_000_000
"""The most additions of a solution: vectors × customers × classes × passes over stations."""


def convolution(network: ClosedNetwork) -> ClosedMeasures:
    vectors = check_vectors(network)
    passes = len(network.stations) * (int(np.log2(len(network.stations))) + 2)
    steps = vectors * int(network.populations.sum()) * (len(network.classes) + 1) * passes
    if steps > STEPS_MAX:
        raise TooLarge("additions of the convolution", steps, STEPS_MAX, APPROXIMATE)
    shape = tuple(network.populations.astype(int) + 1)
    nothing = np.full(shape, -np.inf)
    nothing.flat[0] = 0.0
    whole, others = nothing, list(_without_each(network.stations, nothing))
    whole = _with_station(others[0], network.stations[0])
    last = whole.flat[-1]
    fewer = [np.take(whole, -2, axis) if size > 1 else None for axis, size in enumerate(shape)]
    rates = [0.0 if each is None else np.exp(each.flat[-1] - last) for each in fewer]
    pairs = zip(network.stations, others, strict=True)
    chances = [marginal(station, other, last) for station, other in pairs]
    counts = np.indices(shape).reshape(len(shape), -1)
    numbers = np.stack([counts @ each.ravel() for each in chances])
    shares = [
        _busy(*pair, counts.sum(axis=0)) for pair in zip(network.stations, chances, strict=True)
    ]
    found = tuple(
        tuple(
            _found(station, other, whole, axis) if station.exponential else None
            for axis in range(len(network.classes))
        )
        for station, other in zip(network.stations, others, strict=True)
    )
    return ClosedMeasures(network, "convolution", np.array(rates), numbers, np.array(shares), found)


def _found(station: ClosedStation, others: Floats, whole: Floats, axis: int) -> Floats | None:
    """Returns the chances of 0, 1, … others whom an arrival of the class finds at the station.

    It finds the network as it is over time without itself (Sevcik and Mitrani 1981).
    """
    if others.shape[axis] == 1 or not station.demands[axis]:
        return None
    less = np.take(whole, -2, axis).flat[-1]
    kept = (slice(None),) * axis
    chances = marginal(station, others[(*kept, slice(None, -1))], less)
    totals = np.indices(chances.shape).reshape(chances.ndim, -1).sum(axis=0)
    return np.asarray(np.bincount(totals, weights=chances.ravel()), dtype=np.float64)


def marginal(station: ClosedStation, others: Floats, last: float) -> Floats:
    """Returns the probability of each number of customers by class at a station."""
    shape = others.shape
    counts = np.indices(shape, dtype=np.float64)
    total = counts.sum(axis=0)
    demands = station.demands.reshape(-1, *([1] * len(shape)))
    logs = special.xlogy(counts, demands) - special.gammaln(counts + 1.0)
    own = logs.sum(axis=0) + special.gammaln(total + 1.0)
    own = own + station.log_factors(int(total.max()))[total.astype(np.intp)]
    chances: Floats = np.exp(own + np.flip(others) - last)
    return chances


def _busy(station: ClosedStation, chances: Floats, totals: Floats) -> float:
    if not station.waits:
        return float("nan")
    present = np.minimum(totals, station.servers if not station.speeds else 1)
    return float(present @ chances.ravel() / station.servers)


def _without_each(stations: Sequence[ClosedStation], constant: Floats) -> Iterator[Floats]:
    """Yields the constant of all stations but the first, but the second, and so on.

    The halves are applied to each other, so that the work grows with n·log n of the stations.
    """
    if len(stations) == 1:
        yield constant
        return
    half = len(stations) // 2
    for own, rest in (
        (stations[:half], stations[half:]),
        (stations[half:], stations[:half]),
    ):
        applied = constant
        for station in rest:
            applied = _with_station(applied, station)
        yield from _without_each(own, applied)


def _with_station(constant: Floats, station: ClosedStation) -> Floats:
    most = sum(constant.shape) - constant.ndim
    factors = station.log_factors(most)
    with np.errstate(divide="ignore"):
        demands = np.log(station.demands)
    applied: Floats = constant + factors[most]
    for count in range(most - 1, -1, -1):
        total = constant + factors[count]
        for axis, demand in enumerate(demands):
            if np.isfinite(demand):
                kept = (slice(None),) * axis
                later, earlier = (*kept, slice(1, None)), (*kept, slice(None, -1))
                total[later] = np.logaddexp(total[later], applied[earlier] + demand)
        applied = total
    return applied
