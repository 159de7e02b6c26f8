"""rds-fig14: throughput of the real service by the rate of requests, conventional and rds."""

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Column, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.intervals import interval_columns, interval_curve
from dovemq.experiments.limited_service import LimitedService, limited_service
from dovemq.experiments.rds_clients import MESSAGES_MAX, RdsLoad, RdsRun, run_load
from dovemq.experiments.rds_controllers import Controllers, controllers
from dovemq.experiments.rds_costs import measured_unit_costs
from dovemq.experiments.rds_points import (
    BLOCKED,
    CONNECTIONS,
    CONTROLLERS,
    CONVENTIONAL,
    CPU_SHARE,
    EMPTY_LOOK_S,
    EMPTY_LOOKS_MAX,
    GOOD_SLEEPS_S,
    HIGHEST,
    LONG_SLEEP_S,
    OPEN,
    OWNERS,
    PAPER_SLEEP_S,
    PARTITIONS,
    RUNS,
    RUNS_QUICK,
    SECONDS_QUICK,
    SLEEPS_S,
    WAITING,
    RdsMeasured,
    ServicePoint,
    method_of,
    plan,
)
from dovemq.fabric.dequeue import summarise
from dovemq.fabric.dequeue.costs import PAPER_UNIT_COSTS, DequeueSummary

GAIN: Final = 1.8
KEPT: Final = 0.9
WORSE: Final = 0.95
_TITLES: Final[Mapping[str, str]] = {
    BLOCKED: "a parked request blocks its controller",
    OPEN: "up to 10 requests of a consumer",
    WAITING: "a consumer waits for its answer",
}


def throughput(effort: Effort) -> Figure:
    with limited_service(OWNERS, PARTITIONS, CPU_SHARE) as service:
        measured = asyncio.run(_measured(service, effort))
    return figure_of(measured)


async def _measured(service: LimitedService, effort: Effort) -> RdsMeasured:
    def owners_cpu_s() -> float:
        return sum(service.front_ends.cpu_seconds())

    load = RdsLoad(1.0, 1)
    if effort.quick:
        load = replace(load, seconds=SECONDS_QUICK)
    points = plan(quick=effort.quick)
    runs: dict[ServicePoint, list[RdsRun]] = {point: [] for point in points}
    async with controllers(service, CONTROLLERS, PARTITIONS) as made:
        effort.tell("unit costs")
        costs = await measured_unit_costs(made, owners_cpu_s, 0.3 if effort.quick else 1.0)
        rounds = RUNS_QUICK if effort.quick else RUNS
        for number in range(rounds):
            for point in points:
                effort.tell(f"run {number + 1}/{rounds}, {point.method}, λ={point.rate:g}")
                await _prepare(made, point)
                this = point.load(replace(load, seed=effort.seed + number))
                runs[point].append(await run_load(made, this, owners_cpu_s))
    return RdsMeasured(runs, costs, service.reading)


async def _prepare(made: Controllers, point: ServicePoint) -> None:
    await made.change(**point.options)
    for _ in range(EMPTY_LOOKS_MAX):
        await made.queues[0].purge()
        await asyncio.sleep(EMPTY_LOOK_S)
        counts = await made.queues[0].counts()
        if not counts.visible + counts.leased + counts.delayed:
            return


def figure_of(measured: RdsMeasured) -> Figure:
    return Figure(
        "Throughput of the real service by the rate of requests (rds, fig. 14)",
        _columns(measured),
        tuple(_panels(measured)),
        tuple(service_claims(measured)),
        (measured.limit, *_READINGS, *_explanations(measured)),
    )


_READINGS: Final = (
    f"{PARTITIONS} partitions, {CONTROLLERS} controllers with one consumer and two senders each. "
    "Controllers are front ends that own no partition, in one process with their clients and "
    "without a limit of CPU; they reach the owners over the link.",
    f"Consumers use the Python API and ask for {MESSAGES_MAX} messages (N_max). On the wire of SQS "
    "a receive returns at most 10.",
    "The paper does not say whether a consumer waits for its answers. Requests are a Poisson "
    f"process. First panel: one that comes while {CONNECTIONS} of its consumer are under way is "
    "not sent, nor while its controller holds one back, which is the reading of the simulated "
    "figures. Second panel: without this rule, which the service does not have. Third panel: none "
    "is sent while one is under way.",
    "20 senders send 1 KB each as soon as the last one is answered. The paper gives no rate.",
    "rds sleeps for the whole time (RdsWake=timer), as in the paper, and tries at most 3 "
    "partitions (DequeueFanout=3).",
)


def _columns(measured: RdsMeasured) -> dict[str, Column]:
    points = list(measured.runs)
    costs = measured.costs

    def per_second(value: Callable[[RdsRun], float]) -> list[float]:
        return [round(measured.per_second(point, value), 4) for point in points]

    return {
        "requests_of_a_consumer": [point.loop for point in points],
        "method": [point.method for point in points],
        "request_rate": [point.rate for point in points],
        **interval_columns(
            "throughput",
            [measured.throughputs(each.loop, each.method)[each.rate] for each in points],
        ),
        **{
            f"throughput_run_{number + 1}": [
                round(measured.runs[point][number].throughput, 2) for point in points
            ]
            for number in range(len(measured.runs[points[0]]))
        },
        "sent_per_s": per_second(lambda run: run.counts.sent),
        "hits_per_s": per_second(lambda run: run.counts.hits),
        "misses_per_s": per_second(lambda run: run.counts.misses),
        "messages_per_hit": [_messages_per_hit(measured.terms(point)) for point in points],
        "requests_per_s": per_second(lambda run: run.requests),
        "refused_per_s": per_second(lambda run: run.refused),
        "failures_per_s": per_second(lambda run: run.failures),
        "send_cost": per_second(lambda run: summarise(run.counts, costs).send_cost),
        "hit_cost": per_second(lambda run: summarise(run.counts, costs).hit_cost),
        "message_cost": per_second(lambda run: summarise(run.counts, costs).message_cost),
        "miss_cost": per_second(lambda run: summarise(run.counts, costs).miss_cost),
        "owners_cpu": per_second(lambda run: run.owners_cpu_s),
    }


