"""The points of rds-fig14, each a method at a rate of requests, and what was measured at them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dovemq.experiments.rds_clients import RdsLoad, RdsRun
from dovemq.fabric.dequeue import summarise
from dovemq.fabric.dequeue.costs import DequeueSummary, DequeueUnitCosts
from dovemq.inprocess.options import QueueOptions
from dovemq.models.estimates import Estimate, Interval

PARTITIONS: Final = 10
CONTROLLERS: Final = 10
OWNERS: Final = 5
CPU_SHARE: Final = 0.1
"""The share of a core of each owner: together half of one of this machine's cores."""
REQUEST_RATES: Final = (10.0, 20.0, 50.0, 100.0, 150.0, 200.0)
RATES_FEW: Final = (10.0, 100.0, 200.0)
HIGHEST: Final = 200.0
SLEEPS_S: Final = (0.05, 0.1, 0.5, 1.0, 2.0)
GOOD_SLEEPS_S: Final = (0.1, 0.5)
LONG_SLEEP_S: Final = 2.0
PAPER_SLEEP_S: Final = 0.1
CONVENTIONAL: Final = "conventional"
RUNS: Final = 3
RUNS_QUICK: Final = 2
SECONDS_QUICK: Final = 2.0
RATES_QUICK: Final = (10.0, HIGHEST)
SLEEPS_QUICK: Final = (0.1, 2.0)
EMPTY_LOOKS_MAX: Final = 100
EMPTY_LOOK_S: Final = 0.1
"""Looks at the queue before a run, until what the last one has left is purged."""
BLOCKED: Final = "parked blocks"
OPEN: Final = "open"
WAITING: Final = "waiting"
CONNECTIONS: Final = 10
"""Requests of a consumer under way: with λ = 200, enough for answers that take 50 ms."""


def method_of(sleep_s: float) -> str:
    return f"rds, sleep {sleep_s:g} s"


@dataclass(frozen=True, slots=True)
class ServicePoint:
    """One place of the figure: the reading of the requests, the method and the rate."""

    loop: str
    method: str
    rate: float

    @property
    def options(self) -> QueueOptions:
        """The settings of the queue."""
        if self.method == CONVENTIONAL:
            return {"dequeue_strategy": CONVENTIONAL}
        sleep_s = next(each for each in SLEEPS_S if method_of(each) == self.method)
        sleep_ms = round(1_000 * sleep_s)
        return {"dequeue_strategy": "rds", "rds_sleep_ms": sleep_ms, "rds_wake": "timer"}

    def load(self, usual: RdsLoad) -> RdsLoad:
        return replace(
            usual,
            rate=self.rate,
            connections=1 if self.loop == WAITING else CONNECTIONS,
            parked_blocks=self.loop == BLOCKED,
        )


def plan(*, quick: bool) -> list[ServicePoint]:
    """All points. Methods change fastest, so that a slow hour of the machine hits all alike."""
    rates, few, sleeps = (
        (RATES_QUICK, RATES_QUICK, SLEEPS_QUICK) if quick else (REQUEST_RATES, RATES_FEW, SLEEPS_S)
    )
    shapes = (
        (BLOCKED, rates, sleeps),
        (OPEN, few, SLEEPS_QUICK),
        (WAITING, few, (PAPER_SLEEP_S,)),
    )
    return [
        ServicePoint(loop, method, rate)
        for loop, its_rates, its_sleeps in shapes
        for rate in its_rates
        for method in (CONVENTIONAL, *map(method_of, its_sleeps))
    ]


@dataclass(frozen=True, slots=True)
class RdsMeasured:
    """All runs of each point, the unit costs of the owners, and how their CPU was limited."""

    runs: Mapping[ServicePoint, Sequence[RdsRun]]
    costs: DequeueUnitCosts
    limit: str

    def throughputs(self, loop: str, method: str) -> dict[float, Interval]:
        """Messages a second by rate."""
        return {
            point.rate: Estimate(tuple(run.throughput for run in runs)).interval
            for point, runs in self.runs.items()
            if (point.loop, point.method) == (loop, method)
        }

    def ratio(self, one: ServicePoint, other: ServicePoint) -> Interval:
        """The quotient of the throughputs in each round, whose runs followed each other: slow
        minutes of the machine hit both."""
        pairs = zip(self.runs[one], self.runs[other], strict=True)
        quotients = (mine.throughput / max(theirs.throughput, 1e-9) for mine, theirs in pairs)
        return Estimate(tuple(quotients)).interval

    def per_second(self, point: ServicePoint, value: Callable[[RdsRun], float]) -> float:
        """The mean over the runs of a point."""
        runs = self.runs[point]
        return sum(value(run) / run.seconds for run in runs) / len(runs)

    def methods(self, loop: str) -> list[str]:
        return list(dict.fromkeys(point.method for point in self.runs if point.loop == loop))

    def terms(self, point: ServicePoint) -> list[DequeueSummary]:
        return [summarise(run.counts, self.costs) for run in self.runs[point]]
