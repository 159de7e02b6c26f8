"""bdqs-fig6: duplicates and order by K and by concurrency, for each way to agree about a queue.

A point with one receiver takes m × T_send seconds at least, since a receiver works for a second on
each message. So points of all modes run side by side, in one random order, as the queues of the
paper do: `RECEIVERS_AT_ONCE` keeps the queues per server near the paper's eight.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovemq.experiments.bdqs_runs import (
    ADAPTIVE,
    ANY,
    MESSAGES,
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
    bdqs_database,
    bdqs_servers,
    plain_queues,
)
from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Column, Curve, Effort, Figure, Panel, Verdict
from dovemq.load.plan import Endpoint
from dovemq.models.estimates import Interval
from dovemq.testing.local_elasticmq import VERSION

NODES: Final = 3
RECEIVERS_AT_ONCE: Final = 48
PLAIN: Final = "elasticmq"
"""The mode of the second system without order, which knows neither modes nor K."""
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
    if mode == PLAIN:
        return [HintPoint(mode, ANY, each) for each in (THREADS_QUICK if quick else THREADS)]
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
    with contextlib.ExitStack() as ending:
        plain = ending.enter_context(plain_queues(effort))
        database = ending.enter_context(bdqs_database(NODES))
        servers = ending.enter_context(bdqs_servers(database, "one"))
        found = asyncio.run(_measured(servers.endpoints, plain, effort))
    return figure_of(found, quick=effort.quick)


async def _measured(
    servers: Sequence[Endpoint], plain: Sequence[Endpoint], effort: Effort
) -> HintRuns:
    rounds = RUNS_QUICK if effort.quick else RUNS
    points = [point for mode in MODES for point in hint_points(mode, quick=effort.quick)]
    if plain:
        points += hint_points(PLAIN, quick=effort.quick)
    found: dict[HintPoint, list[BdqsRun]] = {point: [] for point in points}
    for number in range(rounds):
        round_ = _Round(effort, f"{number + 1}/{rounds}", len(points))
        places = list(range(len(points)))
        random.Random(f"{effort.seed}/{number}").shuffle(places)
        # The longest first, so that no point is left alone at the end.
        places.sort(key=lambda place: points[place].threads)
        runs = await asyncio.gather(
            *(
                round_.run(
                    plain if points[place].mode == PLAIN else servers,
                    f"f6-{place}-r{number}",
                    points[place],
                    effort.seed + 1_000 * number + place,
                )
                for place in places
            )
        )
        for place, run in zip(places, runs, strict=True):
            found[points[place]].append(run)
    return found


class _Round:
    """Points that run side by side, as many as `RECEIVERS_AT_ONCE` allows, in the given order."""

    def __init__(self, effort: Effort, name: str, points: int) -> None:
        self._effort = effort
        self._name = name
        self._points = points
        self._done = 0
        self._free = RECEIVERS_AT_ONCE
        self._changed = asyncio.Condition()
        self._turn = asyncio.Lock()

    async def run(
        self, endpoints: Sequence[Endpoint], name: str, point: HintPoint, seed: int
    ) -> BdqsRun:
        async with self._turn, self._changed:
            await self._changed.wait_for(lambda: self._free >= point.threads)
            self._free -= point.threads
        workload = point.workload(MESSAGES_QUICK if self._effort.quick else MESSAGES)
        run = await run_bdqs(endpoints, name, workload, seed)
        async with self._changed:
            self._free += point.threads
            self._changed.notify_all()
        self._done += 1
        self._effort.tell(f"round {self._name}, {self._done} of {self._points} points")
        return run


def figure_of(found: HintRuns, *, quick: bool) -> Figure:
    messages = MESSAGES_QUICK if quick else MESSAGES
    return Figure(
        f"Duplicates and order by K and by receivers (bdqs, fig. 6); N = {NODES}, m = {messages}",
        _columns(found),
        tuple(_panels(found)),
        tuple(hint_claims(found)),
        readings(found, quick=quick),
    )


def readings(found: HintRuns, *, quick: bool) -> tuple[str, ...]:
    runs = len(next(iter(found.values())))
    messages = MESSAGES_QUICK if quick else MESSAGES
    lost = [run for each in found.values() for run in each if run.lost]
    return (
        f"N = {NODES} servers instead of {SERVERS_PAPER}, Q = 1 queue for each point instead of "
        f"400, {runs} runs. T_send = 3, m = {messages}, L = 2 KB, δ_send = 0, δ_recv = 1 s, "
        "R = W = 1, 3 replicas.",
        "Points of all modes run side by side in a random order, those with one receiver first, "
        f"with at most {RECEIVERS_AT_ONCE} receivers in all. Servers and clients share a machine.",
        *_response_times(found),
        "The order is that of each sender. Duplicates do not count in it. The pipeline measures "
        "what clients saw.",
        "`any` draws among the first 1,000; it stands for the paper's system without order. "
        "`literal` is the paper's receive: it may draw a hidden tuple, which is an empty answer, "
        "and a front end does not remember what it claimed.",
        _of_elasticmq(found),
        f"Lost messages: {sum(run.lost for run in lost)}."
        + "".join(f" {history}" for run in lost for history in run.histories),
    )


def _response_times(found: HintRuns) -> Iterator[str]:
    for mode in dict.fromkeys(point.mode for point in found):
        times = [
            run.receive_time for point, runs in found.items() for run in runs if point.mode == mode
        ]
        yield (
            f"A receive took {1e3 * min(times):.0f} to {1e3 * max(times):.0f} ms in the mean of a "
            f"run, {1e3 * sum(times) / len(times):.0f} ms over all ({mode})."
        )


def _of_elasticmq(found: HintRuns) -> str:
    if all(point.mode != PLAIN for point in found):
        return "ElasticMQ, a second system without order, is not installed and was left out."
    return (
        f"ElasticMQ {VERSION} is a second system without order: one server in memory. No verdict "
        "depends on it."
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
            for mode in (*MODES, PLAIN)
            if any(point.mode == mode for point in found)
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
