"""vma-fig14: delivery time, waiting and utilisation as the service time grows."""

from collections.abc import Sequence
from dataclasses import replace

from dovemq.experiments.claims import agreement
from dovemq.experiments.figure import Effort, Figure, Verdict
from dovemq.experiments.sweeps import PAPER, Point, columns, points, select
from dovemq.experiments.vma_panels import three_panels

SERVICE_MS = tuple(range(20, 201, 20))
THREADS = (5, 6, 7, 8, 9, 10)
_BENT = 0.15
_FLAT = 0.5
"""A delivery time is linear while it is within 15 % of the service alone; waiting has no effect
while it is below half a message."""


def service_time(effort: Effort) -> Figure:
    found = points(
        {
            _setting(threads): [
                (
                    float(service),
                    replace(
                        PAPER,
                        arrival_rate=30.0,
                        sender_rate=1000.0 / service,
                        broker_rate=1000.0 / service,
                        sender_threads=threads,
                        broker_threads=threads,
                    ),
                )
                for service in SERVICE_MS
            ]
            for threads in THREADS
        },
        effort,
        orders=("out",),
    )
    settings = [_setting(threads) for threads in THREADS]
    return Figure(
        "Performance with different service times, λ = 30, q = 0.99 (vma, fig. 14)",
        columns(found, "service_ms"),
        three_panels(found, "mean service time, ms"),
        (
            *(_linear_until(found, threads, turn) for threads, turn in ((5, 100), (7, 140))),
            *(_no_effect_until(found, threads, turn) for threads, turn in ((5, 80), (7, 120))),
            _more_threads_help(found),
            _utilisation_plateau(found),
            *agreement(found, "delivery_time", settings),
        ),
        (
            "Where ρ is 1 or more the closed form says unstable; a run of 100 s gives a number "
            "there that grows with the length of the run.",
            "Linear: within 15 % of the service alone, and beyond that two steps later. Hardly "
            "changes: below half a message, and above it 40 ms later. The measures are ours.",
        ),
    )


def _setting(threads: int) -> str:
    return f"n = {threads}"


def _linear_until(found: Sequence[Point], threads: int, turn_ms: int) -> Verdict:
    excess = {}
    for point in select(found, _setting(threads)):
        alone = (1.0 + 1.0 / point.scenario.reliability) * point.x / 1000.0
        excess[point.x] = point.answer.measures["delivery_time"].mean / alone - 1.0
    until = max(value for at, value in excess.items() if at <= turn_ms)
    later = [value for at, value in excess.items() if at > turn_ms]
    return Verdict(
        f"with {threads} threads the delivery time is linear until {turn_ms} ms (analytic)",
        until <= _BENT < later[1],
        f"{until:.1%} above the service alone at {turn_ms} ms, {later[0]:.1%} a step later",
    )


def _no_effect_until(found: Sequence[Point], threads: int, turn_ms: int) -> Verdict:
    values = {
        point.x: point.answer.measures["waiting"].mean for point in select(found, _setting(threads))
    }
    until = max(value for at, value in values.items() if at <= turn_ms)
    later = min(value for at, value in values.items() if at > turn_ms + 20)
    return Verdict(
        f"with {threads} threads waiting hardly changes until {turn_ms} ms (analytic)",
        until <= _FLAT < later,
        f"{until:.2f} messages at {turn_ms} ms, {later:.2f} at {turn_ms + 40} ms",
    )


def _more_threads_help(found: Sequence[Point]) -> Verdict:
    few, many = (
        {point.x: point.answer.measures["delivery_time"].mean for point in select(found, setting)}
        for setting in (_setting(5), _setting(10))
    )
    short, long = few[80.0] / many[80.0] - 1.0, few[140.0] / many[140.0] - 1.0
    return Verdict(
        "more threads help where the service takes more than 100 ms (analytic, 5 against 10)",
        short < 0.1 < long,
        f"{short:.1%} at 80 ms, {long:.1%} at 140 ms",
    )


def _utilisation_plateau(found: Sequence[Point]) -> Verdict:
    """ρ = λs/n is a straight line."""
    own = [
        point.answer.measures["sender_utilisation"].mean / point.x
        for point in select(found, _setting(10))
    ]
    return Verdict(
        "utilisation stays at about 47 % for a while before it rises (analytic, busy threads / n)",
        max(own) - min(own) > 1e-9,
        "it is λ·s/n, in proportion to the service time throughout",
    )
