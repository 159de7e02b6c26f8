"""bdqs-fig7 and bdqs-fig8: performance and consistency while clients, network and servers fail."""

import asyncio
import contextlib
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from dovemq.experiments.bdqs_runs import (
    LEASE_SECONDS,
    MESSAGES_QUICK,
    RUNS,
    RUNS_QUICK,
    BdqsRun,
    BdqsWorkload,
    mean_of,
    run_bdqs,
    run_columns,
)
from dovemq.experiments.bdqs_service import (
    SERVERS_PAPER,
    BdqsServers,
    bdqs_database,
    bdqs_servers,
)
from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, Verdict
from dovemq.experiments.intervals import ratio
from dovemq.models.estimates import Interval

NODES: Final = 3
CHANCES: Final = (0.0001, 0.001, 0.01, 0.1)
CHANCES_QUICK: Final = (0.001, 0.1)
NETWORK: Final = "network"
CLIENT: Final = "client"
KINDS: Final = (NETWORK, CLIENT)
CHANCE_QUEUES: Final = 2
MTTFS_S: Final = (100.0, 1_000.0, 10_000.0)
MTTFS_QUICK_S: Final = (100.0, 10_000.0)
MTTR_S: Final = 10.0
SCALE: Final = 2
"""Figure 8 runs so many times as fast as printed: failures, pauses, work and leases."""
STORES: Final[Mapping[str, tuple[str, str]]] = {
    "none, R = W = 1": ("none", "one"),
    "none, quorum": ("none", "quorum"),
    "serial": ("serial", "quorum"),
}
"""The ways to store of figure 8: the coordination, and the consistency of the store."""
SEND_DELAY_S: Final = 0.5
WORK_S: Final = 2.0
SLIGHT: Final = 0.8
"""Performance that is at least this share of that without failures has degraded slightly."""
MEASURES: Final[Mapping[str, str]] = {
    "send_rate": "messages sent/s",
    "receive_rate": "messages received and deleted/s",
    "receive_time": "response time of a receive, s",
    "duplication_rate": "duplicates per message",
    "out_of_order_rate": "share out of order",
    "average_displacement": "mean displacement",
}


@dataclass(frozen=True, slots=True)
class FaultPoint:
    """One place of a figure: a curve and its x, the probability or the mean time to failure."""

    series: str
    x: float


FaultRuns = Mapping[FaultPoint, Sequence[BdqsRun]]


def client_and_network(effort: Effort) -> Figure:
    with bdqs_database(NODES) as database, bdqs_servers(database, "one") as servers:
        return chance_figure(asyncio.run(_by_chance(servers, effort)), quick=effort.quick)


async def _by_chance(servers: BdqsServers, effort: Effort) -> FaultRuns:
    chances = CHANCES_QUICK if effort.quick else CHANCES
    points = [FaultPoint(kind, chance) for chance in (0.0, *chances) for kind in KINDS]
    usual = BdqsWorkload(queues=CHANCE_QUEUES)
    if effort.quick:
        usual = usual.smaller()
    found: dict[FaultPoint, list[BdqsRun]] = {}
    rounds = RUNS_QUICK if effort.quick else RUNS
    # Compiles the paths of the virtual machines, which are several times slower before.
    await run_bdqs(servers.endpoints, "f7-warm", usual, effort.seed)
    for number in range(rounds):
        drawn = list(enumerate(points))
        random.Random(f"{effort.seed}/{number}").shuffle(drawn)
        for place, point in drawn:
            effort.tell(f"round {number + 1}/{rounds}, {point.series}, p = {point.x:g}")
            workload = _failing(usual, point)
            seed = effort.seed + 1_000 * number + place
            run = await run_bdqs(servers.endpoints, f"f7-{place}-r{number}", workload, seed)
            found.setdefault(point, []).append(run)
    return found


def _failing(workload: BdqsWorkload, point: FaultPoint) -> BdqsWorkload:
    if point.series == NETWORK:
        return replace(workload, network=point.x)
    return replace(workload, client=point.x)


def chance_figure(found: FaultRuns, *, quick: bool) -> Figure:
    found = _in_order(found)
    messages = MESSAGES_QUICK if quick else 100
    runs = len(next(iter(found.values())))
    return Figure(
        "Performance and consistency under network and client failures (bdqs, fig. 7); "
        f"N = {NODES}, Q = {CHANCE_QUEUES}, m = {messages}",
        _columns(found, "probability"),
        tuple(_panels(found, "probability of a failure, p")),
        tuple(chance_claims(found)),
        (
            f"N = {NODES} servers instead of {SERVERS_PAPER}, Q = {CHANCE_QUEUES} queues instead "
            f"of 400, {runs} runs. T_send = 3, m = {messages}, L = 2 KB, δ_send = δ_recv = 0, "
            "K = 1, R = W = 1, T_vto = 10 s. The paper does not give T_recv: 3.",
            "Network: a proxy drops a request or its answer, each with p / 2. A client repeats a "
            "send whose answer was lost, as the paper's library must: both may have been stored.",
            "Points come in a random order in each run, after one run that does not count. Those "
            "with p = 0 and those of clients have no proxy.",
            "Client: a receiver quits after a receive, before it deletes, with probability p.",
            _lost(found),
        ),
    )


