"""A load run: creates queues, runs senders and receivers, and checks every message at the end."""

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from dovemq.core.locations import Location
from dovemq.core.ports import Clock
from dovemq.load.checker import STRICT, Rules, check
from dovemq.load.costs import ProcessUnknown, tree_cpu_seconds
from dovemq.load.counters import PendingMessages, WorkerTally
from dovemq.load.crew import Crew
from dovemq.load.judgement import CheckReport, Violation
from dovemq.load.plan import LoadPlan, Phases, PlanInvalid
from dovemq.load.queues import RunQueues
from dovemq.load.reading import open_journals
from dovemq.load.receiver import Quits
from dovemq.load.results import LoadResult, Repetition, repetition
from dovemq.load.threads import Share
from dovemq.load.worker import NEWS_SECONDS
from dovemq.load.worker import clock as shared_clock
from dovemq.system.clock import SystemClock

START_MS: Final = 50
"""The delay between the command and the start, so that all processes start together."""
STARTING: Final = "starting"
"""The phase before the queues exist."""
RECEIVING: Final = "receiving"
"""The phase after everything has been sent."""


Named = Callable[[], Awaitable[frozenset[bytes]]]


class Live:
    """The progress of a run. Rates are those of the last second."""

    def __init__(self) -> None:
        self.phase = STARTING
        self.repetition = 0
        self.sent = 0
        self.settled = 0
        self.missing = 0
        self.send_rate = 0.0
        self.settle_rate = 0.0
        self._looked_us = 0
        self._then = (0, 0)

    def look(self, pending: PendingMessages, now_us: int) -> None:
        self.sent, self.settled, self.missing = pending.sent, pending.settled, pending.missing
        seconds = (now_us - self._looked_us) / 1e6
        if seconds >= 1:
            sent, settled = self._then
            self.send_rate = max(0, self.sent - sent) / seconds
            self.settle_rate = max(0, self.settled - settled) / seconds
            self._then, self._looked_us = (self.sent, self.settled), now_us

    def __str__(self) -> str:
        return (
            f"repetition {self.repetition}, {self.phase}: {self.sent} sent "
            f"({self.send_rate:.0f}/s), {self.settled} received and deleted "
            f"({self.settle_rate:.0f}/s)"
        )


async def run(
    plan: LoadPlan,
    *,
    journals: Path | None = None,
    traces: Location | None = None,
    rules: Rules = STRICT,
    quits: Quits | None = None,
    named: Named | None = None,
    stop: asyncio.Event | None = None,
    live: Live | None = None,
    clock: Clock | None = None,
) -> LoadResult:
    """Runs the load and returns its measurements and checks.

    The journals of each repetition are kept in a directory below `journals`; the run is written as
    a lifecycle trace to `traces`, which needs the extra `trace`. `quits` decides for receivers of
    this process, so it needs a plan with one process. `named` returns the messages that the service
    has reported as lost; it is called at the end. Setting `stop` ends the run soon, with a result
    of what was done.
    """
    if quits is not None and plan.processes > 1:
        raise PlanInvalid("processes must be 1 where a function decides who quits")
    stop = stop or asyncio.Event()
    live = live or Live()
    done: list[Repetition] = []
    leftovers: list[str] = []
    failure = None
    with contextlib.ExitStack() as stack:
        folder = journals or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for number in range(1, plan.repetitions + 1):
            live.repetition = number
            part = _Part(plan, number, folder / str(number), clock or SystemClock(), live)
            done.append(await part.run(rules, quits, named, stop))
            if traces is not None:
                await asyncio.to_thread(part.trace, traces)
            leftovers += part.leftovers
            failure = part.failure
            if stop.is_set() or failure:
                break
    return LoadResult(plan.name, tuple(done), stop.is_set(), failure, tuple(leftovers))


