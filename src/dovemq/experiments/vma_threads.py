"""vma-fig11 to vma-fig13: delivery time, waiting messages and utilisation by number of threads."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import hypot

from dovemq.experiments.claims import agreement, by_simulation, exact, in_order_is_larger, judge
from dovemq.experiments.figure import Curve, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.intervals import ratio
from dovemq.experiments.sweeps import VmaSweep, sweep
from dovemq.models.estimates import Interval
from dovemq.models.vma.methods import by_formula
from dovemq.models.vma.parameters import PAPER, VmaParameters

THREADS = tuple(range(4, 11))
THREADS_TRIED = range(1, 11)
FIXED = 6
RELIABILITIES = (0.99, 0.88)
SIDES = {"n1 = 6, n2 varies": ("broker", 3.0), "n2 = 6, n1 varies": ("sender", 4.0)}
"""The threads that vary in fig. 12, and the messages at which waiting settles in order."""
UTILISATIONS = {"utilisation": "busy threads / n", "any_busy": "P(any thread busy)"}
"""Two meanings of utilisation, which the paper does not define."""
_BOTH = "threads of sender and broker, n1 = n2"


def delivery_time(effort: Effort) -> Figure:
    found = _equal_threads(effort)
    panels = []
    for setting in found.settings:
        half_more = tuple(1.5 * each for each in found.means("delivery_time", setting))
        label = "paper's text: in order, about 1.5 × out of order"
        curves = found.curves("delivery_time", {setting: ""})
        text = Curve(label, tuple(map(float, THREADS)), half_more, points=True)
        panels.append(Panel(setting, _BOTH, "mean delivery time, s", (*curves, text)))
    return Figure(
        "Mean delivery time by number of threads (vma, fig. 11)",
        found.columns(),
        tuple(panels),
        tuple(delivery_claims(found, least_threads())),
        (
            "The paper does not give D_link: it is 0 here.",
            "A failure is known at once (ideal), which is what eq. 8 computes. A timer would add "
            "p/q times the rest of the timeout.",
            "Eq. 8 has q in place of p in its third term.",
        ),
    )


def least_threads() -> list[int]:
    """The fewest threads of a stable system, for each reliability."""
    return [
        next(n for n in THREADS_TRIED if not by_formula(_scenario(q, n, n)).unstable)
        for q in RELIABILITIES
    ]


def delivery_claims(found: VmaSweep, least: Sequence[int]) -> Iterator[Verdict]:
    claim = "a steady state needs at least 4 threads (analytic)"
    yield judge(claim, "fewest threads with ρ below 1, for both q", exact(least), 4, 4)
    yield from by_simulation(found, _delivery_claims)


def _delivery_claims(found: VmaSweep, method: str) -> Iterator[Verdict]:
    yield agreement(found, "delivery_time", method)
    yield in_order_is_larger(found, "delivery_time", method)
    ratios = found.order_ratios("delivery_time", method)
    mean = sum(each.mean for each in ratios) / len(ratios)
    width = hypot(*(each.mean - each.low for each in ratios)) / len(ratios)
    yield judge(
        "out of order performs about 50 % better than in order",
        "in order / out of order, mean over all points",
        [Interval(mean, mean - width, mean + width)],
        least=1.3,
        most=1.7,
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
                (PaperMark(f"paper's text, {side}: in order, about {level:g}", y=level),),
            )
            for side, (moved, level) in SIDES.items()
        ),
        tuple(waiting_claims(found)),
        (
            "Waiting messages are those in the sender's queue, and the visible ones that no thread "
            "of the broker has taken.",
            "The paper's axis is read as messages × 1000.",
        ),
    )


def waiting_claims(found: VmaSweep) -> Iterator[Verdict]:
    yield from _fall_claims(found)
    yield from by_simulation(found, _waiting_claims)


def _fall_claims(found: VmaSweep) -> Iterator[Verdict]:
    """Waiting falls sharply at first and then settles, by the closed form."""
    series = [found.means("waiting", setting) for setting in found.settings]
    falls = [[one - other for one, other in itertools.pairwise(values)] for values in series]
    yield judge(
        "waiting falls sharply at first (analytic)",
        "fall from 4 to 5 threads / largest fall of a later step",
        exact(steps[0] / max(steps[1:]) for steps in falls),
        least=1.0,
    )
    yield judge(
        "waiting settles at about 7 threads (analytic)",
        "share of the fall that is left at 7 threads",
        exact(sum(steps[THREADS.index(7) :]) / sum(steps) for steps in falls),
        most=0.1,
    )


def _waiting_claims(found: VmaSweep, method: str) -> Iterator[Verdict]:
    yield agreement(found, "waiting", method)
    yield in_order_is_larger(found, "waiting", method)
    at_ten = {
        side: [found.values("waiting", _setting(side, q), method, "in")[-1] for q in RELIABILITIES]
        for side in SIDES
    }
    for side, (moved, level) in SIDES.items():
        yield judge(
            f"in order, waiting settles at about {level:g} with more threads of the {moved}",
            "messages at 10 threads, for both q",
            at_ten[side],
            least=level - 0.5,
            most=level + 0.5,
        )
    yield judge(
        "in order, threads of the broker lower waiting more than threads of the sender",
        "waiting with 10 threads of the broker / with 10 of the sender, for both q",
        [ratio(*pair) for pair in zip(*at_ten.values(), strict=True)],
        most=1.0,
    )


def utilisation(effort: Effort) -> Figure:
    found = _equal_threads(effort)
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
        tuple(utilisation_claims(found)),
        (
            "The paper does not define utilisation. Mean busy threads / n cannot depend on the "
            "order of delivery, since the work is the same; P(any thread busy) can.",
        ),
    )


def utilisation_claims(found: VmaSweep) -> Iterator[Verdict]:
    both = [found.means("sender_utilisation", setting) for setting in found.settings]
    yield judge(
        "the sender's utilisation does not depend on q (analytic)",
        "difference between both q",
        exact(abs(one - other) for one, other in zip(*both, strict=True)),
        most=1e-12,
    )
    yield judge(
        "with q = 0.88 the broker is busier than the sender (analytic, out of order)",
        "broker / sender, at every number of threads",
        _broker_by_sender(found, "utilisation", "analytic", "out"),
        least=1.0,
    )
    yield from by_simulation(found, _utilisation_claims)


def _utilisation_claims(found: VmaSweep, method: str) -> Iterator[Verdict]:
    for name, meaning in UTILISATIONS.items():
        yield judge(
            f"the broker's utilisation is much lower in order, read as {meaning}",
            "in order / out of order, at every number of threads",
            found.order_ratios(f"broker_{name}", method),
            most=0.5,
        )
        yield judge(
            "in order with q = 0.88 and more than 5 threads, the broker's utilisation is below the "
            f"sender's, read as {meaning}",
            "broker / sender, from 6 threads on",
            _broker_by_sender(found, name, method, "in")[THREADS.index(6) :],
            most=1.0,
        )


def _broker_by_sender(found: VmaSweep, name: str, method: str, order: str) -> list[Interval]:
    """The broker's utilisation divided by the sender's, with q = 0.88."""
    broker, sender = (
        found.values(f"{station}_{name}", "q = 0.88", method, order)
        for station in ("broker", "sender")
    )
    return [ratio(*pair) for pair in zip(broker, sender, strict=True)]


def _equal_threads(effort: Effort) -> VmaSweep:
    settings = {
        f"q = {q:g}": [(float(count), _scenario(q, count, count)) for count in THREADS]
        for q in RELIABILITIES
    }
    return effort.once("vma, equal threads", lambda: sweep("threads", settings, effort))


def _scenario(q: float, sender_threads: int = FIXED, broker_threads: int = FIXED) -> VmaParameters:
    scenario = replace(PAPER, sender_threads=sender_threads, broker_threads=broker_threads)
    return replace(scenario, reliability=q)


def _setting(side: str, reliability: float) -> str:
    return f"{side}, q = {reliability:g}"
