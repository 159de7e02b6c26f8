"""vma-fig12: messages waiting in queue, where one number of threads is fixed at 6."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from dovemq.experiments.claims import agreement, in_order_is_larger, open_claim, simulations
from dovemq.experiments.figure import Effort, Figure, Panel, Verdict
from dovemq.experiments.sweeps import PAPER, Point, columns, curves, means, points

THREADS = tuple(range(4, 11))
FIXED = 6
RELIABILITIES = (0.99, 0.88)
SIDES = {"n1 = 6, n2 grows": "broker_threads", "n2 = 6, n1 grows": "sender_threads"}


def waiting_number(effort: Effort) -> Figure:
    found = points(
        {
            _setting(side, q): [
                (
                    float(count),
                    replace(
                        PAPER,
                        reliability=q,
                        sender_threads=count if moved == "sender_threads" else FIXED,
                        broker_threads=count if moved == "broker_threads" else FIXED,
                    ),
                )
                for count in THREADS
            ]
            for side, moved in SIDES.items()
            for q in RELIABILITIES
        },
        effort,
    )
    settings = [_setting(side, q) for side in SIDES for q in RELIABILITIES]
    return Figure(
        "Mean number of messages waiting in queue (vma, fig. 12)",
        columns(found, "threads"),
        tuple(
            Panel(
                side,
                "threads",
                "waiting messages",
                tuple(
                    curve
                    for q in RELIABILITIES
                    for curve in curves(found, "waiting", _setting(side, q))
                ),
            )
            for side in SIDES
        ),
        (
            *(_falls_then_settles(found, setting) for setting in settings),
            *agreement(found, "waiting", settings),
            *in_order_is_larger(found, "waiting", settings),
            *_settles_at(found),
            *_broker_helps_more(found),
        ),
        (
            "Waiting is the sender's queue and what is visible and not yet taken.",
            "The axis of the paper is read as messages × 1000.",
            "Settled: less than a tenth of the fall is left; at about a number: within 0.5 of it "
            "at 10 threads. The measures are ours.",
        ),
    )


def _setting(side: str, reliability: float) -> str:
    return f"{side}, q = {reliability:g}"


def _falls_then_settles(found: Sequence[Point], setting: str) -> Verdict:
    """The first step is the largest, and after 7 threads less than a tenth of the fall is left."""
    values = means(found, "waiting", setting)
    steps = [one - other for one, other in itertools.pairwise(values)]
    rest = (values[THREADS.index(7)] - values[-1]) / (values[0] - values[-1])
    return Verdict(
        f"waiting falls sharply at first and settles at about 7 threads ({setting}, analytic)",
        steps[0] == max(steps) and rest < 0.1,
        f"{values[0]:.2f} at 4, {values[1]:.2f} at 5, {values[3]:.2f} at 7, {values[-1]:.2f} at 10",
    )


def _settles_at(found: Sequence[Point]) -> list[Verdict]:
    claim = "in order, waiting settles at about 3 as n2 grows, at about 4 as n1 grows"
    verdicts = []
    for method in simulations(found):
        broker, sender = (
            [means(found, "waiting", _setting(side, q), method, "in")[-1] for q in RELIABILITIES]
            for side in SIDES
        )
        near = [abs(end - 3.0) < 0.5 for end in broker] + [abs(end - 4.0) < 0.5 for end in sender]
        told = ", ".join(f"{end:.2f}" for end in (*broker, *sender))
        verdicts.append(Verdict(f"{claim} ({method})", all(near), f"at 10 threads: {told}"))
    return verdicts or [open_claim(claim)]


def _broker_helps_more(found: Sequence[Point]) -> list[Verdict]:
    claim = "in order, threads of the broker lower waiting more than threads of the sender"
    verdicts = []
    for method in simulations(found):
        ends = [
            means(found, "waiting", _setting(side, q), method, "in")[-1]
            for q in RELIABILITIES
            for side in SIDES
        ]
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        told = "; ".join(f"{broker:.2f} against {sender:.2f}" for broker, sender in pairs)
        verdicts.append(
            Verdict(f"{claim} ({method})", all(one < two for one, two in pairs), f"at 10: {told}")
        )
    return verdicts or [open_claim(claim)]
