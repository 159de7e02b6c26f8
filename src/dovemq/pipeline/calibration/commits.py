"""The commits of a front end, as the times of its sends tell them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models.analytic import GroupTimes

GAP_US: Final = 150
"""Sends of one commit are told one right after the other; no commit is as fast."""
COMMITS_MIN: Final = 30
"""Of a size, for its time to be taken from them alone."""
SIZES_MAX: Final = 200

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Commits:
    """How many requests each held and how long it took. `answer_seconds` are the mean from the end
    of a commit until the answer to one of its requests was written."""

    sizes: NDArray[np.int64]
    seconds: Floats
    answer_seconds: float


def commits_of(read_us: NDArray[Any], at_us: NDArray[Any], written_us: NDArray[Any]) -> Commits:
    """Of requests in any order. A commit begins with the end of the one before, or when its first
    request was read; of the first one that is not known, and it is left out."""
    order = np.argsort(at_us, kind="stable")
    read, at, written = (times[order] for times in (read_us, at_us, written_us))
    begins = np.concatenate(([0], 1 + np.flatnonzero(np.diff(at) > GAP_US)))
    sizes = np.diff(begins, append=len(at))
    ends = at[begins + sizes - 1]
    since = np.maximum(ends[:-1], np.minimum.reduceat(read, begins)[1:])
    answer_us = float(np.mean(written - np.repeat(ends, sizes)))
    return Commits(sizes[1:], (ends[1:] - since) / 1e6, answer_us / 1e6)


def times_by_size(commits: Sequence[Commits]) -> GroupTimes:
    """Of sizes that are seldom, the mean is on a line through all, and the variance that of all."""
    sizes = np.minimum(np.concatenate([each.sizes for each in commits]), SIZES_MAX)
    seconds = np.concatenate([each.seconds for each in commits])
    often = [size for size in range(1, SIZES_MAX + 1) if (sizes == size).sum() >= COMMITS_MIN]
    means = _line(sizes, seconds)
    for size in often:
        means[size - 1] = seconds[sizes == size].mean()
    variances = np.full(SIZES_MAX, np.mean((seconds - means[sizes - 1]) ** 2))
    for size in often:
        variances[size - 1] = seconds[sizes == size].var()
    return GroupTimes(means, variances / means**2)


def _line(sizes: NDArray[np.int64], seconds: Floats) -> Floats:
    """For 1, 2, … by least squares; no commit is faster than the fastest, or for being larger."""
    slope, first = 0.0, float(seconds.mean())
    if len(np.unique(sizes)) > 1:
        slope, first = map(float, np.polyfit(sizes - 1, seconds, 1))
    values = max(first, float(seconds.min())) + max(slope, 0.0) * np.arange(SIZES_MAX)
    return np.asarray(values, np.float64)
