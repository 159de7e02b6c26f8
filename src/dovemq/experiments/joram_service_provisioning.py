"""joram-fig10 and joram-fig11 on the real service: clients join one by one.

A *policy* says how many partitions the queue has and at which front end a client joins:

    static      one partition; all clients at its front end
    by hand     the experiment adds the second partition at the twelfth client, and later clients
                join at its front end
    auto        `Partitions=auto`: the service adds the second partition and elects a partition for
                each session; clients join at the front ends in turn, as behind a load balancer
"""

import asyncio
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from dovemq.client import AdminClient
from dovemq.client.admin_session import Document
from dovemq.experiments.claims import judge
from dovemq.experiments.figure import Column, Effort, Figure, Panel, PaperMark, Verdict
from dovemq.experiments.intervals import interval_columns, ratio
from dovemq.experiments.joram_clients import Course, PinnedClients, rates_by_second
from dovemq.experiments.joram_service import CPU_SHARE, READINGS, mean_course, run_length
from dovemq.experiments.limited_service import LimitedService, limited_service
from dovemq.fabric.autonomic import ClientRole
from dovemq.models.estimates import Estimate, Interval
from dovemq.system.clock import SystemClock

FRONT_ENDS: Final = 2
CLIENTS: Final = 15
CLIENTS_BEFORE: Final = 12
"""The paper adds its second queue when so many clients have joined, after about 120 s."""
GAP_S: Final = 10.0
GAP_QUICK_S: Final = 0.5
AFTER_S: Final = 60.0
AFTER_QUICK_S: Final = 4.0
AUDIT_SHOWN: Final = 20
ADDED: Final = "add partition"
"""The action of the audit log."""
PAPER_STEP: Final = 3.7 / 1.9
STEP: Final = (1.85, 2.05)
SETTLED: Final = (0.95, 1.05)


class JoinPolicy(Protocol):
    name: str

    async def begin(self, clients: PinnedClients) -> None:
        """Creates the queue."""
        ...

    async def front_end_for(self, joined: int, role: ClientRole, clients: PinnedClients) -> int:
        """The place of the front end at which a client joins when `joined` have."""
        ...


class StaticPolicy:
    name = "static"

    def __init__(self, service: LimitedService) -> None:
        self._owners = service.front_ends.owners

    async def begin(self, clients: PinnedClients) -> None:
        await clients.create_queue({"Partitions": "1"})

    async def front_end_for(self, joined: int, role: ClientRole, clients: PinnedClients) -> int:
        return self._owners[0]


class ByHandPolicy(StaticPolicy):
    name = "by hand"

    async def front_end_for(self, joined: int, role: ClientRole, clients: PinnedClients) -> int:
        if joined == CLIENTS_BEFORE:
            await clients.set_attributes({"Partitions": "2"})
        return self._owners[0 if joined < CLIENTS_BEFORE else 1]


class AutoPolicy(StaticPolicy):
    name = "auto"

    async def begin(self, clients: PinnedClients) -> None:
        await clients.create_queue({"Partitions": "auto", "PartitionsMax": "2"})

    async def front_end_for(self, joined: int, role: ClientRole, clients: PinnedClients) -> int:
        return self._owners[joined % len(self._owners)]


POLICIES: Final[Mapping[str, type[StaticPolicy]]] = {
    each.name: each for each in (StaticPolicy, ByHandPolicy, AutoPolicy)
}


@dataclass(frozen=True, slots=True)
class ProvisionedRun:
    """`added_s` is when the thirteenth client joined. `sized_s` is when the service added a
    partition by itself, and `sized_for` the number of clients then. `audit` are the last entries of
    the audit log, as lines."""

    course: Course
    added_s: float
    end_s: float
    audit: tuple[str, ...]
    sized_s: float | None = None
    sized_for: int = 0

    @property
    def step(self) -> float:
        """The rate after the second partition relative to the rate before."""
        before = _rate(self.course, self.added_s - (self.end_s - self.added_s), self.added_s)
        after = _rate(self.course, (self.added_s + self.end_s) / 2, self.end_s)
        return after / max(before, 1e-9)

    @property
    def rate_at_end(self) -> float:
        return _rate(self.course, (self.added_s + self.end_s) / 2, self.end_s)


def _rate(course: Course, first_s: float, end_s: float) -> float:
    """Messages consumed a second in this span, at least one interval between samples."""
    inside = [each for each in course if first_s <= each.time_s <= end_s]
    if len(inside) <= 1:
        return 0.0
    return (inside[-1].consumed - inside[0].consumed) / (inside[-1].time_s - inside[0].time_s)


def static(effort: Effort) -> Figure:
    """Fig. 10."""
    found, limit = _runs(("static",), effort)
    return _figure("One partition while clients join (joram, fig. 10)", found, limit)


def dynamic(effort: Effort) -> Figure:
    """Fig. 11."""
    found, limit = _runs(tuple(POLICIES), effort)
    title = "A second partition is added while clients join (joram, fig. 11)"
    return _figure(title, found, limit)


def _runs(names: tuple[str, ...], effort: Effort) -> tuple[dict[str, list[ProvisionedRun]], str]:
    """Each run has a service of its own: a queue keeps a removed partition for a minute."""
    found: dict[str, list[ProvisionedRun]] = {}
    limit, runs = "", run_length(effort).runs
    for number in range(runs):
        for name in names:
            effort.tell(f"run {number + 1}/{runs}, {name}")
            key = "joram, clients join", name, number
            run, limit = effort.once(key, functools.partial(_one_run, name, effort))
            found.setdefault(name, []).append(run)
    return found, limit


