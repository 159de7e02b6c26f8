"""Routing shares that leave the least work in progress, where jobs may take several routes.

The future work of `elastic`. For M/M/1 topics the problem is convex and its solution unique (Kameda
and Zhang 1995); with general scvs it need not be, so the search has several starts and samples
each line before it narrows. Shares move between two routes of a job at a time, until no move helps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy import optimize

from dovemq.models.checks import Floats
from dovemq.models.jobs import JobNetwork
from dovemq.models.planning.plan import Shortage, shortages
from dovemq.models.planning.problem import Problem
from dovemq.models.planning.progress import WorkInProgress

ROUNDS_MAX: Final = 60
_LOOKS: Final = 9
_NARROWINGS: Final = 40
_GOLDEN: Final = (5.0**0.5 - 1.0) / 2.0
_GAIN_MIN: Final = 1e-10
_STABLE_MARGIN: Final = 1e-9

Shares = tuple[Floats, ...]
"""The shares of the routes of each job."""


@dataclass(frozen=True, slots=True)
class Routing:
    """The network with its best shares; not `feasible` if no shares make every topic stable."""

    network: JobNetwork
    shares: tuple[tuple[float, ...], ...]
    wip: float
    feasible: bool
    overloaded: tuple[Shortage, ...] = ()


def best_shares(problem: Problem) -> Routing:
    """Finds the shares for the present consumers of the topics."""
    balanced, utilisation = _balanced(problem.network)
    if utilisation >= 1.0 - _STABLE_MARGIN:
        return _overloaded(problem, balanced)
    best: tuple[float, Shares] = (np.inf, balanced)
    for start in _starts(problem.network, balanced):
        found = _descended(problem, start)
        best = min(best, found, key=lambda each: each[0])
    wip, shares = best
    return Routing(with_shares(problem.network, shares), _plain(shares), wip, feasible=True)


def with_shares(network: JobNetwork, shares: Shares) -> JobNetwork:
    jobs = [
        replace(
            job,
            routes=tuple(
                replace(route, share=float(share))
                for route, share in zip(job.routes, own, strict=True)
            ),
        )
        for job, own in zip(network.jobs, shares, strict=True)
    ]
    return replace(network, jobs=tuple(jobs))


def _starts(network: JobNetwork, balanced: Shares) -> Iterator[Shares]:
    yield balanced
    yield tuple(np.array([route.share for route in job.routes]) for job in network.jobs)
    yield tuple(np.full(len(job.routes), 1.0 / len(job.routes)) for job in network.jobs)


def _wip(problem: Problem, shares: Shares) -> float:
    changed = replace(problem, network=with_shares(problem.network, shares))
    return float(WorkInProgress(changed).wip(problem.start))


def _descended(problem: Problem, start: Shares) -> tuple[float, Shares]:
    shares, wip = start, _wip(problem, start)
    if not np.isfinite(wip):
        return wip, shares
    for _ in range(ROUNDS_MAX):
        before = wip
        for job, one, other in _pairs(shares):
            wip, shares = _moved(problem, shares, wip, job, one, other)
        if before - wip <= _GAIN_MIN * before:
            break
    return wip, shares


def _pairs(shares: Shares) -> Iterator[tuple[int, int, int]]:
    for job, own in enumerate(shares):
        for one in range(len(own)):
            for other in range(one + 1, len(own)):
                yield job, one, other


def _moved(
    problem: Problem, shares: Shares, wip: float, job: int, one: int, other: int
) -> tuple[float, Shares]:
    """Finds the best division of the common share of two routes."""
    together = float(shares[job][one] + shares[job][other])
    if together == 0.0:
        return wip, shares

    def divided(part: float) -> tuple[float, Shares]:
        own = shares[job].copy()
        own[one], own[other] = part * together, (1.0 - part) * together
        changed = (*shares[:job], own, *shares[job + 1 :])
        return _wip(problem, changed), changed

    parts = np.linspace(0.0, 1.0, _LOOKS)
    looks = [divided(float(part)) for part in parts]
    place = int(np.argmin([each[0] for each in looks]))
    low, high = parts[max(place - 1, 0)], parts[min(place + 1, _LOOKS - 1)]
    best = min(looks[place], (wip, shares), key=lambda each: each[0])
    for _ in range(_NARROWINGS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        tried = divided(float(left)), divided(float(right))
        best = min(best, *tried, key=lambda each: each[0])
        low, high = (low, right) if tried[0][0] < tried[1][0] else (left, high)
    return best


def _balanced(network: JobNetwork) -> tuple[Shares, float]:
    """Finds shares that minimise the highest utilisation, by a linear programme."""
    places = network.places
    routes = [(job, route) for job in network.jobs for route in job.routes]
    busy = np.zeros((len(places), len(routes) + 1))
    for column, (job, route) in enumerate(routes):
        for task in route.tasks:
            topic = network.topics[places[task.topic]]
            busy[places[task.topic], column] += job.arrival_rate / (
                topic.service_rate * topic.consumers
            )
    busy[:, -1] = -1.0
    ones = np.zeros((len(network.jobs), len(routes) + 1))
    column = 0
    for row, job in enumerate(network.jobs):
        ones[row, column : column + len(job.routes)] = 1.0
        column += len(job.routes)
    goal = np.zeros(len(routes) + 1)
    goal[-1] = 1.0
    found = optimize.linprog(
        goal, A_ub=busy, b_ub=np.zeros(len(busy)), A_eq=ones, b_eq=np.ones(len(ones))
    )
    flat = np.clip(found.x[:-1], 0.0, 1.0)
    cuts = np.cumsum([len(job.routes) for job in network.jobs])[:-1]
    shares = tuple(np.asarray(own / own.sum()) for own in np.split(flat, cuts))
    return shares, float(found.fun)


def _overloaded(problem: Problem, shares: Shares) -> Routing:
    network = with_shares(problem.network, shares)
    progress = WorkInProgress(replace(problem, network=network))
    lacking = shortages(tuple(network.places), progress, problem.start, _STABLE_MARGIN)
    return Routing(network, _plain(shares), np.inf, feasible=False, overloaded=lacking)


def _plain(shares: Shares) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, own)) for own in shares)
