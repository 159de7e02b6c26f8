"""SimPy and Ciw: where they are installed, and the tandem and a network in the style of each."""

import importlib
import importlib.util
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "models"
VERSIONS: Final = {"simpy": "4.1.2", "ciw": "3.2.7", "snakes": "0.9.33"}
_INSTALL_SECONDS_MAX: Final = 300


class Measured(Struct, frozen=True):
    """`sojourns` are means, one per replication."""

    events: int
    cpu_seconds: float
    sojourns: tuple[float, ...]


class Queues(Struct, frozen=True):
    """The tandem with exponential times; rates are per second."""

    arrival_rate: float
    service_rate: float
    threads: int
    reliability: float


def install() -> None:
    wanted = [f"{name}=={version}" for name, version in VERSIONS.items()]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(CACHE), *wanted]
    subprocess.run(command, check=True, timeout=_INSTALL_SECONDS_MAX)


def module(name: str) -> Any | None:
    """None if it is not installed. The cache is last on the path, so that our own numpy is used."""
    if CACHE.exists() and str(CACHE) not in sys.path:
        sys.path.append(str(CACHE))
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


class _SimpyRun:
    """One replication with its counts."""

    def __init__(self, simpy: Any, queues: Queues, seed: int) -> None:
        self.env = simpy.Environment()
        self.queues = queues
        self.rng = random.Random(seed)
        self.sender = simpy.Resource(self.env, queues.threads)
        self.broker = simpy.Resource(self.env, queues.threads)
        self.events = self.received = 0
        self.sojourns = 0.0
        self.env.process(self.produce())

    def produce(self) -> Iterator[Any]:
        while True:
            yield self.env.timeout(self.rng.expovariate(self.queues.arrival_rate))
            self.events += 1
            self.env.process(self.message())

    def message(self) -> Iterator[Any]:
        arrived = self.env.now
        with self.sender.request() as thread:
            yield thread
            self.events += 1
            yield self.env.timeout(self.rng.expovariate(self.queues.service_rate))
            self.events += 1
        lost = True
        while lost:
            with self.broker.request() as thread:
                yield thread
                self.events += 1
                yield self.env.timeout(self.rng.expovariate(self.queues.service_rate))
                self.events += 1
            lost = self.rng.random() >= self.queues.reliability
        self.received += 1
        self.sojourns += self.env.now - arrived


def by_simpy(queues: Queues, horizon: float, seeds: Sequence[int]) -> Measured | None:
    simpy = module("simpy")
    if simpy is None:
        return None
    runs = [_SimpyRun(simpy, queues, seed) for seed in seeds]
    started = time.process_time()
    for run in runs:
        run.env.run(until=horizon)
    spent = time.process_time() - started
    means = tuple(run.sojourns / run.received for run in runs)
    return Measured(sum(run.events for run in runs), spent, means)


def by_ciw(queues: Queues, horizon: float, seeds: Sequence[int]) -> Measured | None:
    ciw = module("ciw")
    if ciw is None:
        return None
    service = ciw.dists.Exponential(rate=queues.service_rate)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=queues.arrival_rate), None],
        service_distributions=[service, service],
        number_of_servers=[queues.threads, queues.threads],
        routing=[[0.0, 1.0], [0.0, 1.0 - queues.reliability]],
    )
    spent, events, means = 0.0, 0, []
    for seed in seeds:
        ciw.seed(seed)
        simulation = ciw.Simulation(network)
        started = time.process_time()
        simulation.simulate_until_max_time(horizon)
        spent += time.process_time() - started
        records = simulation.get_all_records()
        arrived: dict[int, float] = {}
        left: dict[int, float] = {}
        for record in records:
            number = record.id_number
            arrived[number] = min(record.arrival_date, arrived.get(number, record.arrival_date))
            if record.destination == -1:
                left[number] = record.exit_date
        # A record is one finished service: its start and its end.
        events += len(arrived) + 2 * len(records)
        means.append(sum(left[number] - arrived[number] for number in left) / len(left))
    return Measured(events, spent, tuple(means))


class Graph(Struct, frozen=True):
    """Stations as (servers, mean service), types as (rate, tasks); a task is (station, after)."""

    stations: tuple[tuple[int, float], ...]
    types: tuple[tuple[float, tuple[tuple[int, tuple[int, ...]], ...]], ...]


class _SimpyGraph:
    """One replication of jobs that split and join, with its counts."""

    def __init__(self, simpy: Any, graph: Graph, seed: int) -> None:
        self.env = simpy.Environment()
        self.rng = random.Random(seed)
        self.stations = [
            (simpy.Resource(self.env, servers), mean) for servers, mean in graph.stations
        ]
        self.events = self.done = 0
        self.sojourns = 0.0
        for rate, tasks in graph.types:
            self.env.process(self.produce(rate, tasks))

    def produce(self, rate: float, tasks: Sequence[tuple[int, Sequence[int]]]) -> Iterator[Any]:
        while True:
            yield self.env.timeout(self.rng.expovariate(rate))
            self.events += 1
            self.env.process(self.job(tasks))

    def job(self, tasks: Sequence[tuple[int, Sequence[int]]]) -> Iterator[Any]:
        arrived = self.env.now
        under_way: list[Any] = []
        for station, after in tasks:
            before = [under_way[place] for place in after]
            under_way.append(self.env.process(self.task(station, before)))
        yield self.env.all_of(under_way)
        self.done += 1
        self.sojourns += self.env.now - arrived

    def task(self, station: int, before: Sequence[Any]) -> Iterator[Any]:
        if before:
            yield self.env.all_of(before)
        servers, mean = self.stations[station]
        with servers.request() as server:
            yield server
            self.events += 1
            yield self.env.timeout(self.rng.expovariate(1 / mean))
            self.events += 1


def graph_by_simpy(graph: Graph, horizon: float, seeds: Sequence[int]) -> Measured | None:
    simpy = module("simpy")
    if simpy is None:
        return None
    runs = [_SimpyGraph(simpy, graph, seed) for seed in seeds]
    started = time.process_time()
    for run in runs:
        run.env.run(until=horizon)
    spent = time.process_time() - started
    means = tuple(run.sojourns / run.done for run in runs)
    return Measured(sum(run.events for run in runs), spent, means)