class _Part:
    """One repetition."""

    def __init__(self, plan: LoadPlan, number: int, folder: Path, clock: Clock, live: Live) -> None:
        self._plan = plan
        self._number = number
        self._folder = folder
        self._live = live
        monotonic_us = shared_clock(0)
        self._offset_us = 1_000 * clock.now_ms() - monotonic_us()
        self._now_us: Callable[[], int] = shared_clock(self._offset_us)
        self._pending = PendingMessages(plan.processes)
        self._began_us = self._now_us()
        self._queues = RunQueues(plan, number, self._now_us)
        self._queue_labels: list[str] = []
        self.failure: str | None = None

    @property
    def leftovers(self) -> list[str]:
        return self._queues.leftovers

    async def run(
        self, rules: Rules, quits: Quits | None, named: Named | None, stop: asyncio.Event
    ) -> Repetition:
        self._folder.mkdir(parents=True)
        async with self._queues as urls:
            # `account/name`, the end of every queue URL.
            self._queue_labels = ["/".join(url.split("/")[-2:]) for url in urls]
            crew = await self._crew(urls, quits)
            try:
                cpu_then = self._server_cpu_seconds()
                starts_us = await self._work(crew, stop)
            finally:
                tallies = await crew.stop()
            for news in crew.news():
                self._pending.add(news)
            cpu_seconds = self._cpu_since(cpu_then)
        self.failure = self._pending.failure
        self._live.phase = "checking"
        if named is not None:
            rules = replace(rules, named=await named())
        report = await self._checked(rules, cut=stop.is_set() or self.failure is not None)
        seconds = (_last_us(tallies, starts_us) - starts_us) / 1e6
        return repetition(tallies, seconds, cpu_seconds, report)

    async def _crew(self, urls: tuple[str, ...], quits: Quits | None) -> Crew:
        shares = [
            Share(self._plan, self._number, each, urls, str(self._folder), self._offset_us)
            for each in range(self._plan.processes)
        ]
        return await Crew.start(shares, quits)

    async def _work(self, crew: Crew, stop: asyncio.Event) -> int:
        """Works until nothing more is expected, and returns the start time."""
        pending, live = self._pending, self._live
        starts_us = pending.eventful_us = self._now_us() + 1_000 * START_MS
        crew.begin("send", starts_us)
        receiving = self._plan.phases is Phases.TOGETHER
        if receiving:
            crew.begin("receive", starts_us)
        live.phase = "sending and receiving" if receiving else "sending"
        while not await _is_set(stop, NEWS_SECONDS):
            for news in crew.news():
                pending.add(news)
            live.look(pending, self._now_us())
            if pending.failure is not None:
                break
            if pending.sending:
                continue
            if not receiving:
                receiving = True
                pending.eventful_us = self._now_us()
                crew.begin("receive", self._now_us() + 1_000 * START_MS)
            live.phase = RECEIVING
            if self._is_over():
                break
        return starts_us

    def _is_over(self) -> bool:
        """Tells whether nothing more is expected."""
        plan, pending = self._plan, self._pending
        idle_ms = (self._now_us() - pending.eventful_us) // 1_000
        if pending.missing:
            return idle_ms >= plan.drain_ms
        # Messages that are not settled may be received again when their leases end.
        again_ms = plan.lease_ms + plan.between_receives_ms if pending.open else 0
        return idle_ms >= again_ms + plan.linger_ms

    def trace(self, location: Location) -> None:
        # Imported here, because a run without a trace does not need Arrow.
        from dovemq.load.traces import write_trace
        from dovemq.telemetry.remote import open_folder

        run = self._plan.run_name(self._number)
        journals = open_journals([self._folder])
        write_trace(journals, self._queue_labels, run, self._began_us, open_folder(location))

    async def _checked(self, rules: Rules, *, cut: bool) -> CheckReport:
        if cut:
            rules = replace(rules, allowed=rules.allowed | {Violation.LOST})
        return await asyncio.to_thread(check, open_journals([self._folder]), rules)

    def _server_cpu_seconds(self) -> float | None:
        pid = self._plan.server_pid
        return None if pid is None else tree_cpu_seconds(pid)

    def _cpu_since(self, then: float | None) -> float | None:
        """Returns None also if the server has ended, which is no reason to fail the run."""
        with contextlib.suppress(ProcessUnknown):
            now = self._server_cpu_seconds()
            return None if now is None or then is None else now - then
        return None


def _last_us(tallies: Sequence[WorkerTally], starts_us: int) -> int:
    return max(starts_us, *(max(each.sends.last_us, each.settles.last_us) for each in tallies))


async def _is_set(event: asyncio.Event, seconds_max: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds_max):
            await event.wait()
    return event.is_set()
