"""The messages of a soak: three kinds of queues, and the checker's account of all."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from bench.shared_faults.runs import WRONG
from dovemq.core.access import AccessKey
from dovemq.load.checker import Rules
from dovemq.load.faults.decisions import Courses
from dovemq.load.faults.fault_log import FaultLog
from dovemq.load.faults.process import Announcement
from dovemq.load.faults.run import FaultRunResult, Stage
from dovemq.load.faults.run import run as run_under_faults
from dovemq.load.faults.spec import ClientFaults, FaultSpec, NetworkFaults
from dovemq.load.judgement import Violation
from dovemq.load.plan import Endpoint, LoadPlan
from dovemq.load.results import LoadResult
from dovemq.load.run import STARTING, Live

BODY_BYTES: Final = 256
LEASE_SECONDS: Final = 5
CLIENTS: Final = 3
"""Senders of each queue, and receivers."""
OUTAGE_MS: Final = 900_000
DRAIN_MS: Final = 60_000
"""The time without any event after which a missing message counts as lost."""
LINGER_MS: Final = 3_000
LOOK_SECONDS: Final = 0.05

QUEUES: Final[Mapping[str, Mapping[str, str]]] = {
    "standard": {},
    "auto": {
        "Partitions": "auto",
        "PartitionsMax": "4",
        "InhibitionSeconds": "5",
        "SessionMigration": "on",
    },
    "fifo": {
        "Partitions": "3",
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
    },
}
"""The attributes of each kind of queue."""
EXCHANGES: Final = FaultSpec(
    network=NetworkFaults(
        drop_request=0.005, drop_response=0.005, cut=0.005, delay=0.005, delay_ms=200
    ),
    client=ClientFaults(quit=0.02),
)
"""Faults of the network and of clients, which each load brings about by itself."""


class Clients(Struct, frozen=True):
    """How much the clients of one service do, and for how long.

    The clients of the queue with `Partitions=auto` come and leave in waves.
    """

    seconds: float
    pause_ms: int
    wave_seconds: float


class MessageAccount(Struct, frozen=True):
    """The account of all queues of one service."""

    messages: int
    receives: int
    wrong: Mapping[str, int]
    duplicates: Mapping[str, int]
    failures: Mapping[str, int]
    failure: str | None
    culprits: tuple[str, ...]


class Loads:
    """Clients of the queues of one service, behind a network that fails."""

    def __init__(
        self, name: str, endpoints: Sequence[Endpoint], clients: Clients, seed: int
    ) -> None:
        self._name, self._endpoints, self._clients = name, endpoints, clients
        self._seed = seed
        self._lives = {kind: Live() for kind in QUEUES}

    @property
    def started(self) -> bool:
        return all(live.phase != STARTING and live.sent for live in self._lives.values())

    def __str__(self) -> str:
        sent = sum(live.sent for live in self._lives.values())
        left = sum(live.missing for live in self._lives.values())
        return f"{self._name}: {sent} sent, {left} under way"

    async def run(
        self, courses_of: Callable[[str], Courses], log: FaultLog, place: Path
    ) -> MessageAccount:
        """`courses_of` gives each kind of queue faults of its own."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    run_under_faults(
                        EXCHANGES,
                        courses_of(kind),
                        self._plan(kind),
                        self._stage(log, place / kind),
                        live=live,
                    )
                )
                for kind, live in self._lives.items()
            ]
        return account_of([task.result() for task in tasks])

    def _plan(self, kind: str) -> LoadPlan:
        first, *others = self._endpoints
        auto = kind == "auto"
        return LoadPlan(
            endpoint=first,
            further_endpoints=tuple(others),
            name=f"{self._name}-{kind}",
            seed=self._seed,
            queue_attributes=QUEUES[kind],
            senders=CLIENTS,
            receivers=CLIENTS,
            messages=None,
            seconds_max=self._clients.seconds,
            send_pause_ms=self._clients.pause_ms,
            wave_seconds=self._clients.wave_seconds if auto else None,
            body_bytes=BODY_BYTES,
            lease_seconds=LEASE_SECONDS,
            fifo=kind == "fifo",
            outage_ms_max=OUTAGE_MS,
            drain_ms_max=DRAIN_MS,
            linger_ms=LINGER_MS,
            keep_queues=True,
        )

    def _stage(self, log: FaultLog, journals: Path) -> Stage:
        # Servers die and clocks jump, so that leases may end early.
        rules = Rules(allowed=frozenset({Violation.COLLIDED}))
        return Stage(journals, _no_key, log, self._endpoints[0], journals, rules)


def _no_key(_: Announcement) -> AccessKey:
    raise AssertionError("the server is started by the soak, not by its loads")


async def all_started(loads: Sequence[Loads], tasks: Sequence[asyncio.Task[Any]]) -> None:
    while not all(each.started for each in loads):
        for task in tasks:
            if task.done():
                task.result()
        await asyncio.sleep(LOOK_SECONDS)


def account_of(outcomes: Sequence[FaultRunResult]) -> MessageAccount:
    results: list[LoadResult] = [outcome.result for outcome in outcomes]
    reports = [result.repetitions[0].report for result in results]
    faults: Counter[str] = Counter()
    duplicates: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for result, report in zip(results, reports, strict=True):
        # Where clients gave up, missing messages may still be in their queue: none counts as lost.
        judged = {
            name: count for name, count in report.faults.items() if name not in report.allowed
        }
        faults.update({str(name): count for name, count in judged.items()})
        duplicates.update({str(cause): count for cause, count in report.duplicates.items()})
        failures.update(result.repetitions[0].failures)
    return MessageAccount(
        messages=sum(report.messages for report in reports),
        receives=sum(report.receives for report in reports),
        wrong={name: faults[name] for name in WRONG},
        duplicates=dict(duplicates),
        failures=dict(failures),
        failure=next((result.failure for result in results if result.failure), None),
        culprits=tuple(
            f"{each.queue} sender {each.sender} message {each.send_seq} "
            f"({', '.join(each.faults)}): {'; '.join(each.history)}"
            for report in reports
            for each in report.culprits
            if not set(report.allowed).issuperset(each.faults)
        ),
    )
