"""Oracles that share nothing with the closed forms: Markov chains solved as they stand.

A chain is given by its moves: state → [(next state, rate)]. Long runs of single queues follow
Lindley's recursion.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg

from dovemq.models.analytic.open import OpenMeasures, OpenNetwork, OpenStation, solve_open

Moves = Callable[[Any], Iterable[tuple[Any, float]]]
Floats = NDArray[np.float64]


def stationary(first: Hashable, moves: Moves) -> dict[Any, float]:
    """Probabilities of all states that are reached from the first; the chain must be finite."""
    places: dict[Hashable, int] = {first: 0}
    entries: list[tuple[int, int, float]] = []
    open_states = [first]
    while open_states:
        state = open_states.pop()
        for other, rate in moves(state):
            if other not in places:
                places[other] = len(places)
                open_states.append(other)
            entries.append((places[state], places[other], rate))
    size = len(places)
    starts, ends, rates = (np.array(column) for column in zip(*entries, strict=True))
    flows = sparse.coo_matrix((rates, (ends, starts)), shape=(size, size)).tolil()
    leaving = np.zeros(size)
    np.add.at(leaving, starts, rates)
    flows.setdiag(flows.diagonal() - leaving)
    flows[size - 1, :] = 1.0
    right = np.zeros(size)
    right[-1] = 1.0
    found = linalg.spsolve(flows.tocsc(), right)
    return {state: float(found[place]) for state, place in places.items()}


def open_measures(
    outside: Sequence[float],
    routes: Sequence[Sequence[float]] | Floats,
    speeds: Sequence[float],
    servers: Sequence[int],
) -> OpenMeasures:
    """The answer about an open network that is given by arrays."""
    names = [str(place) for place in range(len(outside))]
    stations = []
    for name, speed, count, rate, row in zip(names, speeds, servers, outside, routes, strict=True):
        after = dict(zip(names, map(float, row), strict=True))
        stations.append(OpenStation(name, speed, count, (), rate, after))
    return solve_open(OpenNetwork(tuple(stations)))


def birth_death(up: Callable[[int], float], down: Callable[[int], float], most: int) -> Floats:
    """Probabilities of 0 … most by their ratios."""
    weights = np.ones(most + 1)
    for count in range(1, most + 1):
        weights[count] = weights[count - 1] * up(count - 1) / down(count)
    probabilities: Floats = weights / weights.sum()
    return probabilities


def waits(interarrivals: Floats, services: Floats) -> Floats:
    """Returns the waits at one server, first come first served.

    W' = max(0, W + S − T) is a walk above its least point so far.
    """
    walk = np.concatenate(([0.0], np.cumsum(services[:-1] - interarrivals[1:])))
    found: Floats = walk - np.minimum.accumulate(walk)
    return found


def interval(values: Floats, batches: int = 40) -> tuple[float, float]:
    """Mean and the half width of its 99 % interval, by means of batches."""
    means = values[: len(values) // batches * batches].reshape(batches, -1).mean(axis=1)
    return float(means.mean()), float(2.708 * means.std(ddof=1) / np.sqrt(batches))
