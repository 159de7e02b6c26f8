"""Open networks with random routing as networks of jobs, whose routes are the paths through them.

A path is a job's route with the probability of the path. Paths that return are endless in number,
so the most probable ones stand for all: those that are left out have less than `REST_MAX` together.
"""

import heapq
from collections.abc import Iterator
from itertools import count
from typing import Final

from dovemq.models.analytic.open import OpenNetwork
from dovemq.models.errors import ModelSpecInvalid, TooLarge
from dovemq.models.jobs import JobNetwork, JobRoute, JobType, Topic, chain

REST_MAX: Final = 1e-5
"""The probability of all paths that are left out."""
VISITS_MAX: Final = 100_000
"""The most visits of all paths together."""


def jobs_of(network: OpenNetwork) -> JobNetwork:
    """Returns a network with one type of job; stations of varying speed are refused by name."""
    topics = []
    for station in network.stations:
        if station.service_rate is None:
            reason = "simulations know servers of one speed, not rates by the number present"
            raise ModelSpecInvalid(f"station {station.name}", reason)
        topics.append(Topic(station.name, station.service_rate, 1.0, station.servers))
    paths = list(_paths(network))
    known = sum(share for share, _ in paths)
    routes = tuple(JobRoute(chain(*path), share / known) for share, path in paths)
    job = JobType("customer", float(network.arrival_rates.sum()), routes)
    return JobNetwork(tuple(topics), (job,))


def _paths(network: OpenNetwork) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Yields paths with their probabilities, until few are left, about the most probable first."""
    after = {station.name: station.after for station in network.stations}
    total, order = float(network.arrival_rates.sum()), count()
    started: list[tuple[float, int, tuple[str, ...]]] = [
        (-station.arrival_rate / total, next(order), (station.name,))
        for station in network.stations
        if station.arrival_rate
    ]
    heapq.heapify(started)
    left, visits = 1.0, 0
    while started and left > REST_MAX:
        negative, _, path = heapq.heappop(started)
        ending = -negative * max(1.0 - sum(after[path[-1]].values()), 0.0)
        if ending > 0.0:
            left -= ending
            visits += len(path)
            yield ending, path
        if visits + len(started) > VISITS_MAX:
            remedy = "take visits as independent"
            raise TooLarge("visits of all paths", visits + len(started), VISITS_MAX, remedy)
        for name, share in after[path[-1]].items():
            if share:
                heapq.heappush(started, (negative * share, next(order), (*path, name)))
