"""The commits of a front end, reconstructed from the times of its sends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dovemq.models.analytic import GroupServices, joined_by
from dovemq.models.checks import Floats

GAP_US: Final = 150
"""Sends of one commit are recorded closer together than this; no commit is as fast."""
COMMITS_MIN: Final = 30
"""A group size with so many commits has a service time of its own."""
SIZES_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class RequestTimes:
    """Times in µs, in any order: when each request was read, committed and answered.

    `response` is how long it took by the clock of its client.
    """

    read: NDArray[Any]
    at: NDArray[Any]
    written: NDArray[Any]
    response: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Commits:
    """The number of requests and the time of each commit.

    `beside_seconds` is the mean time of a request besides waiting for commits: until the last one
    of its group is read, for its answer, and on the way to the front end and back.
    """

    sizes: NDArray[np.int64]
    seconds: Floats
    beside_seconds: float


def commits_of(requests: RequestTimes) -> Commits:
    """Finds the commits. One starts when the one before has ended and its last request was read.

    The first commit is left out, because its start is not known.
    """
    order = np.argsort(requests.at, kind="stable")
    read, at, written = (times[order] for times in (requests.read, requests.at, requests.written))
    begins = np.concatenate(([0], 1 + np.flatnonzero(np.diff(at) > GAP_US)))
    sizes = np.diff(begins, append=len(at))
    ends = at[begins + sizes - 1]
    since = np.maximum(ends[:-1], np.maximum.reduceat(read, begins)[1:])
    # For each request from the second commit on: the end of the commit before its own.
    later, before = slice(sizes[0], None), np.repeat(ends[:-1], sizes[1:])
    gathering = np.repeat(since, sizes[1:]) - np.maximum(read[later], before)
    answering = (written - np.repeat(ends, sizes))[later]
    way = (requests.response[order] - (written - read))[later]
    # A busy front end reads late, which is waiting and not the way; a free one reads at once.
    free = read[later] > before + GAP_US
    beside_us = np.mean(gathering + answering) + (np.mean(way[free]) if free.any() else way.min())
    seconds = np.maximum(1, ends[1:] - since) / 1e6
    return Commits(sizes[1:], seconds, float(beside_us) / 1e6)


def groups_of(commits: Sequence[Commits], request_rate: float) -> GroupServices:
    """Fits service times by group size; rare sizes use a line through all, and one variance."""
    sizes = np.minimum(np.concatenate([each.sizes for each in commits]), SIZES_MAX)
    seconds = np.concatenate([each.seconds for each in commits])
    often = [size for size in range(1, SIZES_MAX + 1) if (sizes == size).sum() >= COMMITS_MIN]
    means = _line(sizes, seconds)
    for size in often:
        means[size - 1] = seconds[sizes == size].mean()
    variances = np.full(SIZES_MAX, np.mean((seconds - means[sizes - 1]) ** 2))
    for size in often:
        variances[size - 1] = seconds[sizes == size].var()
    return joined_by(float(sizes.mean()), request_rate, GroupServices(means, variances / means**2))


def _line(sizes: NDArray[np.int64], seconds: Floats) -> Floats:
    """Fits a line for sizes 1, 2, …; it never falls, and is never below the fastest commit."""
    slope, first = 0.0, float(seconds.mean())
    if len(np.unique(sizes)) > 1:
        slope, first = map(float, np.polyfit(sizes - 1, seconds, 1))
    values = max(first, float(seconds.min())) + max(slope, 0.0) * np.arange(SIZES_MAX)
    return np.asarray(values, np.float64)
