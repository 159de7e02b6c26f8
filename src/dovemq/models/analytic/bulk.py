"""A server that serves all waiting requests together, as a group commit does.

Arrivals are Poisson, and the service time of a group depends on its size. Requests that arrive
during a service form the next group; after a service without arrivals, the next request is a group
alone (Bailey 1954, Neuts 1967). A Poisson number of further requests may join a group just before
its service starts. The Markov chain of group sizes is solved exactly. Service times have a mean and
an scv and are taken as gamma distributed, so that the arrivals in one are negative binomial.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.stats import nbinom, poisson

from dovemq.models import checks
from dovemq.models.checks import Floats

WEIGHT_LAST_MAX: Final = 1e-4
"""The server is stable while the largest known group size has at most this probability."""
_ARRIVALS_IN_SERVICE: Final = 20.0
"""A server with so many arrivals per service is practically always busy."""


@dataclass(frozen=True, slots=True)
class GroupServices:
    """Mean and scv of the service of groups of 1, 2, …, and the mean number of late joiners."""

    means: Floats
    scvs: Floats
    joiners: float = 0.0


@dataclass(frozen=True, slots=True)
class Bulk:
    """`busy` is a share of time, `group_size` a mean over services.

    The sojourn leaves out the time until a free server starts a service.
    """

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
    """Returns the arrival rate that keeps the server busy for that share of time."""

    def surplus(rate: float) -> float:
        return bulk(rate, groups).busy - busy

    most = _ARRIVALS_IN_SERVICE / float(groups.means[0])
    return float(brentq(surplus, 1e-6 * most, most))


def joined_by(group_size: float, arrival_rate: float, groups: GroupServices) -> GroupServices:
    """Adds the joiners that give groups of that mean size; none if they are as large without."""

    def joined(joiners: float) -> GroupServices:
        return replace(groups, joiners=joiners)

    def surplus(joiners: float) -> float:
        return bulk(arrival_rate, joined(joiners)).group_size - group_size

    return joined(float(brentq(surplus, 0.0, group_size)) if surplus(0.0) < 0.0 else 0.0)


def _arrived(rate: float, means: Floats, scvs: Floats) -> tuple[Floats, Floats]:
    """Returns P(number waiting after a service) by group size, and P(no arrival in a service)."""
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
    """Returns P(group size) by the number of waiting requests."""
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