def chance_claims(found: FaultRuns) -> Iterator[Verdict]:
    chances = sorted({point.x for point in found})
    worst, rare = chances[-1], chances[1:-1]
    for kind in KINDS:
        calm = FaultPoint(kind, 0.0)
        yield judge(
            f"performance degrades slightly at a failure rate of 10 % ({kind})",
            "messages sent/s at p = 0.1 / at p = 0",
            [
                ratio(
                    mean_of(found[FaultPoint(kind, worst)], "send_rate"),
                    mean_of(found[calm], "send_rate"),
                )
            ],
            least=SLIGHT,
        )
        yield judge(
            f"consistency degrades at a failure rate of 10 % ({kind})",
            "mean displacement at p = 0.1 minus at p = 0",
            [_apart(found, FaultPoint(kind, worst), calm, "average_displacement")],
            least=0.0,
        )
        yield judge(
            f"consistency stays about the same at lower failure rates ({kind})",
            "duplicates per message minus those at p = 0",
            [_apart(found, FaultPoint(kind, each), calm, "duplication_rate") for each in rare],
            least=-0.05,
            most=0.05,
        )
    yield _no_loss(found)


def servers_fail(effort: Effort) -> Figure:
    with contextlib.ExitStack() as ending:
        database = ending.enter_context(bdqs_database(NODES))
        stores = {
            consistency: ending.enter_context(bdqs_servers(database, consistency))
            for consistency in dict.fromkeys(each for _, each in STORES.values())
        }
        found, failures = asyncio.run(_by_mttf(stores, effort))
    return mttf_figure(found, failures, quick=effort.quick)


async def _by_mttf(
    stores: Mapping[str, BdqsServers], effort: Effort
) -> tuple[FaultRuns, Mapping[float, Sequence[float]]]:
    """The three ways to store at once, so that they meet the same failures."""
    times = MTTFS_QUICK_S if effort.quick else MTTFS_S
    workload = BdqsWorkload(
        send_delay_s=SEND_DELAY_S / SCALE, work_s=WORK_S / SCALE, lease_s=LEASE_SECONDS // SCALE
    )
    if effort.quick:
        workload = workload.smaller()
    found: dict[FaultPoint, list[BdqsRun]] = {}
    failures: dict[float, list[float]] = {each: [] for each in times}
    rounds = RUNS_QUICK if effort.quick else RUNS
    for number in range(rounds):
        for place, mttf_s in enumerate(times):
            effort.tell(f"round {number + 1}/{rounds}, MTTF = {mttf_s:g} s")
            seed = effort.seed + 1_000 * number + place
            troubles = ServerTroubles(list(stores.values()), mttf_s / SCALE, seed)
            async with troubles:
                runs = await asyncio.gather(
                    *(
                        run_bdqs(
                            stores[consistency].endpoints,
                            f"f8-{place}-r{number}-{coordination}-{consistency}",
                            replace(workload, coordination=coordination),
                            seed,
                        )
                        for coordination, consistency in STORES.values()
                    )
                )
            failures[mttf_s] += troubles.down_s
            for series, run in zip(STORES, runs, strict=True):
                found.setdefault(FaultPoint(series, mttf_s), []).append(run)
    return found, failures


class FailingNodes(Protocol):
    def kill(self, node: int) -> None: ...


class FailingServers(Protocol):
    """Servers that fail, such as `BdqsServers`."""

    @property
    def database(self) -> FailingNodes: ...

    def kill_front_end(self, number: int) -> None: ...

    def start_node(self, number: int) -> None: ...

    def start_front_end(self, number: int) -> None: ...


class ServerTroubles:
    """Servers that fail and recover while the block runs; afterwards all of them run.

    `down_s` are the times from each failure until the server serves again.
    """

    def __init__(self, stores: Sequence[FailingServers], mttf_s: float, seed: int) -> None:
        self._stores = stores
        self._mttf_s = mttf_s
        self._rngs = [random.Random(f"{seed}/{number}") for number in range(NODES)]
        self._tasks: list[asyncio.Task[None]] = []
        self._over = asyncio.Event()
        self.down_s: list[float] = []

    async def __aenter__(self) -> None:
        self._tasks = [
            asyncio.create_task(self._fail(number, rng)) for number, rng in enumerate(self._rngs)
        ]

    async def __aexit__(self, *error: object) -> None:
        # A server that is down comes back first: the next run needs it.
        self._over.set()
        await asyncio.gather(*self._tasks)

    async def _fail(self, number: int, rng: random.Random) -> None:
        while not await self._is_over_within(rng.expovariate(1.0 / self._mttf_s)):
            began_s = time.monotonic()
            for store in self._stores:
                store.kill_front_end(number)
            await asyncio.to_thread(self._stores[0].database.kill, number)
            await self._is_over_within(MTTR_S / SCALE)
            await asyncio.to_thread(self._start, number)
            self.down_s.append(time.monotonic() - began_s)

    async def _is_over_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)
        return self._over.is_set()

    def _start(self, number: int) -> None:
        self._stores[0].start_node(number)
        for store in self._stores:
            store.start_front_end(number)


