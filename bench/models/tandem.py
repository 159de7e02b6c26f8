"""The VMA tandem by the kernel: beside SimPy and Ciw, all of Fig. 11 of `vma`, its cost by size."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from bench.models.simulators import Measured, Queues, by_ciw, by_simpy
from bench.tables import Row
from dovemq.models.estimates import Estimate
from dovemq.models.simulation import SimulationRun, simulate_tandem
from dovemq.models.vma.parameters import PAPER, VmaParameters

QUEUES: Final = Queues(arrival_rate=30.3, service_rate=10.0, threads=5, reliability=0.99)
CONFIDENCE: Final = 0.99
PASSES: Final = 3
REPLICATIONS: Final = 10
FIGURE_THREADS: Final = range(4, 11)
FIGURE_RELIABILITIES: Final = (0.99, 0.88)
SIZES: Final = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
EVENTS_PER_SECOND: Final = 5 * QUEUES.arrival_rate

Simulator = Callable[[Queues, float, Sequence[int]], Measured | None]


def tandem_of(queues: Queues) -> VmaParameters:
    rate, threads = queues.service_rate, queues.threads
    return VmaParameters(queues.arrival_rate, rate, rate, threads, threads, queues.reliability)


def by_kernel(queues: Queues, horizon: float, seeds: Sequence[int]) -> Measured:
    run = SimulationRun(horizon, replications=len(seeds), seed=seeds[0])
    started = time.process_time()
    found = simulate_tandem(tandem_of(queues), run)
    return Measured(found.events, time.process_time() - started, found.sojourn.values)


SIMULATORS: Final[dict[str, tuple[Simulator, float]]] = {
    "kernel": (by_kernel, 60.0),
    "SimPy": (by_simpy, 1.0),
    "Ciw": (by_ciw, 0.4),
}
"""Simulators with their horizon relative to SimPy's, so that all take about as long."""


def best_of(passes: Sequence[Measured]) -> Measured:
    return max(passes, key=lambda each: each.events / each.cpu_seconds)


def compared(found: dict[str, list[Measured]]) -> list[Row]:
    """One row per simulator; the others are compared with the first."""
    ours = next(iter(found.values()))
    fastest = best_of(ours)
    rows: list[Row] = []
    for name, passes in found.items():
        best = best_of(passes)
        speed = best.events / best.cpu_seconds
        sojourns = tuple(value for each in passes for value in each.sojourns)
        estimate = Estimate(sojourns, CONFIDENCE)
        rows.append(
            {
                "simulator": name,
                "events": best.events,
                "cpu_seconds": best.cpu_seconds,
                "events_per_second": speed,
                "kernel_is_faster": fastest.events / fastest.cpu_seconds / speed,
                "mean_sojourn": estimate.mean,
                "half_width_99": estimate.half_width,
            }
        )
    return rows


def beside_others(quick: bool) -> Sequence[Row]:
    """The kernel simulates the longest; its time contains the set-up and the evaluation."""
    by_kernel(QUEUES, 10.0, [0])
    horizon = 60.0 if quick else 600.0
    found: dict[str, list[Measured]] = {}
    for number in range(PASSES):
        first = 1000 * number
        for name, (simulator, share) in SIMULATORS.items():
            seeds = range(first, first + REPLICATIONS)
            measured = simulator(QUEUES, horizon * share, seeds)
            if measured is not None:
                found.setdefault(name, []).append(measured)
    return compared(found)


def figure(quick: bool) -> Sequence[Row]:
    """14 configurations × 20 replications × 100 s, for each order; on one core and on two."""
    rows: list[Row] = []
    for order in ("out", "in"):
        for workers in (1, 2):
            run = SimulationRun(100.0, replications=20, workers=workers)
            wall, started = time.perf_counter(), time.process_time()
            events = 0
            for reliability in FIGURE_RELIABILITIES:
                for threads in FIGURE_THREADS:
                    tandem = replace(
                        PAPER,
                        sender_threads=threads,
                        broker_threads=threads,
                        reliability=reliability,
                        order="in" if order == "in" else "out",
                    )
                    events += simulate_tandem(tandem, run).events
            rows.append(
                {
                    "order": order,
                    "workers": workers,
                    "configurations": len(FIGURE_RELIABILITIES) * len(FIGURE_THREADS),
                    "events": events,
                    "seconds": time.perf_counter() - wall,
                    "cpu_seconds": time.process_time() - started,
                }
            )
    return rows


def by_events(quick: bool) -> Sequence[Row]:
    by_kernel(QUEUES, 10.0, [0])
    rows: list[Row] = []
    for size in SIZES[: -1 if quick else None]:
        measured = by_kernel(QUEUES, size / EVENTS_PER_SECOND, [size])
        rows.append(
            {
                "events": measured.events,
                "cpu_seconds": measured.cpu_seconds,
                "ns_per_event": measured.cpu_seconds / measured.events * 1e9,
            }
        )
    return rows
