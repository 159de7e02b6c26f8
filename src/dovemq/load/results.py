"""The measurements of a load run: one value per repetition, and their medians."""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from dovemq.load.counters import Activity, WorkerTally
from dovemq.load.judgement import CheckReport
from dovemq.load.timings import Times, joined

CONFIDENCE: Final = 0.95


class RequestStatistics(Struct, frozen=True):
    """Requests of one kind: messages acknowledged in all and per second, and response times."""

    messages: int
    rate: float
    times: Times


class Repetition(Struct, frozen=True):
    """The measurements of one repetition.

    `seconds` is the time from the first start to the last settle. `misses` counts receives without
    a message, `foreign` messages that are not of this run. CPU times cover the whole repetition;
    that of the server is None if no process was named.
    """

    seconds: float
    sends: RequestStatistics
    receives: RequestStatistics
    settles: RequestStatistics
    misses: int
    quits: int
    foreign: int
    failures: dict[str, int]
    own_cpu_seconds: float
    server_cpu_seconds: float | None
    report: CheckReport

    @property
    def own_cpu_us(self) -> float:
        """CPU time of the clients for each settled message."""
        return 1e6 * self.own_cpu_seconds / max(1, self.settles.messages)

    @property
    def server_cpu_us(self) -> float | None:
        if self.server_cpu_seconds is None:
            return None
        return 1e6 * self.server_cpu_seconds / max(1, self.settles.messages)


class MedianInterval(Struct, frozen=True):
    """A median and its 95 % interval; with fewer than six values, the least and the greatest."""

    median: float
    low: float
    high: float


class LoadResult(Struct, frozen=True):
    """The result of a run.

    `interrupted`: the run was stopped. `failure`: why clients gave up. In both cases missing
    messages are no violation. `leftovers` are queues that could not be removed.
    """

    run: str
    repetitions: tuple[Repetition, ...]
    interrupted: bool = False
    failure: str | None = None
    leftovers: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.failure is not None or any(each.report.failed for each in self.repetitions)

    @property
    def figures(self) -> dict[str, MedianInterval]:
        """Returns the figures of the table by name; none if there is no repetition."""
        rows = [_row(each) for each in self.repetitions]
        names = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
        return {name: figure([row[name] for row in rows]) for name in names}


def measured(tallies: Sequence[Activity]) -> RequestStatistics:
    from_us = max(tally.counts_from_us for tally in tallies)
    last_us = max(tally.last_us for tally in tallies)
    counted = sum(tally.messages_counted for tally in tallies)
    seconds = (last_us - from_us) / 1e6
    rate = counted / seconds if counted and seconds > 0 else 0.0
    times = joined(tally.timings for tally in tallies).times()
    return RequestStatistics(sum(tally.messages for tally in tallies), round(rate, 3), times)


def repetition(
    tallies: Sequence[WorkerTally],
    seconds: float,
    server_cpu_seconds: float | None,
    report: CheckReport,
) -> Repetition:
    failures: Counter[str] = Counter()
    for tally in tallies:
        failures.update(tally.failures)
    return Repetition(
        seconds,
        measured([tally.sends for tally in tallies]),
        measured([tally.receives for tally in tallies]),
        measured([tally.settles for tally in tallies]),
        sum(tally.misses for tally in tallies),
        sum(tally.quits for tally in tallies),
        sum(tally.foreign for tally in tallies),
        dict(sorted(failures.items())),
        sum(tally.cpu_seconds for tally in tallies),
        server_cpu_seconds,
        report,
    )


def figure(values: Sequence[float]) -> MedianInterval:
    ordered = sorted(values)
    outside = _outside(len(ordered))
    return MedianInterval(statistics.median(ordered), ordered[outside], ordered[-1 - outside])


def _outside(count: int) -> int:
    """Returns how many values at each end the interval of a median leaves out."""
    outside, tail = 0, 0.5**count
    while outside < count // 2:
        # The median is equally likely above and below each value: a sum of binomial probabilities.
        tail += math.comb(count, outside + 1) * 0.5**count
        if 2 * tail > 1 - CONFIDENCE:
            break
        outside += 1
    return outside


def _row(each: Repetition) -> dict[str, float]:
    row = {"send rate": each.sends.rate, "receive+delete rate": each.settles.rate}
    for name, part in (("send", each.sends), ("receive", each.receives), ("delete", each.settles)):
        for quantile in ("p50", "p95", "p99"):
            row[f"{name} {quantile}"] = getattr(part.times, quantile)
    row |= {name.replace("_", " "): rate for name, rate in each.report.rates.items()}
    row["own CPU"] = each.own_cpu_us
    if each.server_cpu_us is not None:
        row["server CPU"] = each.server_cpu_us
    return row
