"""The case study of `elastic`, random networks, and two plain oracles for them.

`iterated_scvs` applies eq. 3–6 over and over, visit by visit. `job_times` follows every task of
every job through first-come first-served topics, event by event.
"""

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, JobType, Topic, chain
from tests.models.chains import Floats

TOPICS = (
    Topic("A", 4.2, 0.33),
    Topic("B", 3.7, 0.5),
    Topic("C", 6.7, 0.4),
    Topic("D", 5.1, 0.5),
)
HEAVY = (3.0, 3.5, 3.0)


def paper_network(
    rates: Sequence[float] = HEAVY, consumers: Sequence[int] = (1, 1, 1, 1)
) -> JobNetwork:
    topics = tuple(
        Topic(topic.name, topic.service_rate, topic.service_scv, count)
        for topic, count in zip(TOPICS, consumers, strict=True)
    )
    chains = (("A", "B", "D"), ("A", "D", "D"), ("C", "D"))
    jobs = tuple(
        JobType(str(number), rate, (JobRoute(chain(*names)),), scv)
        for number, rate, names, scv in zip(
            (1, 2, 3), rates, chains, (0.33, 0.5, 0.25), strict=True
        )
    )
    return JobNetwork(topics, jobs)


def random_network(rng: np.random.Generator, topics: int = 4, jobs: int = 3) -> JobNetwork:
    """Chains and forks over topics by chance; each topic with one consumer."""
    names = [f"t{place}" for place in range(topics)]
    made = tuple(
        Topic(name, float(rng.uniform(1, 5)), float(rng.uniform(0.1, 2.5))) for name in names
    )
    types = []
    for number in range(jobs):
        visited = [str(name) for name in rng.choice(names, rng.integers(1, 5))]
        tasks = chain(*visited) if rng.random() < 0.6 else _fork(visited)
        types.append(
            JobType(
                f"j{number}",
                float(rng.uniform(0.2, 2.0)),
                (JobRoute(tasks),),
                float(rng.uniform(0.1, 2.5)),
            )
        )
    return JobNetwork(made, tuple(types))


def _fork(visited: Sequence[str]) -> tuple[JobTask, ...]:
    """The first, then all others side by side, then the first again."""
    middle = tuple(JobTask(f"m{n}", topic, ("head",)) for n, topic in enumerate(visited[1:]))
    after = tuple(task.name for task in middle) or ("head",)
    return (JobTask("head", visited[0]), *middle, JobTask("tail", visited[0], after))


def iterated_scvs(network: JobNetwork, consumers: Sequence[int], rounds: int = 2_000) -> Floats:
    places = {topic.name: place for place, topic in enumerate(network.topics)}
    visits = [
        (job, route, task) for job in network.jobs for route in job.routes for task in route.tasks
    ]
    rate_of = {
        (id(job), id(route), task.name): job.arrival_rate * route.share
        for job, route, task in visits
    }
    rates = np.zeros(len(places))
    for job, route, task in visits:
        rates[places[task.topic]] += rate_of[id(job), id(route), task.name]
    arriving = dict.fromkeys(rate_of, 1.0)
    leaving = dict.fromkeys(rate_of, 1.0)
    merged = np.ones(len(places))
    for _ in range(rounds):
        merged = np.zeros(len(places))
        for job, route, task in visits:
            key = (id(job), id(route), task.name)
            sources = [leaving[id(job), id(route), name] for name in task.after]
            outside = route.share * job.arrival_scv + 1 - route.share
            arriving[key] = sum(sources) / len(sources) if sources else outside
            merged[places[task.topic]] += rate_of[key] / rates[places[task.topic]] * arriving[key]
        for job, route, task in visits:
            key = (id(job), id(route), task.name)
            place = places[task.topic]
            topic, count = network.topics[place], consumers[place]
            busy = min(rates[place] / (topic.service_rate * count), 1.0)
            departed = (
                1
                + (1 - busy**2) * (merged[place] - 1)
                + busy**2 / np.sqrt(count) * (topic.service_scv - 1)
            )
            share = rate_of[key] / rates[place]
            leaving[key] = share * departed + (1 - share) * (share + (1 - share) * arriving[key])
    return merged


def job_times(
    network: JobNetwork, jobs: int, rng: np.random.Generator
) -> Mapping[str, list[float]]:
    """Response times by job type, of gamma arrivals and services; the first tenth is left out."""
    topics = {topic.name: topic for topic in network.topics}
    free = {topic.name: topic.consumers for topic in network.topics}
    lines: dict[str, list[tuple[int, str]]] = defaultdict(list)
    waiting_for: dict[tuple[int, str], int] = {}
    left: dict[int, int] = {}
    started: dict[int, tuple[str, float, Sequence[JobTask]]] = {}
    order = itertools.count()
    events: list[tuple[float, int, str, int, str]] = []
    for number, (at, job) in enumerate(_arrivals(network, jobs, rng)):
        tasks = job.routes[0].tasks
        started[number] = (job.name, at, tasks)
        left[number] = len(tasks)
        for task in tasks:
            waiting_for[number, task.name] = len(task.after)
            if not task.after:
                heapq.heappush(events, (at, next(order), "come", number, task.name))
    times: dict[str, list[float]] = defaultdict(list)
    while events:
        now, _, what, number, name = heapq.heappop(events)
        following = started[number][2]
        task = next(each for each in following if each.name == name)
        if what == "come":
            lines[task.topic].append((number, name))
        else:
            free[task.topic] += 1
            left[number] -= 1
            if not left[number]:
                times[started[number][0]].append(now - started[number][1])
            for other in following:
                if name in other.after:
                    waiting_for[number, other.name] -= 1
                    if not waiting_for[number, other.name]:
                        heapq.heappush(events, (now, next(order), "come", number, other.name))
        topic = topics[task.topic]
        while free[task.topic] and lines[task.topic]:
            first, which = lines[task.topic].pop(0)
            free[task.topic] -= 1
            end = now + _time(rng, topic.service_rate, topic.service_scv)
            heapq.heappush(events, (end, next(order), "end", first, which))
    return {name: found[len(found) // 10 :] for name, found in times.items()}


def _arrivals(
    network: JobNetwork, jobs: int, rng: np.random.Generator
) -> Iterator[tuple[float, JobType]]:
    total = sum(job.arrival_rate for job in network.jobs)
    streams = []
    for job in network.jobs:
        count = int(jobs * job.arrival_rate / total)
        gaps = [_time(rng, job.arrival_rate, job.arrival_scv) for _ in range(count)]
        streams.append([(float(at), job) for at in np.cumsum(gaps)])
    yield from heapq.merge(*streams, key=lambda each: each[0])


def _time(rng: np.random.Generator, rate: float, scv: float) -> float:
    return float(rng.gamma(1 / scv, scv / rate))