def mttf_figure(
    found: FaultRuns, failures: Mapping[float, Sequence[float]], *, quick: bool
) -> Figure:
    found = _in_order(found)
    messages = MESSAGES_QUICK if quick else 100
    runs = len(next(iter(found.values())))
    fired = ", ".join(f"{len(down)} at {mttf:g} s" for mttf, down in failures.items())
    down_s = [each for down in failures.values() for each in down]
    took = f"{sum(down_s) / len(down_s):.0f} s in the mean" if down_s else "none"
    return Figure(
        "Performance and consistency while servers fail (bdqs, fig. 8); "
        f"N = {NODES}, Q = 1, m = {messages}, {SCALE} times as fast",
        _columns(found, "mttf_s"),
        tuple(_panels(found, "mean time to failure of a server, s")),
        tuple(mttf_claims(found)),
        (
            f"N = {NODES} servers instead of {SERVERS_PAPER}, Q = 1 queue for each curve instead "
            f"of 200, {runs} runs. T_send = T_recv = 3, m = {messages}, L = 2 KB, "
            f"δ_send = {SEND_DELAY_S:g} s, δ_recv = {WORK_S:g} s, K = 1, T_vto = 10 s.",
            f"Everything runs {SCALE} times as fast as that: pauses, work, leases and times to "
            f"failures are 1/{SCALE} of what is printed; the axis has the printed MTTF.",
            "A server is killed, its node and its front ends, after an exponential time, and "
            f"started again after {MTTR_S / SCALE:g} s; it serves once Cassandra has started. Down "
            f"times: {took}.",
            f"With {NODES} servers instead of {SERVERS_PAPER} a run has as many times fewer "
            f"failures: {fired}, in all runs.",
            "The three ways to store run at the same time and meet the same failures.",
            _lost(found),
        ),
    )


def mttf_claims(found: FaultRuns) -> Iterator[Verdict]:
    times = sorted({point.x for point in found})
    often, seldom = times[0], times[-1]
    for series in STORES:
        one, other = FaultPoint(series, often), FaultPoint(series, seldom)
        yield judge(
            f"sends are hardly affected by failures of servers ({series})",
            f"messages sent/s, MTTF = {often:g} s / {seldom:g} s",
            [ratio(mean_of(found[one], "send_rate"), mean_of(found[other], "send_rate"))],
            least=SLIGHT,
        )
        yield judge(
            f"receives degrade as failures become frequent ({series})",
            f"messages received/s, MTTF = {often:g} s / {seldom:g} s",
            [ratio(mean_of(found[one], "receive_rate"), mean_of(found[other], "receive_rate"))],
            most=1.0,
        )
        yield judge(
            f"consistency degrades as failures become frequent ({series})",
            f"duplicates per message, MTTF = {often:g} s minus {seldom:g} s",
            [_apart(found, one, other, "duplication_rate")],
            least=0.0,
        )
    yield _no_loss(found)


def _apart(found: FaultRuns, one: FaultPoint, other: FaultPoint, measure: str) -> Interval:
    mine, theirs = mean_of(found[one], measure), mean_of(found[other], measure)
    width = ((mine.high - mine.mean) ** 2 + (theirs.high - theirs.mean) ** 2) ** 0.5
    mean = mine.mean - theirs.mean
    return Interval(mean, mean - width, mean + width)


def _no_loss(found: FaultRuns) -> Verdict:
    return judge(
        "no message is lost",
        "lost messages, in all runs",
        [mean_of(runs, "lost") for runs in found.values()],
        most=0.0,
    )


def _lost(found: FaultRuns) -> str:
    lost = [(point, run) for point, runs in found.items() for run in runs if run.lost]
    told = "".join(
        f" {point.series}, {point.x:g}: {history}"
        for point, run in lost
        for history in run.histories
    )
    return f"Lost messages: {sum(run.lost for _, run in lost)}.{told}"


def _in_order(found: FaultRuns) -> FaultRuns:
    """Points run in a random order; lines between them need that of the axis."""
    return dict(sorted(found.items(), key=lambda each: (each[0].series, each[0].x)))


def _columns(found: FaultRuns, x_name: str) -> dict[str, Column]:
    points = list(found)
    return {
        "series": [point.series for point in points],
        x_name: [point.x for point in points],
        **run_columns(list(found.values()), (*MEASURES, "send_time")),
    }


def _panels(found: FaultRuns, x_label: str) -> Iterator[Panel]:
    """Categories on the x axis: probabilities and times differ by factors of ten."""
    places = sorted({point.x for point in found})
    for measure, label in MEASURES.items():
        curves = []
        for series in dict.fromkeys(point.series for point in found):
            values = {
                1.0 + places.index(point.x): mean_of(runs, measure)
                for point, runs in found.items()
                if point.series == series
            }
            means = tuple(each.mean for each in values.values())
            curves.append(Curve(series, tuple(values), means))
        names = tuple(f"{place:g}" for place in places)
        yield Panel(label, x_label, label, tuple(curves), x_names=names)
