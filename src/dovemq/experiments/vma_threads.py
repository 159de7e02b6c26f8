"""vma-fig11 and vma-fig13: delivery time and utilisation as the numbers of threads grow alike."""

from collections.abc import Sequence
from dataclasses import replace

from dovemq.experiments.claims import (
    agreement,
    in_order_is_larger,
    open_claim,
    order_ratios,
    simulations,
)
from dovemq.experiments.figure import Effort, Figure, Panel, Verdict
from dovemq.experiments.scenario import Scenario, by_formula
from dovemq.experiments.sweeps import PAPER, Point, columns, curves, means, points

THREADS = tuple(range(4, 11))
RELIABILITIES = (0.99, 0.88)
_X_LABEL = "threads n1 = n2"


def delivery_time(effort: Effort) -> Figure:
    found = _swept(effort)
    settings = [_setting(reliability) for reliability in RELIABILITIES]
    return Figure(
        "Mean message delivery time with a different number of threads (vma, fig. 11)",
        columns(found, "threads"),
        tuple(
            Panel(setting, _X_LABEL, "delivery time, s", curves(found, "delivery_time", setting))
            for setting in settings
        ),
        (
            _four_threads_are_least(),
            *agreement(found, "delivery_time", settings),
            *in_order_is_larger(found, "delivery_time", settings),
            *_half_more(found, settings),
        ),
        (
            "D_link is not given: 0.",
            "Failures are known at once (ideal), which is what eq. 8 computes; a timer would add "
            "p/q times the rest of the timeout.",
            "Eq. 8 is read with q for p in its third term.",
            "About 50 %: a mean from 30 to 70 %. Agreement: no more points outside their interval "
            "of 95 % than chance has it, at a level of 1 %. The measures are ours.",
        ),
    )


def utilisation(effort: Effort) -> Figure:
    found = _swept(effort)
    settings = [_setting(reliability) for reliability in RELIABILITIES]
    measures = {
        "sender_utilisation": "sender, busy threads / n",
        "broker_utilisation": "broker, busy threads / n",
        "sender_any_busy": "sender, P(any thread busy)",
        "broker_any_busy": "broker, P(any thread busy)",
    }
    return Figure(
        "System components utilisation with a different number of threads (vma, fig. 13)",
        columns(found, "threads"),
        tuple(
            Panel(label, _X_LABEL, "utilisation", curves(found, measure))
            for measure, label in measures.items()
        ),
        (
            _sender_is_the_same(found, settings),
            _broker_is_busier(found),
            *_in_order_lowers(found, settings, "broker_utilisation", "mean busy threads / n"),
            *_in_order_lowers(found, settings, "broker_any_busy", "P(any thread busy)"),
        ),
        (
            "The paper does not say what utilisation is. Mean busy threads / n cannot depend on "
            "the order of delivery, since the work is the same; P(any thread busy) can.",
            "Much lower: below 0.9 of the other somewhere. The measure is ours.",
        ),
    )


def _swept(effort: Effort) -> list[Point]:
    settings = {
        _setting(reliability): [(float(count), _scenario(count, reliability)) for count in THREADS]
        for reliability in RELIABILITIES
    }
    return points(settings, effort)


def _setting(reliability: float) -> str:
    return f"q = {reliability:g}"


def _scenario(threads: int, reliability: float) -> Scenario:
    return replace(PAPER, sender_threads=threads, broker_threads=threads, reliability=reliability)


def _four_threads_are_least() -> Verdict:
    unstable = {
        (threads, reliability): bool(by_formula(_scenario(threads, reliability), Effort()).unstable)
        for threads in (3, 4)
        for reliability in RELIABILITIES
    }
    holds = all(unstable[3, q] and not unstable[4, q] for q in RELIABILITIES)
    return Verdict(
        "n of at least 4 is what a steady state needs",
        holds,
        "3 threads are unstable and 4 are stable, for both q" if holds else str(unstable),
    )


def _half_more(found: Sequence[Point], settings: Sequence[str]) -> list[Verdict]:
    claim = "out of order performs about 50 % better than in order"
    verdicts = []
    for method in simulations(found):
        ratios = order_ratios(found, "delivery_time", settings, method)
        mean = sum(ratios) / len(ratios) - 1.0
        verdicts.append(
            Verdict(f"{claim} ({method})", 0.3 <= mean <= 0.7, f"in order takes {mean:.0%} longer")
        )
    return verdicts or [open_claim(claim)]


def _sender_is_the_same(found: Sequence[Point], settings: Sequence[str]) -> Verdict:
    series = [means(found, "sender_utilisation", setting) for setting in settings]
    apart = max(abs(one - other) for one, other in zip(*series, strict=True))
    return Verdict(
        "the sender's utilisation does not depend on q (analytic)",
        apart < 1e-12,
        f"at most {apart:.2g} apart",
    )


def _broker_is_busier(found: Sequence[Point]) -> Verdict:
    setting = _setting(RELIABILITIES[-1])
    sender = means(found, "sender_utilisation", setting)
    broker = means(found, "broker_utilisation", setting)
    return Verdict(
        "with q = 0.88 the broker is busier than the sender (analytic, out of order)",
        all(one > other for one, other in zip(broker, sender, strict=True)),
        f"by 1/q = {broker[0] / sender[0]:.3f}",
    )


def _in_order_lowers(
    found: Sequence[Point], settings: Sequence[str], measure: str, meaning: str
) -> list[Verdict]:
    claim = f"the broker's utilisation is much lower in order, read as {meaning}"
    verdicts = []
    for method in simulations(found):
        ratios = order_ratios(found, measure, settings, method)
        verdicts.append(
            Verdict(
                f"{claim} ({method})",
                min(ratios) < 0.9,
                f"in order / out of order: {min(ratios):.2f} to {max(ratios):.2f}",
            )
        )
    return verdicts or [open_claim(claim)]
