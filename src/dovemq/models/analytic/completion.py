"""Mean and variance of the time that a job takes through its graph of tasks.

Times of a chain add up, for any distributions. Where branches join, the job waits for the slowest:
each branch is taken as gamma distributed with its mean and variance, and independent of the others.
Their times count from the last task that all branches share (the dominator of the join), since the
time before it is the same for all. Only joins are approximate.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from dovemq.models.checks import Floats
from dovemq.models.jobs import JobTask, in_order

_POINTS: Final = 300
_SHAPE_MAX: Final = 1e8
_START: Final = ""
_END: Final = "\n"
"""Names of the start and the end of a job; no task has such a name."""


@dataclass(frozen=True, slots=True)
class TimeMoments:
    mean: Floats
    variance: Floats

    def __add__(self, other: "TimeMoments") -> "TimeMoments":
        return TimeMoments(self.mean + other.mean, self.variance + other.variance)


def completion(tasks: Sequence[JobTask], sojourns: Mapping[str, TimeMoments]) -> TimeMoments:
    """`sojourns` are the times of tasks by topic: wait and service."""
    nothing = TimeMoments(np.zeros(()), np.zeros(()))
    dominator: dict[str, str] = {_START: _START}
    depth = {_START: 0}
    spans: dict[str, TimeMoments] = {}
    ordered = list(in_order(tasks))
    followed = {name for task in tasks for name in task.after}
    ends = tuple(task.name for task in tasks if task.name not in followed)
    for name, topic, after in [*((t.name, t.topic, t.after) for t in ordered), (_END, None, ends)]:
        before = after or (_START,)
        shared = before[0]
        for other in before[1:]:
            shared = _meeting(shared, other, dominator, depth)
        branches = [_since(each, shared, dominator, spans, nothing) for each in before]
        dominator[name] = shared
        depth[name] = depth[shared] + 1
        spans[name] = slowest(branches) + (sojourns[topic] if topic is not None else nothing)
    return _since(_END, _START, dominator, spans, nothing)


def slowest(branches: Sequence[TimeMoments]) -> TimeMoments:
    """Returns mean and variance of the maximum of independent gamma times."""
    if len(branches) == 1:
        return branches[0]
    means = np.stack(np.broadcast_arrays(*(branch.mean for branch in branches)))
    variances = np.stack(np.broadcast_arrays(*(branch.variance for branch in branches)))
    finite = np.isfinite(means).all(axis=0) & np.isfinite(variances).all(axis=0)
    means, variances = np.where(finite, means, 1.0), np.where(finite, variances, 1.0)
    longest = means.max(axis=0)
    unit = np.where(longest > 0.0, longest, 1.0)
    part, weights = _nodes()
    # From (0, 1) to all times: the tails fall exponentially, so the few far points suffice.
    times = unit[..., None] * part / (1.0 - part)
    steps = unit[..., None] * weights / (1.0 - part) ** 2
    ended = np.ones(times.shape)
    for mean, variance in zip(means, variances, strict=True):
        ended = ended * _ended(mean[..., None], variance[..., None], times)
    first = np.sum(steps * (1.0 - ended), axis=-1)
    second = np.sum(2.0 * times * steps * (1.0 - ended), axis=-1)
    return TimeMoments(
        np.where(finite, np.maximum(first, longest), np.inf),
        np.where(finite, np.maximum(second - first**2, 0.0), np.inf),
    )


@functools.cache
def _nodes() -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss–Legendre quadrature on (0, 1); expensive, so they are kept."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    return np.asarray(0.5 * (nodes + 1.0)), np.asarray(0.5 * weights)


def _ended(mean: Floats, variance: Floats, times: Floats) -> Floats:
    safe = np.where(mean > 0.0, mean, 1.0)
    shape = np.minimum(safe**2 / np.maximum(variance, safe**2 / _SHAPE_MAX), _SHAPE_MAX)
    return np.where(mean > 0.0, special.gammainc(shape, shape * times / safe), 1.0)


def _meeting(one: str, other: str, dominator: Mapping[str, str], depth: Mapping[str, int]) -> str:
    while one != other:
        if depth[one] >= depth[other]:
            one = dominator[one]
        else:
            other = dominator[other]
    return one


def _since(
    name: str,
    start: str,
    dominator: Mapping[str, str],
    spans: Mapping[str, TimeMoments],
    nothing: TimeMoments,
) -> TimeMoments:
    total = nothing
    while name != start:
        total = total + spans[name]
        name = dominator[name]
    return total
