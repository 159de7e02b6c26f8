"""Rounds of the resource manager on a fake server: it reads pages, decides, and repeats itself."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dovemq.client.errors import Unconnected
from dovemq.service.workflows.sizing_records import SizingReport
from dovemq.testing.clock import ManualClock
from dovemq.workflows.sizing.allocators.dry_run import DryRunAllocator
from dovemq.workflows.sizing.decisions import SizingCause, SizingDecision
from dovemq.workflows.sizing.loop import SizingLoop
from dovemq.workflows.sizing.monitor import MonitorSettings
from dovemq.workflows.sizing.publishing import DecisionPublisher
from dovemq.workflows.sizing.settings import SizingSettings
from dovemq.workflows.sizing.source import JobSource

SECOND_MS = 1_000
START_MS = 1_000_000


class FakeServer:
    """The two reads of the manager, on lists."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.types = ["1"]
        self.pages = 0
        self.failing = False

    async def workflows(self, *, account: str = "") -> list[dict[str, Any]]:
        tasks = {"A": {"topic": "A", "after": []}}
        return [{"type": name, "routes": [{"share": 1.0, "tasks": tasks}]} for name in self.types]

    async def jobs_page(self, *, after: str, count_max: int, account: str = "") -> dict[str, Any]:
        if self.failing:
            raise Unconnected("http://127.0.0.1:1", "refused")
        self.pages += 1
        newest = sorted(self.jobs, key=lambda job: -job["created_ms"])
        first = int(after or "0")
        page = newest[first : first + count_max]
        more = first + count_max < len(newest)
        return {"jobs": page, "next": str(first + count_max) if more else None}

    def add(self, created_ms: int, service_ms: float, ended_ms: int | None) -> None:
        task = {"topic": "A", "published_ms": created_ms}
        if ended_ms is not None:
            task |= {"started_ms": ended_ms - int(service_ms), "ended_ms": ended_ms}
            task |= {"service_ms": service_ms}
        state = "running" if ended_ms is None else "ended"
        self.jobs.append(
            {
                "job_id": str(len(self.jobs)),
                "type": "1",
                "state": state,
                "created_ms": created_ms,
                "ended_ms": ended_ms,
                "tasks": {"A": task},
            }
        )


class RecordingAllocator(DryRunAllocator):
    def __init__(self, **start: int) -> None:
        super().__init__(start)
        self.asked: list[Mapping[str, int]] = []
        self.blind = False

    async def consumers(self, topics: Sequence[str]) -> Mapping[str, int]:
        return {} if self.blind else await super().consumers(topics)

    async def allocate(self, wanted: Mapping[str, int]) -> Sequence[str]:
        self.asked.append(dict(wanted))
        return ["A: no room"]


class World:
    def __init__(self, **consumers: int) -> None:
        self.server, self.clock = FakeServer(), ManualClock(START_MS)
        self.allocator = RecordingAllocator(**consumers)
        self.decisions: list[SizingDecision] = []
        self.reports: list[str] = []
        self.published: list[dict[str, Any]] = []
        self.publishing_fails = False
        self.loop = SizingLoop(
            JobSource(self.server),  # type: ignore[arg-type]
            self.allocator,
            self.clock,
            SizingSettings(target_ms=2_000.0, span_ms_min=0, cool_down_ms=0),
            MonitorSettings(20 * SECOND_MS),
            record=self.decisions.append,
            report=self.reports.append,
            publish=DecisionPublisher(self, "local").publish,  # type: ignore[arg-type]
        )

    async def publish_sizing(self, report: dict[str, Any], *, account: str = "") -> None:
        if self.publishing_fails:
            raise Unconnected("http://127.0.0.1:1", "refused")
        self.published.append(report)

    def overload(self) -> None:
        """Two jobs a second of a second's work each."""
        for each in range(40):
            created_ms = START_MS - 20 * SECOND_MS + 500 * each
            self.server.add(created_ms, 1_000.0, created_ms + 5_000 if each < 20 else None)


async def test_overload_gets_consumers_and_is_recorded() -> None:
    world = World(A=1)
    world.overload()
    await world.loop.round()
    [decision] = world.decisions
    assert decision.changes
    assert world.loop.wanted["A"] >= 3
    assert world.allocator.asked == [world.loop.wanted]


async def test_decision_is_published_with_its_rates_and_predictions() -> None:
    world = World(A=1)
    world.overload()
    await world.loop.round()
    [published] = world.published
    report = msgspec.convert(published, SizingReport)
    topic = report.topics["A"]
    assert (topic.before, topic.after) == (1, world.loop.wanted["A"])
    assert topic.utilisation_before is not None
    assert topic.utilisation_before > 1 > (topic.utilisation_after or 2)
    assert report.predicted_before_ms is None, "the topic was unstable"
    assert report.predicted_after_ms is not None
    assert report.types["1"].arrival_rate == 2.0
    assert report.changes
    assert msgspec.json.decode(msgspec.json.encode(published), type=SizingReport) == report


async def test_decision_without_arrivals_can_be_published_too() -> None:
    world = World(A=1)
    await world.loop.round()
    report = msgspec.convert(world.published[0], SizingReport)
    assert (report.topics["A"].utilisation_after, report.predicted_after_ms) == (0.0, None)


async def test_decision_that_cannot_be_published_is_carried_out() -> None:
    world = World(A=1)
    world.overload()
    world.publishing_fails = True
    await world.loop.round()
    assert world.allocator.asked == [world.loop.wanted]
    assert any("decisions cannot be published" in each for each in world.reports)


async def test_allocation_is_repeated_and_a_lasting_trouble_is_told_once() -> None:
    world = World(A=1)
    world.overload()
    await world.loop.round()
    await world.loop.round()
    assert world.allocator.asked[0] == world.allocator.asked[1]
    assert world.reports == ["A: no room"]


async def test_server_that_does_not_answer_changes_nothing() -> None:
    world = World(A=3)
    world.server.failing = True
    assert await world.loop.round() is None
    assert await world.loop.round() is None
    assert not world.allocator.asked
    assert len(world.reports) == 1
    world.server.failing = False
    assert await world.loop.round() is not None


async def test_account_without_workflows_is_told() -> None:
    world = World()
    world.server.types = []
    assert await world.loop.round() is None
    assert "dovemq workflow put" in world.reports[0]


async def test_topic_without_consumers_gets_the_least() -> None:
    world = World(A=0)
    await world.loop.round()
    assert world.decisions[0].cause is SizingCause.BOUNDS
    assert world.loop.wanted == {"A": 1}


async def test_job_that_runs_for_longer_than_the_window_is_known() -> None:
    world = World(A=1)
    world.server.add(START_MS - 500 * SECOND_MS, 0.0, None)
    for each in range(1_200):
        world.server.add(START_MS - 400 * SECOND_MS + each, 1.0, START_MS - 390 * SECOND_MS)
    decision = await world.loop.round()
    assert decision is not None
    assert decision.measured_ms == 500 * SECOND_MS


async def test_loop_ends_when_it_is_stopped() -> None:
    world = World(A=1)
    stopped = asyncio.Event()
    running = asyncio.ensure_future(world.loop.run(stopped.wait(), 60.0))
    await asyncio.sleep(0)
    stopped.set()
    await running
    assert world.decisions


async def test_consumers_that_cannot_be_read_are_not_changed() -> None:
    world = World(A=1)
    world.overload()
    world.allocator.blind = True
    assert await world.loop.round() is None
    assert not world.allocator.asked
    assert world.reports == ["the present consumers of A cannot be read (dry-run)"]
