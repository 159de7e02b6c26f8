"""Turns samples into medians, tables and verdicts; measures nothing."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from bench.peers.contestants import CONTESTANTS, NATS, OURS
from bench.peers.runs import Sample
from bench.peers.workloads import (
    DEEP,
    DRAIN_DEEP,
    DRAIN_SHALLOW,
    LIFECYCLE,
    LIFECYCLE_BATCH,
    SHALLOW,
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
    """`found` must be at most the bound, or at least for a rate; None if it was not measured."""

    text: str
    found: float | None
    bound: float
    at_least: bool = False

    @property
    def passed(self) -> bool | None:
        if self.found is None:
            return None
        return self.found >= self.bound if self.at_least else self.found <= self.bound

    def __str__(self) -> str:
        bound = f"{'at least' if self.at_least else 'at most'} {self.bound:g}"
        if self.found is None:
            return f"not measured: {self.text}, {bound}"
        return f"{'pass' if self.passed else 'MISS'}: {self.text}: {self.found:.2f}, {bound}"


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
    measured = [name for name in peers if (name, workload) in found]
    cheapest = min(measured, key=lambda name: found[name, workload].cpu_ms, default="none")
    text = f"CPU of {workload} / cheapest SQS-compatible peer ({cheapest})"
    return Verdict(text, _cpu_ratio(found, workload, cheapest), CHEAPEST_MAX[workload])


def _against_nats(found: Found, workload: str) -> Verdict:
    text = f"CPU of {workload} / NATS JetStream"
    return Verdict(text, _cpu_ratio(found, workload, NATS), NATS_MAX)


def _cpu_ratio(found: Found, workload: str, peer: str) -> float | None:
    ours, theirs = found.get((OURS, workload)), found.get((peer, workload))
    return ours.cpu_ms / theirs.cpu_ms if ours and theirs else None


def _wake(found: Found) -> Verdict:
    ours = found.get((OURS, WAKE))
    more = ours.p50_ms - ours.receive_p50_ms if ours else None
    return Verdict("wake-up p50 - p50 of an ordinary receive, ms", more, WAKE_MS_MAX)


def _drain(found: Found) -> Verdict:
    shallow, deep = found.get((OURS, DRAIN_SHALLOW)), found.get((OURS, DRAIN_DEEP))
    ratio = deep.rate / shallow.rate if shallow and deep else None
    depth = f"{deep.backlog:,}" if deep else f"{DEEP:,}"
    text = f"drain rate at {depth} / at {SHALLOW:,}"
    return Verdict(text, ratio, DRAIN_MIN, at_least=True)
