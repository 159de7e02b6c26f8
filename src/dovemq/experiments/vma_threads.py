"""vma-fig11 to vma-fig13: delivery time, waiting messages and utilisation by number of threads."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from math import hypot

from dovemq.experiments.claims import agreement, exact, in_order_is_larger, judge, judge_simulations
from dovemq.experiments.figure import Curve, Effort, Figure, Mark, Panel, Verdict
from dovemq.experiments.scenario import Estimate, Scenario, by_formula
from dovemq.experiments.sweeps import PAPER, VmaSweep, ratio, sweep

THREADS = tuple(range(4, 11))
FIXED = 6
RELIABILITIES = (0.99, 0.88)
SIDES = {"n1 = 6, n2 varies": ("broker", 3.0), "n2 = 6, n1 varies": ("sender", 4.0)}
"""The threads that vary in fig. 12, and the messages at which waiting settles in order."""
UTILISATIONS = {"utilisation": "busy threads / n", "any_busy": "P(any thread busy)"}
"""Two meanings of utilisation, which the paper does not define."""
_BOTH = "threads of sender and broker, n1 = n2"


def delivery_time(effort: Effort) -> Figure:
    found = _equal_threads(effort)
    return Figure(
        "Mean delivery time by number of threads (vma, fig. 11)",
        found.columns(),
        tuple(
            Panel(
                setting,
                _BOTH,
                "mean delivery time, s",
                (
                    *found.curves("delivery_time", {setting: ""}),
                    Curve(
                        "paper's text: in order, about 1.5 × out of order",
                        tuple(map(float, THREADS)),
                        tuple(1.5 * each for each in found.means("delivery_time", setting)),
                        points=True,
                    ),
                ),
            )
            for setting in found.settings
        ),
        (
            _four_threads_are_least(),
            *agreement(found, "delivery_time"),
            *in_order_is_larger(found, "delivery_time"),
            *judge_simulations(
                found,
                "out of order performs about 50 % better than in order",
                "in order takes 30 to 70 % longer, as the mean over all points",
                lambda method: [_mean(found.order_ratios("delivery_time", method))],
                at_least=1.3,
                at_most=1.7,
                found="in order / out of order",
            ),
        ),
        (
            "The paper does not give D_link: it is 0 here.",
            "A failure is known at once (ideal), which is what eq. 8 computes. A timer would add "
            "p/q times the rest of the timeout.",
            "Eq. 8 has q in place of p in its third term.",
        ),
    )


def waiting_number(effort: Effort) -> Figure:
    settings = {
        _setting(side, q): [
            (float(count), _scenario(q, **{f"{moved}_threads": count})) for count in THREADS
        ]
        for side, (moved, _) in SIDES.items()
        for q in RELIABILITIES
    }
    found = sweep("threads", settings, effort)
    return Figure(
        "Mean number of waiting messages by number of threads (vma, fig. 12)",
        found.columns(),
        tuple(
            Panel(
                side,
                f"threads of the {moved}",
                "waiting messages",
                found.curves("waiting", {_setting(side, q): f"q = {q:g}" for q in RELIABILITIES}),
                (Mark(f"paper's text, {side}: in order, about {level:g}", y=level),),
            )
            for side, (moved, level) in SIDES.items()
        ),
        (
            _falls_then_settles(found),
            *agreement(found, "waiting"),
            *in_order_is_larger(found, "waiting"),
            *_settles_at(found),
            *_broker_helps_more(found),
        ),
        (
            "Waiting messages are those in the sender's queue, and the visible ones that no thread "
            "of the broker has taken.",
            "The paper's axis is read as messages × 1000.",
        ),
    )


def utilisation(effort: Effort) -> Figure:
    found = _equal_threads(effort)
    high, low = found.settings
    apart = [
        abs(one - other)
        for one, other in zip(
            found.means("sender_utilisation", high),
            found.means("sender_utilisation", low),
            strict=True,
        )
    ]
    return Figure(
        "Utilisation of sender and broker by number of threads (vma, fig. 13)",
        found.columns(),
        tuple(
            Panel(
                f"{station}: {meaning}",
                _BOTH,
                meaning,
                found.curves(f"{station}_{name}", {each: each for each in found.settings}),
            )
            for name, meaning in UTILISATIONS.items()
            for station in ("sender", "broker")
        ),
        (
            judge(
                "the sender's utilisation does not depend on q (analytic)",
                "both values of q give the same utilisation, to 1e-12",
                exact(apart),
                at_most=1e-12,
                found="difference",
            ),
            judge(
                f"with {low} the broker is busier than the sender (analytic, out of order)",
                "broker / sender is above 1 at every number of threads",
                _broker_by_sender(found, "utilisation", "analytic", "out"),
                at_least=1.0,
                found="broker / sender, busy threads / n",
            ),
            *(
                verdict
                for name, meaning in UTILISATIONS.items()
                for verdict in _in_order_lowers(found, name, meaning)
            ),
        ),
        (
            "The paper does not define utilisation. Mean busy threads / n cannot depend on the "
            "order of delivery, since the work is the same; P(any thread busy) can.",
        ),
    )


def _equal_threads(effort: Effort) -> VmaSweep:
    settings = {
        f"q = {q:g}": [
            (float(count), _scenario(q, sender_threads=count, broker_threads=count))
            for count in THREADS
        ]
        for q in RELIABILITIES
    }
    return sweep("threads", settings, effort)


def _scenario(
    reliability: float, sender_threads: int = FIXED, broker_threads: int = FIXED
) -> Scenario:
    return replace(
        PAPER,
        reliability=reliability,
        sender_threads=sender_threads,
        broker_threads=broker_threads,
    )


def _setting(side: str, reliability: float) -> str:
    return f"{side}, q = {reliability:g}"


def _mean(values: Sequence[Estimate]) -> Estimate:
    """The mean of independent estimates."""
    mean = sum(each.mean for each in values) / len(values)
    width = hypot(*(each.mean - each.low for each in values)) / len(values)
    return Estimate(mean, mean - width, mean + width)


def _four_threads_are_least() -> Verdict:
    unstable = {
        (threads, q): bool(by_formula(_scenario(q, threads, threads), Effort()).unstable)
        for threads in (3, 4)
        for q in RELIABILITIES
    }
    holds = all(unstable[3, q] and not unstable[4, q] for q in RELIABILITIES)
    return Verdict(
        "a steady state needs at least 4 threads",
        "ρ is 1 or more with 3 threads and below 1 with 4, for both q",
        holds,
        "3 threads are unstable and 4 are stable" if holds else f"unstable: {unstable}",
    )


def _falls_then_settles(found: VmaSweep) -> Verdict:
    rests, sharp = [], True
    for setting in found.settings:
        values = found.means("waiting", setting)
        steps = [one - other for one, other in itertools.pairwise(values)]
        sharp = sharp and steps[0] == max(steps)
        rests.append((values[THREADS.index(7)] - values[-1]) / (values[0] - values[-1]))
    return Verdict(
        "waiting falls sharply at first and settles at about 7 threads (analytic)",
        "the first step is the largest, and less than a tenth of the fall is left at 7 threads",
        sharp and max(rests) < 0.1,
        f"the first step is {'' if sharp else 'not '}the largest; at 7 threads "
        f"{min(rests):.1%} to {max(rests):.1%} of the fall is left",
    )


def _at_ten_threads(found: VmaSweep, side: str, method: str) -> list[Estimate]:
    return [found.values("waiting", _setting(side, q), method, "in")[-1] for q in RELIABILITIES]


def _settles_at(found: VmaSweep) -> list[Verdict]:
    return [
        verdict
        for side, (moved, level) in SIDES.items()
        for verdict in judge_simulations(
            found,
            f"in order, waiting settles at about {level:g} with more threads of the {moved}",
            f"from {level - 0.5:g} to {level + 0.5:g} messages at 10 threads, for both q",
            lambda method, side=side: _at_ten_threads(found, side, method),  # type: ignore[misc]
            at_least=level - 0.5,
            at_most=level + 0.5,
            found="messages",
        )
    ]


def _broker_helps_more(found: VmaSweep) -> list[Verdict]:
    def ratios(method: str) -> list[Estimate]:
        broker, sender = (_at_ten_threads(found, side, method) for side in SIDES)
        return [ratio(one, other) for one, other in zip(broker, sender, strict=True)]

    return judge_simulations(
        found,
        "in order, threads of the broker lower waiting more than threads of the sender",
        "fewer messages wait with 10 threads of the broker than with 10 of the sender",
        ratios,
        at_most=1.0,
        found="10 of the broker / 10 of the sender",
    )


def _broker_by_sender(found: VmaSweep, name: str, method: str, order: str) -> list[Estimate]:
    """The broker's utilisation divided by the sender's, with the lower q."""
    broker, sender = (
        found.values(f"{station}_{name}", found.settings[-1], method, order)
        for station in ("broker", "sender")
    )
    return [ratio(one, other) for one, other in zip(broker, sender, strict=True)]


def _in_order_lowers(found: VmaSweep, name: str, meaning: str) -> list[Verdict]:
    above_five = THREADS.index(6)
    return [
        *judge_simulations(
            found,
            f"the broker's utilisation is much lower in order, read as {meaning}",
            "at most half of that out of order, at every number of threads",
            lambda method: found.order_ratios(f"broker_{name}", method),
            at_most=0.5,
            found="in order / out of order",
        ),
        *judge_simulations(
            found,
            f"in order with {found.settings[-1]} and more than 5 threads, the broker's "
            f"utilisation is below the sender's, read as {meaning}",
            "broker / sender is below 1 from 6 threads on",
            lambda method: _broker_by_sender(found, name, method, "in")[above_five:],
            at_most=1.0,
            found="broker / sender",
        ),
    ]
