"""From samples to medians, tables and verdicts. Measures nothing."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from bench.peers.contestants import CONTESTANTS, NATS, OURS
from bench.peers.runs import Sample
from bench.peers.workloads import (
    DRAIN_DEEP,
    DRAIN_SHALLOW,
    LIFECYCLE,
    LIFECYCLE_BATCH,
    WAKE,
    WORKLOADS,
)

CHEAPEST_MAX: Final = {LIFECYCLE: 0.5, LIFECYCLE_BATCH: 1.0}
NATS_MAX: Final = 1.5
WAKE_MS_MAX: Final = 2.0
DRAIN_MIN: Final = 0.8


class Line(Struct, frozen=True):
    """Medians over the passes of one contestant's workload."""

    contestant: str
    workload: str
    passes: int
    messages: int
    rate: float
    cpu_ms: float
    client_cpu_ms: float
    p50_ms: float
    p99_ms: float
    receive_p50_ms: float
    from_send_start_p50_ms: float
    memory_mib: float
    backlog: int
    duplicates: int
    missing: int
    cut: int
    """Passes that were cut."""


class Verdict(Struct, frozen=True):
    text: str
    found: float | None
    bound: float
    passed: bool

    def __str__(self) -> str:
        found = "not measured" if self.found is None else f"{self.found:.2f}"
        return f"{'pass' if self.passed else 'MISS'}: {self.text}: {found}, bound {self.bound:g}"


def lines(samples: Sequence[Sample]) -> list[Line]:
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.contestant, sample.workload), []).append(sample)
    return [
        _line(groups[contestant.name, workload.name])
        for workload in WORKLOADS
        for contestant in CONTESTANTS
        if (contestant.name, workload.name) in groups
    ]


def _line(samples: Sequence[Sample]) -> Line:
    all_measured = [sample.measured for sample in samples]

    def median(values: Iterable[float]) -> float:
        return statistics.median(values)

    return Line(
        contestant=samples[0].contestant,
        workload=samples[0].workload,
        passes=len(samples),
        messages=int(median(each.messages for each in all_measured)),
        rate=median(each.rate for each in all_measured),
        cpu_ms=median(each.cpu_ms for each in all_measured),
        client_cpu_ms=median(each.client_cpu_ms for each in all_measured),
        p50_ms=median(each.p50_ms for each in all_measured),
        p99_ms=median(each.p99_ms for each in all_measured),
        receive_p50_ms=median(each.receive_p50_ms for each in all_measured),
        from_send_start_p50_ms=median(each.from_send_start_p50_ms for each in all_measured),
        memory_mib=median(each.memory_bytes / 2**20 for each in all_measured),
        backlog=int(median(each.backlog for each in all_measured)),
        duplicates=sum(each.duplicates for each in all_measured),
        missing=sum(each.missing for each in all_measured),
        cut=sum(each.cut for each in all_measured),
    )


Found = Mapping[tuple[str, str], Line]


def verdicts(medians: Sequence[Line]) -> list[Verdict]:
    found = {(line.contestant, line.workload): line for line in medians}
    return [
        *(_against_cheapest(found, workload) for workload in CHEAPEST_MAX),
        *(_against_nats(found, workload) for workload in CHEAPEST_MAX),
        _wake(found),
        _drain(found),
    ]


def _against_cheapest(found: Found, workload: str) -> Verdict:
    peers = [each.name for each in CONTESTANTS if each.speaks_sqs and each.name != OURS]
    costs = {name: found[name, workload].cpu_ms for name in peers if (name, workload) in found}
    ours = found.get((OURS, workload))
    bound = CHEAPEST_MAX[workload]
    if not costs or ours is None:
        return Verdict(f"CPU of {workload} / cheapest SQS peer", None, bound, False)
    cheapest = min(costs, key=costs.__getitem__)
    ratio = ours.cpu_ms / costs[cheapest]
    text = f"CPU of {workload} / cheapest SQS peer ({cheapest})"
    return Verdict(text, ratio, bound, ratio <= bound)


def _against_nats(found: Found, workload: str) -> Verdict:
    text = f"CPU of {workload} / NATS JetStream"
    ours, theirs = found.get((OURS, workload)), found.get((NATS, workload))
    if ours is None or theirs is None:
        return Verdict(text, None, NATS_MAX, False)
    ratio = ours.cpu_ms / theirs.cpu_ms
    return Verdict(text, ratio, NATS_MAX, ratio <= NATS_MAX)


def _wake(found: Found) -> Verdict:
    text = "wake-up p50 - p50 of an ordinary receive, ms"
    ours = found.get((OURS, WAKE))
    if ours is None:
        return Verdict(text, None, WAKE_MS_MAX, False)
    more = ours.p50_ms - ours.receive_p50_ms
    return Verdict(text, more, WAKE_MS_MAX, more <= WAKE_MS_MAX)


def _drain(found: Found) -> Verdict:
    text = "drain rate at 200,000 / at 1,000"
    shallow, deep = found.get((OURS, DRAIN_SHALLOW)), found.get((OURS, DRAIN_DEEP))
    if shallow is None or deep is None:
        return Verdict(text, None, DRAIN_MIN, False)
    ratio = deep.rate / shallow.rate
    return Verdict(text, ratio, DRAIN_MIN, ratio >= DRAIN_MIN)
