"""The visibility-based model of a cloud queue (000) as a net, its monitors and its figures.

    from dovemq.models.petri.vma import VmaParameters, simulate_vma

    figures = simulate_vma(VmaParameters(reliability=0.88), replications=20)
    figures.delivery_time_s         # an interval: mean, half_width

`pages.py` is the net, page by page. Rates are per second; times inside the net are whole
milliseconds.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dovemq.models.petri.intervals import Interval, interval
from dovemq.models.petri.runs import Laboratory, Report
from dovemq.models.petri.vma.monitors import vma_monitors
from dovemq.models.petri.vma.pages import vma_net
from dovemq.models.petri.vma.parameters import (
    MessageClass,
    Mode,
    Order,
    Service,
    VmaParameters,
    deterministic,
    empirical,
    erlang,
    exponential,
    gamma,
    hyperexponential,
)

__all__ = [
    "MessageClass",
    "Mode",
    "Order",
    "Service",
    "VmaFigures",
    "VmaParameters",
    "deterministic",
    "empirical",
    "erlang",
    "exponential",
    "gamma",
    "hyperexponential",
    "simulate_vma",
    "vma_monitors",
    "vma_net",
]


@dataclass(frozen=True, slots=True)
class VmaFigures:
    """Intervals over replications. Times in seconds, rates per second, the rest in messages."""

    delivery_time_s: Interval
    waiting: Interval
    """In the sender's queue, and visible but not started (Fig. 12)."""
    sender_utilisation: Interval
    broker_utilisation: Interval
    """Mean busy threads per thread."""
    sender_any_busy: Interval
    broker_any_busy: Interval
    """Share of time in which at least one thread is busy."""
    throughput_per_s: Interval
    report: Report


def simulate_vma(
    given: VmaParameters,
    *,
    replications: int = 20,
    duration_s: float = 100,
    warmup_s: float = 0,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Callable[[int], None] | None = None,
) -> VmaFigures:
    """Runs of `duration_s` after a warm-up; 000 has 20 of 100 s without one."""
    stop_ms = round((warmup_s + duration_s) * 1_000)
    laboratory = Laboratory(vma_net(given), vma_monitors(given, stop_ms))
    report = laboratory.replicate(
        replications,
        until=stop_ms,
        warmup=round(warmup_s * 1_000),
        seed=seed,
        confidence=confidence,
        progress=progress,
    )
    sums = [
        (run.figures["sender_queue"].mean or 0.0) + (run.figures["visible"].mean or 0.0)
        for run in report.runs
    ]
    return VmaFigures(
        _scaled(report.interval("Msg_Delivery_Latency"), 1e-3),
        interval(sums, confidence),
        _scaled(report.interval("sender_busy"), 1 / given.sender_threads),
        _scaled(report.interval("broker_busy"), 1 / given.broker_threads),
        report.interval("sender_any_busy"),
        report.interval("broker_any_busy"),
        _scaled(report.rate("delivered"), 1e3),
        report,
    )


def _scaled(found: Interval, factor: float) -> Interval:
    def by(value: float | None) -> float | None:
        return None if value is None else value * factor

    return Interval(
        found.count, by(found.mean), by(found.half_width), by(found.least), by(found.most)
    )
