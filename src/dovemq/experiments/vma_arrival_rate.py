"""vma-fig15: delivery time, waiting and utilisation as messages arrive faster."""

from collections.abc import Sequence
from dataclasses import replace

from dovemq.experiments.claims import agreement
from dovemq.experiments.figure import Effort, Figure, Verdict
from dovemq.experiments.sweeps import PAPER, Point, columns, points, select
from dovemq.experiments.vma_panels import three_panels

ARRIVAL_RATES = tuple(range(5, 86, 5))
THREADS = (5, 6, 7, 8, 9, 10)
RELIABILITY = 0.88


def arrival_rate(effort: Effort) -> Figure:
    found = points(
        {
            _setting(threads): [
                (
                    float(rate),
                    replace(
                        PAPER,
                        arrival_rate=float(rate),
                        sender_threads=threads,
                        broker_threads=threads,
                        reliability=RELIABILITY,
                    ),
                )
                for rate in ARRIVAL_RATES
                if rate < 10 * threads * RELIABILITY
            ]
            for threads in THREADS
        },
        effort,
        orders=("out",),
    )
    settings = [_setting(threads) for threads in THREADS]
    return Figure(
        "Performance with different arrival rates, μ = 10, q = 0.88 (vma, fig. 15)",
        columns(found, "arrival_rate"),
        three_panels(found, "arrival rate, messages/s"),
        (
            *(_rises_steeply(found, setting) for setting in settings),
            _broker_is_always_busier(found, settings),
            *agreement(found, "delivery_time", settings),
        ),
        ("The range of λ is not given: it is swept in steps of 5/s up to where ρ reaches 1.",),
    )


def _setting(threads: int) -> str:
    return f"n = {threads}"


def _rises_steeply(found: Sequence[Point], setting: str) -> Verdict:
    """The last step of the sweep rises more than all steps before it together."""
    values = [point.answer.measures["delivery_time"].mean for point in select(found, setting)]
    before, last = values[-2] - values[0], values[-1] - values[-2]
    return Verdict(
        f"delivery time rises slowly, then steeply near ρ = 1 ({setting}, analytic)",
        last > before,
        f"{values[0]:.3f} s at first, {values[-2]:.3f} s and {values[-1]:.3f} s at last",
    )


def _broker_is_always_busier(found: Sequence[Point], settings: Sequence[str]) -> Verdict:
    ratios = [
        point.answer.measures["broker_utilisation"].mean
        / point.answer.measures["sender_utilisation"].mean
        for setting in settings
        for point in select(found, setting)
    ]
    return Verdict(
        "the broker is always a little busier than the sender (analytic)",
        min(ratios) > 1.0,
        f"by 1/q = {ratios[0]:.3f} at every rate",
    )