def _messages_per_hit(terms: Sequence[DequeueSummary]) -> float:
    hits = sum(each.counts.hits for each in terms)
    return sum(each.counts.received for each in terms) / hits if hits else math.nan


def _panels(measured: RdsMeasured) -> Iterator[Panel]:
    for loop, title in _TITLES.items():
        yield Panel(
            title,
            "requests of one consumer a second, λ",
            "messages received and deleted/s",
            tuple(
                interval_curve(method, measured.throughputs(loop, method))
                for method in measured.methods(loop)
            ),
            _marks(measured, loop),
        )


def _marks(measured: RdsMeasured, loop: str) -> tuple[PaperMark, ...]:
    conventional = measured.throughputs(loop, CONVENTIONAL)[HIGHEST].mean
    return (PaperMark("1.8 × conventional at λ = 200", y=GAIN * conventional),)


def service_claims(measured: RdsMeasured) -> Iterator[Verdict]:
    for loop, title in _TITLES.items():
        conventional = _by_rate(measured, loop, CONVENTIONAL)
        rds = _by_rate(measured, loop, method_of(PAPER_SLEEP_S))
        lowest = min(conventional)
        yield judge(
            f"the throughput of the conventional method falls with the rate of requests ({title})",
            "throughput at λ = 200 / at λ = 10, conventional",
            [measured.ratio(conventional[HIGHEST], conventional[lowest])],
            most=1.0,
        )
        yield judge(
            f"rds keeps its throughput, with a sleep of 0.1 s ({title})",
            "throughput / at λ = 10, at every rate",
            [measured.ratio(point, rds[lowest]) for rate, point in rds.items() if rate != lowest],
            least=KEPT,
        )
        yield judge(
            f"at λ = 200 rds with a sleep of 0.1 s delivers 80 % more ({title})",
            "rds / conventional at λ = 200",
            [measured.ratio(rds[HIGHEST], conventional[HIGHEST])],
            least=GAIN,
        )
    yield from _sleep_claims(measured)


def _by_rate(measured: RdsMeasured, loop: str, method: str) -> dict[float, ServicePoint]:
    return {
        point.rate: point for point in measured.runs if (point.loop, point.method) == (loop, method)
    }


def _sleep_claims(measured: RdsMeasured) -> Iterator[Verdict]:
    """The claims about the sleep, for the panel that has all sleeps and for the highest rate."""
    by_sleep = {
        sleep: ServicePoint(BLOCKED, method_of(sleep), HIGHEST)
        for sleep in SLEEPS_S
        if method_of(sleep) in measured.methods(BLOCKED)
    }

    def mean(point: ServicePoint) -> float:
        return measured.per_second(point, lambda run: run.settled)

    best = max(by_sleep.values(), key=mean)
    conventional = ServicePoint(BLOCKED, CONVENTIONAL, HIGHEST)
    yield judge(
        f"rds delivers 180 % of the conventional method, with its best sleep ({best.method})",
        "rds / conventional at λ = 200",
        [measured.ratio(best, conventional)],
        least=GAIN,
    )
    good = [by_sleep[sleep] for sleep in GOOD_SLEEPS_S if sleep in by_sleep]
    yield judge(
        "sleeps of 0.1 to 0.5 s keep a high throughput (λ = 200)",
        "throughput / that of the best sleep",
        [measured.ratio(point, best) for point in good],
        least=KEPT,
    )
    yield judge(
        "sleeps above 1 s deliver visibly less (λ = 200)",
        "throughput with a sleep of 2 s / the better one of 0.1 and 0.5 s",
        [measured.ratio(by_sleep[LONG_SLEEP_S], max(good, key=mean))],
        most=WORSE,
    )


def _explanations(measured: RdsMeasured) -> Iterator[str]:
    """The measured cost terms, and what they leave for rds to gain."""
    costs = measured.costs
    yield (
        "Measured unit costs, in ms of an owner's CPU: "
        f"{1e3 * costs.send:.3f} for a send, {1e3 * costs.hit:.3f} for a hit with its delete, "
        f"{1e3 * costs.message:.3f} for each of its messages, {1e3 * costs.miss:.3f} for a miss. A "
        f"miss costs {costs.miss / max(costs.send, 1e-9):.2f} sends; in the paper's table 1 it "
        f"costs {PAPER_UNIT_COSTS.miss / PAPER_UNIT_COSTS.send:g}."
    )
    for loop, title in _TITLES.items():
        for method in (CONVENTIONAL, method_of(PAPER_SLEEP_S)):
            yield _explained(measured, ServicePoint(loop, method, HIGHEST), title)


def _explained(measured: RdsMeasured, point: ServicePoint, title: str) -> str:
    terms = measured.terms(point)
    total = sum(each.total for each in terms)
    shares = [
        f"{sum(getattr(each, f'{name}_cost') for each in terms) / total:.0%} {text}"
        for name, text in (
            ("send", "for sends"),
            ("hit", "for hits"),
            ("message", "for their messages"),
            ("miss", "for misses"),
        )
    ]
    per_message = 1e3 * total / max(1, sum(each.counts.received for each in terms))
    return (
        f"{point.method} at λ = 200 ({title}): {', '.join(shares)} of the computed cost, "
        f"{per_message:.2f} ms a message."
    )
