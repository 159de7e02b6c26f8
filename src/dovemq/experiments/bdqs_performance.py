"""bdqs-fig4 and bdqs-fig5: throughput and response time by load and size, measured on one to three
servers and simulated up to 70 with the costs that were measured."""

import asyncio
import contextlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovemq.experiments.bdqs_costs import PhaseCosts, measured_costs, model_of
from dovemq.experiments.bdqs_runs import (
    RUNS,
    RUNS_QUICK,
    BdqsRun,
    BdqsWorkload,
    mean_of,
    run_bdqs,
)
from dovemq.experiments.bdqs_service import bdqs_database, bdqs_servers, limited
from dovemq.experiments.figure import Effort
from dovemq.models.estimates import Estimate, Interval
from dovemq.models.simulation.servers import (
    RequestCost,
    ServersFigures,
    ServersModel,
    simulate_servers,
)

SERVERS_SIMULATED: Final = (10, 20, 30, 50, 70)
QUEUES_SIMULATED: Final = (20, 60, 100, 200, 400, 600, 800, 1_000)
COST_QUEUES: Final = 4
"""Queues of the runs that measure the cost of a message, on servers without a limit."""
SHARE: Final = 0.25
"""The share of a core of a server, so that three of them and their clients fit on two cores."""
MESSAGES_QUICK: Final = 10
CYCLES: Final = 20_000
CYCLES_OF_A_CLIENT: Final = 10
"""A simulation has at least so many cycles, in all and of each client."""
THREADS: Final = 3
SEND: Final = "send"
RECEIVE: Final = "receive+delete"
PHASES: Final = (SEND, RECEIVE)


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """`delay_s` is both δ_send and δ_recv."""

    servers: int
    queues: int
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class LoadGrid:
    """The points that are measured: every combination."""

    servers: tuple[int, ...]
    queues: tuple[int, ...]
    delays_s: tuple[float, ...] = (0.0,)

    def points(self, servers: int) -> list[LoadPoint]:
        return [
            LoadPoint(servers, queues, delay_s)
            for queues, delay_s in itertools.product(self.queues, self.delays_s)
        ]


@dataclass(frozen=True, slots=True)
class ServersMeasured:
    """Runs by point, and costs by the number of servers, one for each round."""

    runs: Mapping[LoadPoint, Sequence[BdqsRun]]
    costs: Mapping[int, Sequence[PhaseCosts]]
    limit: str

    def cost(self, servers: int, phase: str) -> tuple[RequestCost, RequestCost, RequestCost]:
        """The mean cost of a message, and the bounds of its 95 % interval."""
        each = [
            costs.send if phase == SEND else costs.receive
            for costs in self.costs[min(servers, max(self.costs))]
        ]
        parts = [
            Estimate(tuple(getattr(cost, name) for cost in each)).interval
            for name in ("front_end", "storage")
        ]
        return tuple(  # type: ignore[return-value]
            RequestCost(*(max(getattr(part, name), 0.1 * part.mean) for part in parts))
            for name in ("mean", "low", "high")
        )

    def only(self, grid: LoadGrid) -> "ServersMeasured":
        """The runs at the points of a grid, and the costs of its servers."""
        kept = [point for count in grid.servers for point in grid.points(count)]
        return ServersMeasured(
            {point: self.runs[point] for point in kept},
            {count: self.costs[count] for count in grid.servers},
            self.limit,
        )

    def rate(self, point: LoadPoint, phase: str) -> Interval:
        name = "send_rate" if phase == SEND else "receive_rate"
        return mean_of(self.runs[point], name)

    def response(self, point: LoadPoint, phase: str) -> Interval:
        name = "send_time" if phase == SEND else "receive_time"
        return mean_of(self.runs[point], name)


def points_of(grids: Sequence[LoadGrid]) -> dict[int, list[LoadPoint]]:
    """The points of all grids by the number of servers, each once."""
    counts = sorted({count for grid in grids for count in grid.servers})
    return {
        count: list(
            dict.fromkeys(
                point for grid in grids if count in grid.servers for point in grid.points(count)
            )
        )
        for count in counts
    }


def measure(effort: Effort, *grids: LoadGrid) -> ServersMeasured:
    """Each number of servers has a cluster of its own; RF is 3, or their number if that is less."""
    quick = effort.quick
    rounds = RUNS_QUICK if quick else RUNS
    runs: dict[LoadPoint, list[BdqsRun]] = {}
    costs: dict[int, list[PhaseCosts]] = {}
    limit = ""
    for count, points in points_of(grids).items():
        with contextlib.ExitStack() as ending:
            effort.tell(f"{count} servers start")
            database = ending.enter_context(bdqs_database(count))
            servers = ending.enter_context(bdqs_servers(database, "one"))
            for number in range(rounds):
                effort.tell(f"{count} servers, costs, round {number + 1}/{rounds}")
                workload = BdqsWorkload(queues=COST_QUEUES, messages=_messages(quick=quick))
                # Compiles the paths of the virtual machine, and does not count.
                name = f"f4-{count}-r{number}"
                asyncio.run(run_bdqs(servers.endpoints, f"{name}-warm", workload, effort.seed))
                found = asyncio.run(measured_costs(servers, f"{name}-costs", workload, number))
                costs.setdefault(count, []).append(found)
            limit = ending.enter_context(limited(servers, SHARE))
            for number, (place, point) in itertools.product(range(rounds), enumerate(points)):
                effort.tell(
                    f"{count} servers, round {number + 1}/{rounds}, {point.queues} queues, "
                    f"δ = {point.delay_s:g} s"
                )
                workload = BdqsWorkload(
                    queues=point.queues,
                    messages=_messages(quick=quick),
                    send_delay_s=point.delay_s,
                    work_s=point.delay_s,
                )
                seed = effort.seed + 1_000 * number + place
                run = asyncio.run(
                    run_bdqs(servers.endpoints, f"f4-{count}-{place}-r{number}", workload, seed)
                )
                runs.setdefault(point, []).append(run)
    return ServersMeasured(runs, costs, limit)


def _messages(*, quick: bool) -> int:
    return MESSAGES_QUICK if quick else 100


@dataclass(frozen=True, slots=True)
class Simulated:
    """Figures with the mean cost, and with the bounds of its interval: the band."""

    middle: ServersFigures
    cheap: ServersFigures
    dear: ServersFigures

    @property
    def rate(self) -> Interval:
        return Interval(self.middle.rate, self.dear.rate, self.cheap.rate)

    @property
    def response(self) -> Interval:
        return Interval(self.middle.response, self.cheap.response, self.dear.response)


def simulated(measured: ServersMeasured, point: LoadPoint, phase: str, seed: int) -> Simulated:
    """The same point with the costs of its number of servers, or of the most that were measured."""
    middle, cheap, dear = (
        _figures(model_of(cost, point.servers, point.queues, THREADS, SHARE, point.delay_s), seed)
        for cost in measured.cost(point.servers, phase)
    )
    return Simulated(middle, cheap, dear)


def _figures(model: ServersModel, seed: int) -> ServersFigures:
    """Enough cycles that each client takes part several times."""
    return simulate_servers(model, max(CYCLES, CYCLES_OF_A_CLIENT * model.clients), seed)