def _one_run(name: str, effort: Effort) -> tuple[ProvisionedRun, str]:
    with limited_service(FRONT_ENDS, FRONT_ENDS, CPU_SHARE) as service:
        return asyncio.run(_run(service, POLICIES[name](service), effort)), service.reading


async def _run(service: LimitedService, policy: JoinPolicy, effort: Effort) -> ProvisionedRun:
    gap_s, after_s = (GAP_QUICK_S, AFTER_QUICK_S) if effort.quick else (GAP_S, AFTER_S)
    async with PinnedClients(service.front_ends.urls) as clients:
        await policy.begin(clients)
        began_ms = SystemClock().now_ms()
        clients.begin()
        joins_s = []
        for joined in range(CLIENTS):
            role = ClientRole.CONSUMER if joined % 3 else ClientRole.PRODUCER
            joins_s.append(clients.samples[-1].time_s)
            clients.join(role, await policy.front_end_for(joined, role, clients))
            await clients.watch(gap_s)
        await clients.watch(after_s)
        course = tuple(clients.samples)
    entries = await _audit(service)
    sized_s = _time_of_addition(entries, began_ms)
    return ProvisionedRun(
        course,
        joins_s[CLIENTS_BEFORE],
        course[-1].time_s,
        tuple(map(_line, entries)),
        sized_s,
        0 if sized_s is None else sum(each < sized_s for each in joins_s),
    )


async def _audit(service: LimitedService) -> list[Document]:
    """The last entries of the audit log of each front end, the oldest first."""
    entries: list[Document] = []
    for server in service.front_ends.servers:
        async with AdminClient(server.admin_url) as admin:
            entries += (await admin.audit(AUDIT_SHOWN))["entries"]
    return sorted(entries, key=lambda entry: str(entry["ts"]))


def _time_of_addition(entries: Iterable[Document], began_ms: int) -> float | None:
    """The second of the run in which the service added a partition; None if it never did."""
    added = (entry["ts"] for entry in entries if entry["action"] == ADDED)
    first = next(added, None)
    return None if first is None else datetime.fromisoformat(first).timestamp() - began_ms / 1_000


def _line(entry: Document) -> str:
    shown = ("ts", "action", "target", "outcome", "details")
    return ", ".join(f"{name} {entry.get(name)}" for name in shown)


def _figure(title: str, found: Mapping[str, list[ProvisionedRun]], limit: str) -> Figure:
    return Figure(
        title,
        _columns(found),
        (
            Panel(
                "clients join one by one",
                "time, s",
                "messages consumed/s",
                tuple(
                    mean_course(name, (run.course for run in runs), "consumed")
                    for name, runs in found.items()
                ),
                (PaperMark("the thirteenth client joins", x=_added_s(found)),),
            ),
        ),
        tuple(provisioning_claims(found)),
        (
            limit,
            *READINGS[1:],
            "Five producers and ten consumers join, one every 10 s (0.5 s with --quick), a "
            "producer and then two consumers, and none leaves. Rates before the step are those of "
            "as long a time before the thirteenth client as is measured after it; rates after it "
            "leave out the first half.",
            *_sizes(found),
            *(
                f"audit log, {name}, first run: {line}"
                for name, runs in found.items()
                for line in runs[0].audit
            ),
        ),
    )


def _sizes(found: Mapping[str, list[ProvisionedRun]]) -> Iterator[str]:
    for number, run in enumerate(found.get(AutoPolicy.name, ()), 1):
        if run.sized_s is None:
            yield f"auto, run {number}: the service added no partition."
        else:
            yield (
                f"auto, run {number}: the service added a partition after {run.sized_s:.0f} s, "
                f"when {run.sized_for} client(s) had come."
            )


def _added_s(found: Mapping[str, list[ProvisionedRun]]) -> float:
    times = [run.added_s for runs in found.values() for run in runs]
    return sum(times) / len(times)


def _by_second(runs: list[ProvisionedRun]) -> dict[float, Interval]:
    by_second = rates_by_second((run.course for run in runs), "consumed")
    return {second: Estimate(values).interval for second, values in by_second.items()}


def _columns(found: Mapping[str, list[ProvisionedRun]]) -> dict[str, Column]:
    rows = [
        (name, second, each)
        for name, runs in found.items()
        for second, each in _by_second(runs).items()
    ]
    return {
        "policy": [name for name, _, _ in rows],
        "time_s": [second for _, second, _ in rows],
        **interval_columns("consumed_per_s", [each for _, _, each in rows]),
    }


def provisioning_claims(found: Mapping[str, list[ProvisionedRun]]) -> Iterator[Verdict]:
    steps = {
        name: Estimate(tuple(run.step for run in runs)).interval for name, runs in found.items()
    }
    yield judge(
        "one partition settles at its ceiling (fig. 10)",
        "rate after the thirteenth client / before, static",
        [steps["static"]],
        *SETTLED,
    )
    if ByHandPolicy.name in found:
        yield judge(
            "a second partition raises the rate from 1.9 to 3.7, by 1.95 (fig. 11; by hand)",
            "rate after the thirteenth client / before",
            [steps[ByHandPolicy.name]],
            *STEP,
        )
    for name in found:
        if name != StaticPolicy.name:
            yield judge(
                f"two partitions deliver more than one (fig. 10 and 11; {name})",
                "rate at the end / static",
                [ratio(_at_end(found[name]), _at_end(found["static"]))],
                least=1.0,
            )


def _at_end(runs: list[ProvisionedRun]) -> Interval:
    return Estimate(tuple(run.rate_at_end for run in runs)).interval
