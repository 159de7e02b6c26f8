"""A server that takes all who wait into one service, as a group commit does.

Arrivals are Poisson, and the service of a group has a time that depends on its size. Who arrives
meanwhile waits for its end and is of the next group; after a service in which nobody arrived, the
next one to come makes a group alone (Bailey 1954, Neuts 1967). A few more may come just in time for
a group, before its service begins: a Poisson number. The chain of group sizes is solved as it is.
Of times it needs the mean and scv, and takes them as gamma distributed: arrivals in one are then
negative binomial.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.stats import nbinom, poisson

from dovemq.models import checks
from dovemq.models.checks import Floats

WEIGHT_LAST_MAX: Final = 1e-4
"""Of the largest group there is a time for. With more of it, groups would grow beyond."""
_ARRIVALS_IN_SERVICE: Final = 20.0
"""With so many on average it is busy for all that matters."""


@dataclass(frozen=True, slots=True)
class GroupServices:
    """Mean and scv of the service of 1, 2, … together, and how many come on average just in time
    for one."""

    means: Floats
    scvs: Floats
    joiners: float = 0.0


@dataclass(frozen=True, slots=True)
class Bulk:
    """`busy` is a share of time, `group_size` a mean over services. The sojourn is without what
    passes until a service begins of a server that was free."""

    stable: bool
    busy: float
    group_size: float
    sojourn_time: float


def bulk(arrival_rate: float, groups: GroupServices) -> Bulk:
    rate = float(checks.positive(arrival_rate, "arrival_rate"))
    means, scvs = checks.positive(groups.means, "means"), checks.not_negative(groups.scvs, "scvs")
    waiting, alone = _arrived(rate, means, scvs)
    joiners = float(checks.not_negative(groups.joiners, "joiners"))
    weights = _stationary(waiting @ _joined(joiners, len(means)))
    sizes = np.arange(1, len(means) + 1)
    size = float(weights @ sizes)
    served = float(weights @ means)
    busy = served / (served + float(weights @ alone) / rate)
    if weights[-1] > WEIGHT_LAST_MAX:
        return Bulk(False, busy, size, np.inf)
    # In a service of time t there are λt arrivals, and each waits for half of it on average.
    waited = float(weights @ (rate * means**2 * (1.0 + scvs))) / 2.0
    return Bulk(True, busy, size, (waited + float(weights @ (sizes * means))) / size)


def arrival_rate_at(busy: float, groups: GroupServices) -> float:
    """What keeps such a server busy for that share of time."""

    def surplus(rate: float) -> float:
        return bulk(rate, groups).busy - busy

    most = _ARRIVALS_IN_SERVICE / float(groups.means[0])
    return float(brentq(surplus, 1e-6 * most, most))


def joined_by(group_size: float, arrival_rate: float, groups: GroupServices) -> GroupServices:
    """With as many joiners as make groups of that mean size; none, if they are as large without."""

    def joined(joiners: float) -> GroupServices:
        return replace(groups, joiners=joiners)

    def surplus(joiners: float) -> float:
        return bulk(arrival_rate, joined(joiners)).group_size - group_size

    return joined(float(brentq(surplus, 0.0, group_size)) if surplus(0.0) < 0.0 else 0.0)


def _arrived(rate: float, means: Floats, scvs: Floats) -> tuple[Floats, Floats]:
    """From each size to how many wait then, and the probability that nobody arrives in a service:
    the next one to come is then waited for."""
    numbers = np.arange(len(means) + 1)
    waiting = np.zeros((len(means), len(means)))
    alone = np.zeros(len(means))
    for row, (mean, scv) in enumerate(zip(means, scvs, strict=True)):
        if scv > 0.0:
            arrivals = nbinom.pmf(numbers, 1.0 / scv, 1.0 / (1.0 + scv * rate * mean))
        else:
            arrivals = poisson.pmf(numbers, rate * mean)
        alone[row] = arrivals[0]
        waiting[row] = arrivals[1:]
        waiting[row, 0] += arrivals[0]
        waiting[row, -1] += max(0.0, 1.0 - float(arrivals.sum()))
    return waiting, alone


def _joined(joiners: float, size_max: int) -> Floats:
    """From how many wait to the size of their group."""
    numbers = poisson.pmf(np.arange(size_max), joiners)
    joined = np.zeros((size_max, size_max))
    for row in range(size_max):
        joined[row, row:] = numbers[: size_max - row]
        joined[row, -1] += max(0.0, 1.0 - float(joined[row].sum()))
    return joined


def _stationary(chain: Floats) -> Floats:
    balance = np.eye(len(chain)) - chain.T
    balance[-1] = 1.0
    whole = np.zeros(len(chain))
    whole[-1] = 1.0
    return np.asarray(np.linalg.solve(balance, whole), np.float64)
