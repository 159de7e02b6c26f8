"""The visibility-based model of a cloud queue (vma) as a net, its monitors and its figures.

    from dovemq.models.petri.vma import simulate_vma
    from dovemq.models.vma.parameters import PAPER

    figures = simulate_vma(replace(PAPER, reliability=0.88), replications=20)
    figures.delivery_time_s         # an estimate: mean, half_width

`pages.py` builds the net page by page. Rates are per second; times inside the net are whole ticks:
milliseconds, or less if the rates need it (`ticks.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dovemq.models import checks
from dovemq.models.estimates import CONFIDENCE, Estimate
from dovemq.models.petri.runs import Laboratory, NetReport
from dovemq.models.petri.vma.monitors import vma_monitors as vma_monitors
from dovemq.models.petri.vma.pages import vma_net as vma_net
from dovemq.models.petri.vma.ticks import run_ticks, ticks_per_second
from dovemq.models.vma.parameters import VmaParameters


@dataclass(frozen=True, slots=True)
class VmaFigures:
    """Intervals over replications. Times in seconds, rates per second, the rest in messages."""

    delivery_time_s: Estimate
    """Time from the production of a message to its first delivery."""
    waiting: Estimate
    """Messages in the sender's queue, and visible messages that no thread has started (Fig. 12)."""
    sender_utilisation: Estimate
    broker_utilisation: Estimate
    """Mean busy threads per thread."""
    sender_any_busy: Estimate
    broker_any_busy: Estimate
    """Share of time in which at least one thread is busy."""
    throughput_per_s: Estimate
    """First deliveries per second."""
    report: NetReport


LATENCY: Final = "Msg_Delivery_Latency"


def simulate_vma(
    given: VmaParameters,
    *,
    replications: int = 20,
    duration_s: float = 100,
    warmup_s: float = 0,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    progress: Callable[[int], None] | None = None,
    enough: Callable[[Estimate], bool] | None = None,
    replications_max: int | None = None,
) -> VmaFigures:
    """Simulates runs of `duration_s` after a warm-up; the paper has 20 of 100 s without one.

    Batches of `replications` are added until the delivery time is precise `enough`, or there are
    `replications_max` runs.
    """
    checks.positive(duration_s, "duration_s")
    checks.not_negative(warmup_s, "warmup_s")
    given.check_simulable()
    ticks = ticks_per_second(given)
    stop = run_ticks(warmup_s + duration_s, ticks, "duration_s")
    laboratory = Laboratory(vma_net(given), vma_monitors(given, stop))
    report = laboratory.replicate(
        replications,
        until=stop,
        warmup=round(warmup_s * ticks),
        seed=seed,
        confidence=confidence,
        progress=progress,
        enough=None if enough is None else lambda report: enough(report.interval(LATENCY)),
        replications_max=replications_max,
    )
    sums = tuple(
        (run.figures["sender_queue"].mean or 0.0) + (run.figures["visible"].mean or 0.0)
        for run in report.runs
    )
    return VmaFigures(
        report.interval(LATENCY).scaled(1 / ticks),
        Estimate(sums, confidence),
        report.interval("sender_busy").scaled(1 / int(given.sender_threads)),
        report.interval("broker_busy").scaled(1 / int(given.broker_threads)),
        report.interval("sender_any_busy"),
        report.interval("broker_any_busy"),
        report.rate("cancelled").scaled(ticks),
        report,
    )
