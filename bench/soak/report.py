"""The figure of a soak: verdicts, memory and descriptors over time; and the table of its counts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bench.soak.running import ServiceAccount, SoakAccount
from bench.soak.trends import LATER_SHARE, Sample, bounded, slope_per_hour, spell_means
from dovemq.experiments.figure import Column, Curve, Figure, Panel, Verdict
from dovemq.models.estimates import Interval

MEMORY_BAR: Final = 4.0
"""MiB an hour. At the rates of these runs it would be more if a server kept the id of each message,
49 bytes and a slot of 8."""
DESCRIPTOR_BAR: Final = 10.0
"""Descriptors an hour: fewer than one kept in a hundred faults."""
MIB: Final = 1 << 20
POINT_SECONDS: Final = 10.0
"""The distance of points in pictures."""
FIELDS: Final = (("resident_bytes", MIB, "MiB"), ("descriptors", 1, "descriptors"))


def figure_of(account: SoakAccount) -> Figure:
    return Figure(
        title=f"Soak of {account.seconds / 60:.0f} minutes, {account.store}",
        data=_columns(account),
        panels=(
            _panel(account, "resident_bytes", MIB, "Resident memory", "MiB"),
            _panel(account, "descriptors", 1, "Open descriptors", "descriptors"),
        ),
        verdicts=tuple(verdicts(account)),
    )


def verdicts(account: SoakAccount) -> Iterator[Verdict]:
    services = account.services
    wrong: Counter[str] = Counter()
    for each in services:
        wrong.update(each.messages.wrong)
    early = [each.messages.failure for each in services if each.messages.failure]
    # Messages that clients had no time to receive do not count as lost.
    whole = not early and all(each.messages.messages for each in services)
    yield Verdict(
        "No message is lost, changed, doubled, out of order on a FIFO queue, or back after its "
        "delete",
        "0 of each",
        not wrong.total() if whole else False if wrong.total() else None,
        "; ".join([*(f"{count} {name}" for name, count in wrong.items()), *early]),
    )
    yield _jobs(services)
    found = [*account.findings, *(line for each in services for line in each.findings)]
    yield Verdict(
        "Stores are sound, servers and workers end by command alone, and no log has a traceback",
        "nothing found",
        not found,
        "; ".join(found) or "nothing",
    )
    for process in account.lived:
        for field, unit, name in FIELDS:
            yield _flat(account, process, field, unit, name)


def _jobs(services: Sequence[ServiceAccount]) -> Verdict:
    findings = [line for each in services for line in each.jobs.findings]
    submitted = sum(each.jobs.submitted for each in services)
    return Verdict(
        "Every job ends exactly once, and each task sees one result of each task before it",
        "no finding in documents and timelines at the end of jobs, in a later look, and in lists",
        not findings if submitted else None,
        "; ".join(findings) or f"{submitted} jobs",
    )


def _flat(account: SoakAccount, process: str, field: str, unit: int, name: str) -> Verdict:
    samples = [each for each in account.samples if each.process == process]
    from_s = account.seconds * (1 - LATER_SHARE)
    points = spell_means(samples, account.spells, field, from_s)
    slope = slope_per_hour(points)
    scaled = Interval(slope.mean / unit, slope.low / unit, slope.high / unit)
    memory = unit == MIB
    claim = f"{'Memory' if memory else 'The number of descriptors'} of the {process} does not grow"
    return bounded(claim, scaled, MEMORY_BAR if memory else DESCRIPTOR_BAR, name, len(points))


def _columns(account: SoakAccount) -> dict[str, Column]:
    samples = account.samples
    return {
        "second": [round(each.at_s, 1) for each in samples],
        "process": [each.process for each in samples],
        "pid": [each.pid for each in samples],
        "resident_bytes": [each.resident_bytes for each in samples],
        "descriptors": [each.descriptors for each in samples],
    }


def _panel(account: SoakAccount, field: str, unit: int, title: str, label: str) -> Panel:
    by_process: dict[str, list[Sample]] = {}
    for each in account.samples:
        by_process.setdefault(each.process, []).append(each)
    curves = []
    for process, samples in by_process.items():
        thinned = samples[:: max(1, round(POINT_SECONDS * len(samples) / account.seconds))]
        minutes = tuple(each.at_s / 60 for each in thinned)
        curves.append(
            Curve(process, minutes, tuple(getattr(each, field) / unit for each in thinned))
        )
    return Panel(title, "minutes", label, tuple(curves))


def counts(account: SoakAccount) -> dict[str, str | int | float]:
    """The numbers of a run by name."""
    services = account.services
    fired: Counter[str] = Counter(account.fired)
    duplicates: Counter[str] = Counter()
    for each in services:
        fired.update(each.fired)
        duplicates.update(each.messages.duplicates)
    return {
        "minutes": round(account.seconds / 60, 1),
        "messages": sum(each.messages.messages for each in services),
        "receives": sum(each.messages.receives for each in services),
        "duplicates": _listed(duplicates),
        "failed requests of clients": sum(
            sum(each.messages.failures.values()) for each in services
        ),
        "jobs": sum(each.jobs.submitted for each in services),
        "jobs seen again after their end": sum(each.jobs.seen_again for each in services),
        "jobs that failed and were retried": sum(each.jobs.failures for each in services),
        "messages taken from dead-letter topics": sum(each.jobs.dead for each in services),
        "faults": fired.total(),
        "faults by kind": _listed(fired),
        "load of the machine, mean": round(sum(account.loads) / max(1, len(account.loads)), 1),
        "load of the machine, most": round(max(account.loads, default=0.0), 1),
    }


def _listed(found: Mapping[str, int]) -> str:
    total = f"{sum(found.values()):,}"
    parts = ", ".join(f"{count:,} {name}" for name, count in sorted(found.items()) if count)
    return f"{total}: {parts}" if parts else total
