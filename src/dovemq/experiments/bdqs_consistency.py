"""bdqs-fig6: duplicates and order by K and by concurrency, for each way to agree about a queue."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovemq.experiments.bdqs_runs import (
    ADAPTIVE,
    ANY,
    MESSAGES_QUICK,
    MODES,
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
from dovemq.models.estimates import Interval

NODES: Final = 3
HINTS: Final = ("1", "2", "3", ADAPTIVE, ANY)
THREADS: Final = (1, 2, 3)
THREADS_QUICK: Final = (1, 3)
WORK_S: Final = 1.0
IN_ORDER_MAX: Final = 0.05
"""Almost all in order: at most so many out of order."""
ORDER_OF_MAGNITUDE: Final = 0.1
NEGLIGIBLE: Final = 0.01
MEASURES: Final[Mapping[str, str]] = {
    "duplication_rate": "duplicates per message",
    "out_of_order_rate": "share out of order",
    "average_displacement": "mean displacement",
}


@dataclass(frozen=True, slots=True)
class HintPoint:
    """One place of the figure."""

    mode: str
    hint: str
    threads: int
    literal: bool = False

    @property
    def series(self) -> str:
        return f"{self.mode}{' literal' if self.literal else ''}, K = {self.hint}"

    def workload(self, messages: int) -> BdqsWorkload:
        return BdqsWorkload(
            self.mode,
            self.hint,
            self.literal,
            receivers=self.threads,
            messages=messages,
            work_s=WORK_S,
        )


def hint_points(mode: str, *, quick: bool) -> list[HintPoint]:
    """A queue with an owner has no adaptive K. The literal receive exists without one only."""
    hints = tuple(hint for hint in HINTS if mode != "lease" or hint != ADAPTIVE)
    threads = THREADS_QUICK if quick else THREADS
    points = [HintPoint(mode, hint, each) for hint in hints for each in threads]
    if mode == "none":
        points += [
            HintPoint(mode, hint, each, literal=True)
            for hint in ("1", "2", "3")
            for each in threads
        ]
    return points


HintRuns = Mapping[HintPoint, Sequence[BdqsRun]]
MeanOf = Callable[[str, str], Interval]
"""The mean of a measure for a K, with the most receivers."""


def consistency(effort: Effort) -> Figure:
    with bdqs_database(NODES) as database, bdqs_servers(database, "one") as servers:
        return figure_of(asyncio.run(_measured(servers, effort)), quick=effort.quick)


async def _measured(servers: BdqsServers, effort: Effort) -> HintRuns:
    """All points of a mode at once: their receivers mostly work, and the servers mostly wait."""
    rounds = RUNS_QUICK if effort.quick else RUNS
    found: dict[HintPoint, list[BdqsRun]] = {}
    for number in range(rounds):
        for mode in MODES:
            effort.tell(f"round {number + 1}/{rounds}, {mode}")
            points = hint_points(mode, quick=effort.quick)
            runs = await asyncio.gather(
                *(
                    run_bdqs(
                        servers,
                        f"f6-{mode}-{place}-r{number}",
                        point.workload(MESSAGES_QUICK if effort.quick else 100),
                        effort.seed + 1_000 * number + place,
                    )
                    for place, point in enumerate(points)
                )
            )
            for point, run in zip(points, runs, strict=True):
                found.setdefault(point, []).append(run)
    return found


def figure_of(found: HintRuns, *, quick: bool) -> Figure:
    return Figure(
        "Duplicates and order by K and by receivers (bdqs, fig. 6)",
        _columns(found),
        tuple(_panels(found)),
        tuple(hint_claims(found)),
        readings(found, quick=quick),
    )


def readings(found: HintRuns, *, quick: bool) -> tuple[str, ...]:
    runs = len(next(iter(found.values())))
    messages = MESSAGES_QUICK if quick else 100
    lost = [run for each in found.values() for run in each if run.lost]
    return (
        f"N = {NODES} servers instead of {SERVERS_PAPER}, Q = 1 queue for each point instead of "
        f"400, {runs} runs. T_send = 3, m = {messages}, L = 2 KB, δ_send = 0, δ_recv = 1 s, "
        "R = W = 1, 3 replicas.",
        "All points of one way to agree run at once, so that the servers have about thirty "
        "receivers. They share one machine with their clients.",
        "The order is that of each sender. Duplicates do not count in it. The pipeline measures "
        "what clients saw.",
        "`any` draws among the first 1,000; it stands for the paper's system without order. "
        "`literal` is the paper's receive: it may draw a hidden tuple, which is an empty answer, "
        "and a front end does not remember what it claimed.",
        f"Lost messages: {sum(run.lost for run in lost)}."
        + "".join(f" {history}" for run in lost for history in run.histories),
    )


def _columns(found: HintRuns) -> dict[str, Column]:
    points = list(found)
    return {
        "coordination": [point.mode for point in points],
        "order_hint": [point.hint for point in points],
        "literal": [point.literal for point in points],
        "receivers": [point.threads for point in points],
        **run_columns(list(found.values()), (*MEASURES, "receive_rate", "receive_time")),
    }


def _panels(found: HintRuns) -> Iterator[Panel]:
    """The paper's rows: by the number of receivers above, by K with the most receivers below."""
    own = {point: runs for point, runs in found.items() if point.mode == "none"}
    series = dict.fromkeys(point.series for point in own)
    for measure, label in MEASURES.items():
        curves = [
            _curve(
                each,
                {
                    float(point.threads): mean_of(runs, measure)
                    for point, runs in own.items()
                    if point.series == each
                },
                dashed="literal" in each,
            )
            for each in series
        ]
        yield Panel("none, by concurrency", "receivers of a queue, T_recv", label, tuple(curves))
    most = max(point.threads for point in found)
    for measure, label in MEASURES.items():
        curves = [
            _curve(
                f"{mode}, {most} receivers",
                {
                    float(HINTS.index(point.hint) + 1): mean_of(runs, measure)
                    for point, runs in found.items()
                    if (point.mode, point.threads, point.literal) == (mode, most, False)
                },
                points=True,
            )
            for mode in MODES
        ]
        yield Panel(f"by K, {most} receivers", "K", label, tuple(curves), x_names=HINTS)


