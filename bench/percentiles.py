"""Errors of approximate quantiles against the kernel: the tables of docs/explanation.

    python -m bench.percentiles [stations] [jobs] [vma] [returns] [--quick]

`stations` is GI/G/m for 1, 3 and 10 servers, loads of 0.5, 0.8 and 0.92 and scvs of 0 to 4; `jobs`
are random networks of topics with chains and forks; `vma` is its delivery time; `returns` are open
networks whose customers meet again, with visits taken as independent. An error is (approximation −
simulation) / simulation; a simulation has 10 × 1,000,000 arrivals, or a tenth with --quick.
"""

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from dovemq.models.analytic import network_measures, vma
from dovemq.models.analytic.delivery import delivery_quantile
from dovemq.models.analytic.open import OpenNetwork, OpenStation, solve_open
from dovemq.models.analytic.percentiles import GeneralStation, response_quantile
from dovemq.models.jobs import JobNetwork, JobRoute, JobTask, JobType, Topic, chain
from dovemq.models.planning.checking import network_of
from dovemq.models.simulation import SimulationRun, simulate_network, simulate_tandem
from dovemq.models.simulation.open_network import jobs_of
from dovemq.models.vma.parameters import VmaParameters

LEVELS: Final = (0.9, 0.95, 0.99)
LOADS: Final = (0.5, 0.8, 0.92)
SEED: Final = 8
NETWORKS: Final = 60
Errors = Iterator[tuple[str, str, float]]
"""A group of the table, the figure, and its relative error."""


def stations(arrivals: float) -> Errors:
    scvs = (0.0, 0.5, 1.1, 2.0, 4.0)
    cells = itertools.product((1, 3, 10), LOADS, scvs, scvs)
    for servers, load, arriving, serving in cells:
        if arriving == serving == 0.0:
            continue
        station = GeneralStation(load * servers, 1.0, servers, arriving, serving)
        found = simulate_network(network_of(station), _run(arrivals / (load * servers)))
        for level in LEVELS:
            known = found.quantile(level).mean
            yield "GI/G/m", _name(level), station.sojourn_quantile(level) / known - 1.0


def jobs(arrivals: float) -> Errors:
    rng = np.random.default_rng(SEED)
    for _ in range(NETWORKS):
        network = _random_network(rng)
        measures = network_measures(network)
        found = simulate_network(network, _run(arrivals / network.job_rate))
        for place, job in enumerate(network.jobs):
            joins = any(len(task.after) > 1 for route in job.routes for task in route.tasks)
            group = "with joins" if joins else "without joins"
            known = found.sojourn_of[job.name].mean
            yield group, "mean", float(measures.response_time[place]) / known - 1.0
            for level in LEVELS:
                known = found.quantile(level, job.name).mean
                time = float(response_quantile(measures.response, level)[place])
                yield group, _name(level), time / known - 1.0


def _random_network(rng: np.random.Generator) -> JobNetwork:
    """Four topics with loads up to 0.93, and one to three types of job."""
    names = ["A", "B", "C", "D"]
    kinds = []
    for number in range(int(rng.integers(1, 4))):
        order = [str(name) for name in rng.permutation(names)[: int(rng.integers(2, 5))]]
        tasks = chain(*order)
        if len(order) == 4 and rng.random() < 0.7:
            first, one, other, last = tasks
            branch = JobTask(other.name, other.topic, (first.name,))
            tasks = (first, one, branch, JobTask(last.name, last.topic, (one.name, other.name)))
        rate, scv = float(rng.uniform(0.5, 2.0)), float(rng.uniform(0.1, 2.5))
        kinds.append(JobType(str(number), rate, (JobRoute(tasks),), scv))
    topics = []
    for name in names:
        rate = sum(job.arrival_rate * (name in str(job.routes)) for job in kinds)
        servers, load = int(rng.integers(1, 5)), float(rng.uniform(0.3, 0.93))
        visited = sum(
            job.arrival_rate for job in kinds for task in job.routes[0].tasks if task.topic == name
        )
        speed = (visited or rate or 1.0) / servers / load
        topics.append(Topic(name, speed, float(rng.uniform(0.1, 2.5)), servers))
    return JobNetwork(tuple(topics), tuple(kinds))


