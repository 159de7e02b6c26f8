"""A server that takes all who wait into one service, as a group commit does.

Arrivals are Poisson, and the service of a group has a time that depends on its size. Who arrives
meanwhile waits for its end and is the next group; after a service in which nobody arrived, the
next one to come is served alone (Bailey 1954, Neuts 1967). The chain of group sizes is solved as it
is. Of times it needs the mean and scv, and takes them as gamma distributed: arrivals in one are
then negative binomial.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.stats import nbinom, poisson

from dovemq.models.analytic import parameters
from dovemq.models.analytic.parameters import Floats

WEIGHT_LAST_MAX: Final = 1e-4
"""Of the largest group there is a time for. With more of it, groups would grow beyond."""
_ARRIVALS_IN_SERVICE: Final = 20.0
"""With so many on average it is busy for all that matters."""


@dataclass(frozen=True, slots=True)
class GroupTimes:
    """Mean and scv of the service of 1, 2, … together."""

    means: Floats
    scvs: Floats


@dataclass(frozen=True, slots=True)
class Bulk:
    """`busy` is a share of time, `group_size` a mean over services."""

    stable: bool
    busy: float
    group_size: float
    sojourn_time: float


def bulk(arrival_rate: float, times: GroupTimes) -> Bulk:
    rate = float(parameters.positive(arrival_rate, "arrival_rate"))
    means, scvs = parameters.positive(times.means, "means"), parameters.scv(times.scvs, "scvs")
    chain, alone = _chain(rate, means, scvs)
    weights = _stationary(chain)
    sizes = np.arange(1, len(means) + 1)
    size = float(weights @ sizes)
    served = float(weights @ means)
    busy = served / (served + float(weights @ alone) / rate)
    if weights[-1] > WEIGHT_LAST_MAX:
        return Bulk(False, busy, size, np.inf)
    # In a service of time t there are λt arrivals, and each waits for half of it on average.
    waited = float(weights @ (rate * means**2 * (1.0 + scvs))) / 2.0
    return Bulk(True, busy, size, (waited + float(weights @ (sizes * means))) / size)


def arrival_rate_at(busy: float, times: GroupTimes) -> float:
    """What keeps such a server busy for that share of time."""

    def surplus(rate: float) -> float:
        return bulk(rate, times).busy - busy

    most = _ARRIVALS_IN_SERVICE / float(times.means[0])
    return float(brentq(surplus, 1e-6 * most, most))


def _chain(rate: float, means: Floats, scvs: Floats) -> tuple[Floats, Floats]:
    """From each size to the next, and the probability that nobody arrives in a service."""
    numbers = np.arange(len(means) + 1)
    chain = np.zeros((len(means), len(means)))
    alone = np.zeros(len(means))
    for row, (mean, scv) in enumerate(zip(means, scvs, strict=True)):
        if scv > 0.0:
            arrivals = nbinom.pmf(numbers, 1.0 / scv, 1.0 / (1.0 + scv * rate * mean))
        else:
            arrivals = poisson.pmf(numbers, rate * mean)
        alone[row] = arrivals[0]
        chain[row] = arrivals[1:]
        chain[row, 0] += arrivals[0]
        chain[row, -1] += max(0.0, 1.0 - float(arrivals.sum()))
    return chain, alone


def _stationary(chain: Floats) -> Floats:
    balance = np.eye(len(chain)) - chain.T
    balance[-1] = 1.0
    whole = np.zeros(len(chain))
    whole[-1] = 1.0
    return np.asarray(np.linalg.solve(balance, whole), np.float64)