def _curve(
    label: str,
    values: Mapping[float, Interval],
    *,
    dashed: bool = False,
    points: bool = False,
) -> Curve:
    """The means alone: with three runs, bands would cover each other."""
    return Curve(
        label,
        tuple(values),
        tuple(each.mean for each in values.values()),
        dashed=dashed,
        points=points,
    )


def hint_claims(found: HintRuns) -> Iterator[Verdict]:
    """The claims of §V.C, about queues without an owner."""
    most = max(point.threads for point in found)
    for literal in (False, True):

        def mean(hint: str, measure: str, threads: int = most, literal: bool = literal) -> Interval:
            return mean_of(found[HintPoint("none", hint, threads, literal)], measure)

        receive = "the paper's literal receive" if literal else "draws among visible tuples"
        yield from _claims_on_k(mean, receive)
        if not literal:
            yield judge(
                f"K = 3 moves messages ten times less than no order ({receive})",
                "mean displacement, K = 3 / any",
                [_quotient(mean("3", "average_displacement"), mean(ANY, "average_displacement"))],
                most=ORDER_OF_MAGNITUDE,
            )
            yield judge(
                "without concurrency hardly anything is duplicated",
                "duplicates per message, 1 receiver, K = 1, 2, 3 and any",
                [mean(hint, "duplication_rate", 1) for hint in ("1", "2", "3", ANY)],
                most=NEGLIGIBLE,
            )
    yield judge(
        "no message is lost",
        "lost messages, in all runs",
        [mean_of(runs, "lost") for runs in found.values()],
        most=0.0,
    )


def _claims_on_k(mean: MeanOf, receive: str) -> Iterator[Verdict]:
    yield judge(
        f"K = 1 keeps almost all in order under concurrency ({receive})",
        "share out of order, K = 1",
        [mean("1", "out_of_order_rate")],
        most=IN_ORDER_MAX,
    )
    for measure, label in (
        ("out_of_order_rate", "the share out of order"),
        ("average_displacement", "the displacement"),
    ):
        yield judge(
            f"{label} grows with K ({receive})",
            f"{MEASURES[measure]}, K = 2 minus K = 1 and K = 3 minus K = 2",
            [
                _difference(mean("2", measure), mean("1", measure)),
                _difference(mean("3", measure), mean("2", measure)),
            ],
            least=0.0,
        )
    yield judge(
        f"duplicates fall while K grows ({receive})",
        "duplicates per message, K = 3 minus K = 1",
        [_difference(mean("3", "duplication_rate"), mean("1", "duplication_rate"))],
        most=0.0,
    )


def _difference(one: Interval, other: Interval) -> Interval:
    width = ((one.high - one.mean) ** 2 + (other.high - other.mean) ** 2) ** 0.5
    mean = one.mean - other.mean
    return Interval(mean, mean - width, mean + width)


def _quotient(one: Interval, other: Interval) -> Interval:
    """Bounds by the bounds of both; a displacement is never negative."""
    least = max(other.low, 1e-9)
    return Interval(
        one.mean / max(other.mean, 1e-9), max(one.low, 0.0) / other.high, one.high / least
    )
