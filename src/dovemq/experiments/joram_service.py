"""Runs of the real service for joram-fig4 to joram-fig9: given clients at given front ends."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dovemq.experiments.figure import Curve, Effort, Panel
from dovemq.experiments.joram_clients import (
    Course,
    PinnedClients,
    consumed_rate,
    produced_rate,
    rates_by_second,
)
from dovemq.experiments.limited_service import LimitedService
from dovemq.fabric.autonomic import ClientRole
from dovemq.models.estimates import Estimate, Interval

CPU_SHARE: Final = 0.15
"""The share of a core of each front end."""
RUNS: Final = 3
"""The paper has as many."""
RUNS_QUICK: Final = 2
SECONDS: Final = 25.0
SECONDS_QUICK: Final = 5.0
CUT_S: Final = 5.0
"""The first and the last seconds of a run, which do not count, neither here nor in the paper."""
CUT_QUICK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class RunLength:
    runs: int = RUNS
    seconds: float = SECONDS
    cut_s: float = CUT_S


def run_length(effort: Effort) -> RunLength:
    return RunLength(RUNS_QUICK, SECONDS_QUICK, CUT_QUICK_S) if effort.quick else RunLength()


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The numbers of producers and of consumers at each front end."""

    producers: tuple[int, ...]
    consumers: tuple[int, ...]

    @property
    def text(self) -> str:
        return f"{_sum(self.producers)} producer(s), {_sum(self.consumers)} consumer(s)"


def _sum(counts: Sequence[int]) -> str:
    return "+".join(map(str, counts))


@dataclass(frozen=True, slots=True)
class ArrangedRuns:
    """All runs of one arrangement. Rates are messages a second."""

    courses: tuple[Course, ...]
    cut_s: float

    @property
    def produced(self) -> Interval:
        return self._interval(produced_rate)

    @property
    def consumed(self) -> Interval:
        return self._interval(consumed_rate)

    @property
    def waiting(self) -> Interval:
        """Messages that were sent and not received at the end."""
        return Estimate(tuple(float(course[-1].waiting) for course in self.courses)).interval

    @property
    def produced_per_consumed(self) -> Interval:
        """The quotient of each run, which is steadier than that of the means."""
        cut_s = self.cut_s
        pairs = [(produced_rate(each, cut_s), consumed_rate(each, cut_s)) for each in self.courses]
        return Estimate(tuple(one / max(other, 1e-9) for one, other in pairs)).interval

    def consumed_over(self, other: "ArrangedRuns") -> Interval:
        """The quotient of the rates of consumption in runs that followed each other."""
        pairs = zip(self.courses, other.courses, strict=True)
        rates = [
            (consumed_rate(mine, self.cut_s), consumed_rate(theirs, other.cut_s))
            for mine, theirs in pairs
        ]
        return Estimate(tuple(one / max(two, 1e-9) for one, two in rates)).interval

    def _interval(self, rate: Callable[[Course, float], float]) -> Interval:
        return Estimate(tuple(rate(course, self.cut_s) for course in self.courses)).interval


def run_arrangements(
    service: LimitedService, arrangements: Mapping[str, Arrangement], effort: Effort
) -> dict[str, ArrangedRuns]:
    """All runs, the arrangements in turn, so that a slow hour of the machine hits all alike."""
    length = run_length(effort)

    async def work() -> dict[str, ArrangedRuns]:
        courses: dict[str, list[Course]] = {name: [] for name in arrangements}
        async with PinnedClients(service.front_ends.urls) as clients:
            await clients.create_queue({"Partitions": str(len(service.front_ends.owners))})
            for number in range(length.runs):
                for name, arrangement in arrangements.items():
                    effort.tell(f"run {number + 1}/{length.runs}, {name}")
                    await _run(clients, arrangement, service.front_ends.owners, length.seconds)
                    courses[name].append(tuple(clients.samples))
        return {name: ArrangedRuns(tuple(found), length.cut_s) for name, found in courses.items()}

    return asyncio.run(work())


async def _run(
    clients: PinnedClients, arrangement: Arrangement, owners: Sequence[int], seconds: float
) -> None:
    """`owners` are the front ends of partitions 0, 1, …"""
    await clients.purge()
    clients.begin()
    for role, counts in (
        (ClientRole.PRODUCER, arrangement.producers),
        (ClientRole.CONSUMER, arrangement.consumers),
    ):
        for owner, count in zip(owners, counts, strict=True):
            for _ in range(count):
                clients.join(role, owner)
    await clients.watch(seconds)
    await clients.stop()


def mean_course(label: str, courses: Iterable[Course], counted: str) -> Curve:
    """The mean of all runs in each second; `counted` is produced or consumed."""
    means = {
        second: sum(values) / len(values)
        for second, values in rates_by_second(courses, counted).items()
    }
    return Curve(label, tuple(means), tuple(means.values()))


def course_panels(title: str, runs: ArrangedRuns) -> tuple[Panel, Panel]:
    """The rates by second, and the messages that wait."""
    rates = tuple(mean_course(kind, runs.courses, kind) for kind in ("produced", "consumed"))
    waiting = tuple(
        Curve(
            f"waiting messages, run {number}",
            tuple(each.time_s for each in course),
            tuple(float(each.waiting) for each in course),
            dashed=True,
        )
        for number, course in enumerate(runs.courses, 1)
    )
    return (
        Panel(title, "time, s", "messages/s", rates),
        Panel(title, "time, s", "waiting messages", waiting),
    )


def course_columns(found: Mapping[str, ArrangedRuns]) -> dict[str, list[float | int | str]]:
    """Every sample of every run."""
    rows = [
        (name, number, each)
        for name, runs in found.items()
        for number, course in enumerate(runs.courses, 1)
        for each in course
    ]
    return {
        "clients": [name for name, _, _ in rows],
        "run": [number for _, number, _ in rows],
        "time_s": [round(each.time_s, 3) for _, _, each in rows],
        "produced": [each.produced for _, _, each in rows],
        "consumed": [each.consumed for _, _, each in rows],
        "waiting": [each.waiting for _, _, each in rows],
    }


def rates_text(found: Mapping[str, ArrangedRuns]) -> tuple[str, ...]:
    """The mean rates of each arrangement, as lines of a figure."""
    return tuple(
        f"{name}: {runs.produced.mean:.0f} messages/s produced, {runs.consumed.mean:.0f} consumed, "
        f"{runs.waiting.mean:.0f} waiting at the end."
        for name, runs in found.items()
    )


READINGS: Final = (
    "Rates are those that clients count, once a second. The first and the last 5 s of a run do not "
    "count (1 s with --quick).",
    "A producer sends 1 KB as soon as its last message is answered; a consumer receives one "
    "message, deletes it, and asks again. Consumers of an empty queue wait in a long poll.",
)
