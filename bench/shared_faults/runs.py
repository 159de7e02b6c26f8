"""One run: a load on standard and FIFO queues through all front ends, one fault, the account."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct

from bench.shared_faults.injecting import Fault, Scene
from dovemq.load.checker import Rules
from dovemq.load.journals import RequestOutcome
from dovemq.load.judgement import CheckReport, Violation
from dovemq.load.plan import LoadPlan
from dovemq.load.reading import open_journals
from dovemq.load.results import LoadResult
from dovemq.load.run import STARTING, Live
from dovemq.load.run import run as run_load

OWNED: Final = "lease"
FIFO: Final = "fifo"
QUEUES: Final = {"standard": 3, FIFO: 3}
"""Queues of each kind, so that each front end owns some."""
BODY_BYTES: Final = 256
LEASE_SECONDS: Final = 5
ANSWER_MS: Final = 5_000
"""A client goes to the next front end if an answer takes longer."""
OUTAGE_MS: Final = 300_000
DRAIN_MS: Final = 40_000
"""The time without any event after which a missing message counts as lost."""
LINGER_MS: Final = 2_000
BEFORE_SECONDS: Final = 4.0
"""The load runs so long before the fault."""
START_LOOK_SECONDS: Final = 0.05

UNANSWERED: Final = ("Unreachable", "Unconnected", "TimedOut")
WRONG: Final = ("lost", "corrupted", "strange", "returned", "doubled", "late")


class LoadSize(Struct, frozen=True):
    """Clients of each queue, and the pause of a sender between two messages."""

    senders: int = 2
    receivers: int = 2
    pause_ms: int = 100
    coordination: str = OWNED

    @property
    def queues(self) -> Mapping[str, int]:
        """The number of queues of each kind: a queue without an owner cannot be FIFO."""
        return {kind: QUEUES[kind] for kind in QUEUES if self.coordination == OWNED or kind != FIFO}


class RunAccount(Struct, frozen=True):
    """The account of one run, of all queues together.

    `gap_ms` is the longest time between two acknowledged sends of one sender. `answered` counts
    errors that a front end answered, `unanswered` broken connections and lost answers.
    `culprits` tells what was seen of each message that violates the rules. Rates are those of
    standard queues; on FIFO queues a message out of order is a violation.
    """

    store: str
    fault: str
    number: int
    seconds: float
    messages: int
    violations: Mapping[str, int]
    duplicates: Mapping[str, int]
    out_of_order_rate: float
    average_displacement: float
    gap_ms: int
    failures: Mapping[str, int]
    tracebacks: tuple[str, ...] = ()
    failure: str | None = None
    culprits: tuple[str, ...] = ()

    @property
    def wrong(self) -> dict[str, int]:
        return {name: count for name in WRONG if (count := self.violations.get(name, 0))}

    @property
    def answered(self) -> int:
        return sum(
            count
            for name, count in self.failures.items()
            if not name.endswith(UNANSWERED) and "NonExistentQueue" not in name
        )

    @property
    def unanswered(self) -> int:
        return sum(count for name, count in self.failures.items() if name.endswith(UNANSWERED))


async def run_once(
    store_name: str, fault: Fault, scene: Scene, folder: Path, size: LoadSize
) -> RunAccount:
    """Runs the load, strikes once, and heals. `folder` must not exist; it keeps the journals."""
    began = time.monotonic()
    lives = {kind: Live() for kind in size.queues}
    loads = [
        asyncio.create_task(
            run_load(
                _plan(scene, kind, size, fault.seconds),
                journals=folder / kind,
                # A crash may lose leases that are younger than 200 ms.
                rules=Rules(allowed=frozenset({Violation.COLLIDED})),
                live=lives[kind],
            )
        )
        for kind in size.queues
    ]
    try:
        await _sending(list(lives.values()), loads)
        await asyncio.sleep(BEFORE_SECONDS)
        await fault.strike(scene)
        results = await asyncio.gather(*loads)
    finally:
        for load in loads:
            load.cancel()
        await asyncio.gather(*loads, return_exceptions=True)
        await fault.heal(scene)
    gap_ms = max(longest_gap_ms(folder / kind / "1") for kind in size.queues)
    seconds = round(time.monotonic() - began, 1)
    account = _account(results, gap_ms, tuple(scene.front_ends.tracebacks()))
    return msgspec.structs.replace(
        account, store=store_name, fault=fault.name, number=scene.number, seconds=seconds
    )


def _plan(scene: Scene, kind: str, size: LoadSize, seconds: int) -> LoadPlan:
    first, *others = scene.front_ends.endpoints
    return LoadPlan(
        endpoint=first,
        further_endpoints=tuple(others),
        name=f"{kind}-{time.time_ns() // 1_000_000 % 100_000_000}",
        seed=scene.number,
        applications=QUEUES[kind],
        queue_attributes={"Coordination": size.coordination},
        senders=size.senders,
        receivers=size.receivers,
        messages=None,
        seconds_max=seconds,
        send_pause_ms=size.pause_ms,
        body_bytes=BODY_BYTES,
        lease_seconds=LEASE_SECONDS,
        fifo=kind == "fifo",
        resend=True,
        answer_ms_max=ANSWER_MS,
        outage_ms_max=OUTAGE_MS,
        drain_ms_max=DRAIN_MS,
        linger_ms=LINGER_MS,
    )


async def _sending(lives: Sequence[Live], loads: Sequence[asyncio.Task[LoadResult]]) -> None:
    while any(live.phase == STARTING or not live.sent for live in lives):
        for load in loads:
            if load.done():
                load.result()
        await asyncio.sleep(START_LOOK_SECONDS)


def longest_gap_ms(journals: Path) -> int:
    """The longest time between two acknowledged sends of the same sender."""
    times: dict[int, list[int]] = {}
    for journal in open_journals([journals]):
        if journal.heading.kind != "sender":
            continue
        for rows in journal.blocks():
            done = rows[rows["outcome"] == RequestOutcome.ACKNOWLEDGED]
            for sender, at in zip(
                done["sender"].tolist(), done["answered_us"].tolist(), strict=True
            ):
                times.setdefault(sender, []).append(at)
    gaps = (np.diff(np.sort(each)) for each in times.values() if len(each) > 1)
    return max((int(gap.max()) // 1_000 for gap in gaps), default=0)


def _account(results: Sequence[LoadResult], gap_ms: int, tracebacks: tuple[str, ...]) -> RunAccount:
    reports = [result.repetitions[0].report for result in results]
    violations: Counter[str] = Counter()
    duplicates: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for result, report in zip(results, reports, strict=True):
        violations.update({str(name): count for name, count in report.faults.items()})
        duplicates.update({str(name): count for name, count in report.duplicates.items()})
        failures.update(result.repetitions[0].failures)
    standard = reports[list(QUEUES).index("standard")]
    return RunAccount(
        store="",
        fault="",
        number=0,
        seconds=0,
        messages=sum(report.messages for report in reports),
        violations=dict(violations),
        duplicates=dict(duplicates),
        out_of_order_rate=standard.rates["out_of_order_rate"],
        average_displacement=standard.rates["average_displacement"],
        gap_ms=gap_ms,
        failures=dict(failures),
        tracebacks=tracebacks,
        failure=next((result.failure for result in results if result.failure), None),
        culprits=tuple(line for report in reports for line in _culprits(report)),
    )


def _culprits(report: CheckReport) -> list[str]:
    return [
        f"{each.queue} sender {each.sender} message {each.send_seq} "
        f"({', '.join(each.faults)}): {'; '.join(each.history)}"
        for each in report.culprits
        if any(fault in WRONG for fault in each.faults)
    ]