def delivery(arrivals: float) -> Errors:
    services = itertools.product((1, 4, 8), (0.4, 0.7, 0.9), (0.8, 0.9, 0.95, 1.0))
    ways = itertools.product((0.0, 0.02), (None, 1.0, 3.0))
    for (threads, load, reliability), (link, timeout) in itertools.product(services, ways):
        if timeout is not None and reliability == 1.0:
            continue
        rate = 10.0 * threads * load * reliability
        model = VmaParameters(
            rate, 12.0, 10.0, threads, threads, reliability, "out", "ideal", link_delay=link
        )
        if timeout is not None:
            model = replace(model, failure="timer", visibility_timeout=timeout)
        known = vma(model)
        if float(known.early_expiry_probability) > 0.001:
            continue
        found = simulate_tandem(model, _run(arrivals / rate))
        for level in LEVELS:
            # Where the others wait for a timer there is a gap beside the share that needs one get.
            gap = timeout is not None and abs(reliability - level) < 1e-9
            time = delivery_quantile(model, known, level) / found.quantile(level).mean
            yield "vma, in the gap" if gap else "vma", _name(level), time - 1.0


def returns(arrivals: float) -> Errors:
    for name, after in (
        ("one station, 40 % return", ({"a": 0.4},)),
        ("two stations, 30 % return", ({"b": 1.0}, {"a": 0.3})),
        ("three in tandem", ({"b": 1.0}, {"c": 1.0}, {})),
        ("split and merge", ({"b": 0.5, "c": 0.5}, {"d": 1.0}, {"d": 1.0}, {})),
    ):
        for servers, load in itertools.product((1, 4), LOADS):
            network = _at_load(after, servers, load)
            known = solve_open(network)
            if known.exact_quantiles:
                continue
            found = simulate_network(jobs_of(network), _run(arrivals / known.throughput))
            for level in LEVELS:
                error = known.sojourn_quantile(level) / found.quantile(level).mean - 1.0
                yield name, _name(level), error


def _at_load(after: tuple[dict[str, float], ...], servers: int, load: float) -> OpenNetwork:
    """All stations have the load, at an arrival rate of 1."""
    names = "abcd"[: len(after)]
    routing = np.array([[each.get(name, 0.0) for name in names] for each in after])
    rates = np.linalg.inv(np.eye(len(after)) - routing)[0]
    return OpenNetwork(
        tuple(
            OpenStation(name, float(rate) / servers / load, servers, (), float(not place), then)
            for place, (name, rate, then) in enumerate(zip(names, rates, after, strict=True))
        )
    )


def _run(horizon: float) -> SimulationRun:
    return SimulationRun(horizon, warm_up=horizon / 5, replications=10, seed=SEED)


def _name(level: float) -> str:
    return f"{100 * level:g} %"


GRIDS: Final[dict[str, Callable[[float], Errors]]] = {
    "stations": stations,
    "jobs": jobs,
    "vma": delivery,
    "returns": returns,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grids", nargs="*", metavar="GRID", help=f"of {', '.join(GRIDS)}")
    parser.add_argument("--quick", action="store_true", help="a tenth of the arrivals")
    args = parser.parse_args()
    if unknown := set(args.grids) - set(GRIDS):
        sys.exit(f"{min(unknown)} is none of {', '.join(GRIDS)}")
    arrivals = 1e5 if args.quick else 1e6
    for grid in args.grids or GRIDS:
        found: dict[tuple[str, str], list[float]] = {}
        for group, figure, error in GRIDS[grid](arrivals):
            found.setdefault((group, figure), []).append(100.0 * error)
        for (group, figure), errors in found.items():
            sizes = np.abs(errors)
            print(
                f"{group}, {figure}: {len(errors)} cases, median {np.median(sizes):.2g} %, "
                f"nine of ten at most {np.quantile(sizes, 0.9):.2g} %, "
                f"all {min(errors):+.2g} … {max(errors):+.2g} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
