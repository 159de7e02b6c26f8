"""The loop of the resource manager: observe, decide, record, allocate."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import msgspec

from dovemq.client.errors import ClientError
from dovemq.core.ports import Clock
from dovemq.models.jobs import JobRoute
from dovemq.workflows.sizing.allocators.ports import Allocator
from dovemq.workflows.sizing.decisions import SizingDecision
from dovemq.workflows.sizing.monitor import SECOND_MS, MonitorSettings, measure
from dovemq.workflows.sizing.rounds import ToldOnce, repeat_rounds
from dovemq.workflows.sizing.scheduler import SizingMemory, SizingObservation, decide
from dovemq.workflows.sizing.settings import SizingSettings
from dovemq.workflows.sizing.source import JobSource
from dovemq.workflows.sizing.workload import MeasuredWorkload

TOPICS_EVERY_ROUNDS: Final = 10
"""Specifications change seldom; they are read again after so many rounds."""

Record = Callable[[SizingDecision], None]
Report = Callable[[str], None]
Publish = Callable[[SizingDecision, SizingObservation], Awaitable[Sequence[str]]]
"""Returns sentences about what could not be published."""


async def _unpublished(decision: SizingDecision, observation: SizingObservation) -> Sequence[str]:
    return []


class SizingLoop:
    """One round after another; a round that fails is reported, and the next one tries again."""

    def __init__(
        self,
        source: JobSource,
        allocator: Allocator,
        clock: Clock,
        settings: SizingSettings,
        monitor: MonitorSettings,
        *,
        record: Record,
        report: Report,
        publish: Publish = _unpublished,
    ) -> None:
        self._source, self._allocator, self._clock = source, allocator, clock
        self._settings, self._monitor = settings, monitor
        self._record, self._publish = record, publish
        self._tell = ToldOnce(report)
        self._memory = SizingMemory()
        self._wanted: dict[str, int] = {}
        self._routes: dict[str, tuple[JobRoute, ...]] = {}
        self._service_ms = dict(monitor.service_ms_start)
        self._since_ms = clock.now_ms()
        self._rounds = 0

    @property
    def wanted(self) -> Mapping[str, int]:
        return self._wanted

    async def run(self, stopped: Awaitable[object], every_seconds: float) -> None:
        """Works until `stopped` is done."""
        await repeat_rounds(self.round, stopped, every_seconds)

    async def round(self) -> SizingDecision | None:
        """One decision, carried out; None if the server did not answer or has no workflows."""
        try:
            observation = await self._observe()
        except ClientError as error:
            self._tell([f"the jobs cannot be read: {error}"])
            return None
        if observation is None:
            self._tell([self._why_blind()])
            return None
        decision, self._memory = decide(observation, self._memory, self._settings)
        self._wanted |= decision.after
        self._record(decision)
        troubles = await self._allocator.allocate(self._wanted)
        self._tell([*troubles, *await self._publish(decision, observation)])
        return decision

    async def _observe(self) -> SizingObservation | None:
        if self._rounds % TOPICS_EVERY_ROUNDS == 0 or not self._routes:
            self._routes = await self._source.routes()
        self._rounds += 1
        if not self._routes:
            return None
        now_ms = self._clock.now_ms()
        jobs = await self._source.jobs(now_ms, self._monitor.window_ms)
        first_ms = self._source.first_ms
        monitor = msgspec.structs.replace(
            self._monitor,
            since_ms=self._since_ms if first_ms is None else min(self._since_ms, first_ms),
            service_ms_start=self._service_ms,
            threshold_ms=self._settings.alarm_ms,
        )
        workload = measure(jobs, self._routes, now_ms, monitor)
        self._remember(workload)
        await self._learn_present(workload)
        if set(workload.topics) - set(self._wanted):
            return None
        present = {topic: self._wanted[topic] for topic in workload.topics}
        return SizingObservation(workload, self._routes, present)

    def _why_blind(self) -> str:
        if not self._routes:
            return "the account has no workflows yet: dovemq workflow put FILE"
        used = {
            task.topic for each in self._routes.values() for route in each for task in route.tasks
        }
        missing = ", ".join(sorted(used - set(self._wanted)))
        return f"the present consumers of {missing} cannot be read ({self._allocator.name})"

    def _remember(self, workload: MeasuredWorkload) -> None:
        """Keeps the last measured service times for windows in which a topic does nothing."""
        for name, figures in workload.topics.items():
            if figures.samples:
                self._service_ms[name] = SECOND_MS / figures.service_rate

    async def _learn_present(self, workload: MeasuredWorkload) -> None:
        """Asks the allocator about topics that the manager has not decided on yet."""
        unknown = [topic for topic in workload.topics if topic not in self._wanted]
        if unknown:
            self._wanted |= await self._allocator.consumers(unknown)
