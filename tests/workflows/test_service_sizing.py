"""The sizing of the service itself on a simulated service: front ends and nodes of the store."""

import math
from collections.abc import Mapping

import pytest

from dovemq.client.errors import Unconnected
from dovemq.core.errors import InvariantError
from dovemq.telemetry.metrics import Distribution, MetricSample, exposition
from dovemq.testing.clock import ManualClock
from dovemq.workflows.sizing.allocators.dry_run import DryRunAllocator
from dovemq.workflows.sizing.decisions import SizingCause, SizingDecision
from dovemq.workflows.sizing.front_ends import (
    FRONT_ENDS,
    FrontEndWindow,
    RequestTotals,
    read_totals,
    service_rate,
)
from dovemq.workflows.sizing.service_loop import ServiceGoals, ServiceSizing
from dovemq.workflows.sizing.settings import ConsumerBounds, SizingSettings
from dovemq.workflows.sizing.storage import STORE, StorageSettings, decide_storage

SECOND_MS = 1_000
GIB = 1 << 30
SERVICE = 400.0
"""Requests a second that a front end of the simulated service can answer."""
TARGET_MS = 10.0
STEP_SECONDS = 10


class SimulatedService:
    """Front ends behind a balancer, each a queue of its own: not the model that is fitted."""

    def __init__(self) -> None:
        self.rate = 100.0
        self.bytes = 0
        self.failing = False
        self.allocator = DryRunAllocator({FRONT_ENDS: 1, STORE: 3}, assume=True)
        self._totals: dict[str, RequestTotals] = {}

    async def pass_time(self, seconds: float) -> None:
        count = (await self.allocator.consumers([FRONT_ENDS]))[FRONT_ENDS]
        share = self.rate / max(count, 1)
        response = 1.0 / (SERVICE - share) if share < 0.99 * SERVICE else 1.0
        answered = min(share, SERVICE) * seconds
        for place in range(count):
            old = self._totals.get(str(place), RequestTotals())
            self._totals[str(place)] = RequestTotals(
                old.requests + answered, old.timed + answered, old.seconds + answered * response
            )
        for place in range(count, len(self._totals)):
            self._totals.pop(str(place), None)

    async def totals(self) -> Mapping[str, RequestTotals]:
        if self.failing:
            raise Unconnected("http://127.0.0.1:1", "refused")
        return dict(self._totals)

    async def stored_bytes(self) -> int:
        if self.failing:
            raise Unconnected("http://127.0.0.1:1", "refused")
        return self.bytes


class World:
    def __init__(self, goals: ServiceGoals) -> None:
        self.service = SimulatedService()
        self.clock = ManualClock(1_000_000)
        self.troubles: list[str] = []
        self.decisions: list[SizingDecision] = []
        allocators = {FRONT_ENDS: self.service.allocator, STORE: self.service.allocator}
        self.sizing = ServiceSizing(
            self.service,
            allocators,
            self.clock,
            goals,
            record=self.decisions.append,
            report=self.troubles.append,
        )

    async def lasts(self, minutes: float, rate: float) -> None:
        self.service.rate = rate
        for _ in range(round(minutes * 60 / STEP_SECONDS)):
            await self.service.pass_time(STEP_SECONDS)
            self.clock.advance(STEP_SECONDS * SECOND_MS)
            await self.sizing.round()

    async def present(self, part: str = FRONT_ENDS) -> int:
        return (await self.service.allocator.consumers([part]))[part]

    @property
    def changes(self) -> list[SizingDecision]:
        return [each for each in self.decisions if each.changes]


def by_time() -> ServiceGoals:
    settings = SizingSettings(
        target_ms=TARGET_MS,
        cool_down_ms=60 * SECOND_MS,
        calm_ms=300 * SECOND_MS,
        bounds_of_others=ConsumerBounds(1, 10),
    )
    return ServiceGoals(front_ends=settings)


def by_bytes() -> ServiceGoals:
    return ServiceGoals(store=StorageSettings(100 * GIB, copies=3, least=3, most=12))


async def test_front_ends_are_added_until_the_target_is_kept_and_released_after_calm() -> None:
    world = World(by_time())
    await world.lasts(5, 100.0)
    assert await world.present() == 1
    await world.lasts(15, 1_500.0)
    grown = await world.present()
    assert 1_000.0 / (SERVICE - 1_500.0 / grown) <= TARGET_MS
    assert world.decisions[-1].predicted_before is not None
    await world.lasts(40, 100.0)
    assert await world.present() == 1
    assert {each.cause for each in world.changes} <= {SizingCause.SLOW, SizingCause.CALM}
    assert all("the mean response time is" in each.reason for each in world.changes)


async def test_front_ends_do_not_flap_under_a_square_wave() -> None:
    world = World(by_time())
    for _ in range(12):
        await world.lasts(1.5, 1_500.0)
        await world.lasts(1.5, 100.0)
    releases = [each for each in world.changes if each.cause is SizingCause.CALM]
    assert len(releases) <= 1


async def test_nothing_is_released_while_the_service_does_not_answer() -> None:
    world = World(by_time())
    await world.lasts(10, 1_500.0)
    grown = await world.present()
    world.service.failing = True
    await world.lasts(30, 0.0)
    assert await world.present() == grown
    assert len([each for each in world.troubles if "cannot be read" in each]) == 1


async def test_front_ends_that_died_come_back_although_none_answers() -> None:
    world = World(by_time())
    await world.lasts(10, 1_500.0)
    grown = await world.present()
    world.service.failing = True
    await world.service.allocator.allocate({FRONT_ENDS: 0})
    await world.lasts(1, 0.0)
    assert await world.present() == grown


async def test_full_store_gets_nodes_once_in_the_cool_down() -> None:
    world = World(by_bytes())
    world.service.bytes = 30 * GIB
    await world.lasts(2, 100.0)
    assert await world.present(STORE) == 3
    world.service.bytes = 60 * GIB
    await world.lasts(1, 100.0)
    assert await world.present(STORE) == 6
    world.service.bytes = 80 * GIB
    await world.lasts(5, 100.0)
    assert await world.present(STORE) == 6
    assert world.decisions[-1].cause is SizingCause.COOLING_DOWN
    await world.lasts(10, 100.0)
    assert await world.present(STORE) == 7
    assert [each.cause for each in world.changes] == [SizingCause.FULL, SizingCause.FULL]


def test_store_that_is_too_large_keeps_its_nodes_and_says_so() -> None:
    settings = StorageSettings(100 * GIB, copies=3, least=3)
    found = decide_storage(0, 10 * GIB, 8, None, settings)
    assert not found.changes
    assert "3 would do, and nodes are removed by hand" in found.reason


def test_store_says_how_many_nodes_are_missing_beyond_its_bounds() -> None:
    settings = StorageSettings(100 * GIB, copies=3, least=3, most=4)
    found = decide_storage(0, 100 * GIB, 3, None, settings)
    assert found.after == {STORE: 4}
    assert found.missing == {STORE: math.ceil(600 / 70) - 4}


@pytest.mark.parametrize("wrong", [{"node_bytes": 0}, {"fill_max": 1.5}, {"least": 5, "most": 4}])
def test_settings_of_a_store_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvariantError):
        StorageSettings(**{"node_bytes": GIB, **wrong})  # type: ignore[arg-type]


def test_service_rate_of_one_front_end_is_that_of_theory() -> None:
    assert service_rate(300.0, 0.01, 1) == pytest.approx(400.0, rel=1e-6)


def test_service_rate_of_several_front_ends_gives_the_measured_time_back() -> None:
    found = service_rate(900.0, 0.01, 3)
    assert 300.0 < found < 400.0


def test_time_of_receives_is_left_out_and_their_number_counts() -> None:
    samples = [
        MetricSample("dovemq_request_seconds", Distribution((0.1,), (4, 0), 0.2), ("SendMessage",)),
        MetricSample(
            "dovemq_request_seconds", Distribution((0.1,), (0, 2), 9.0), ("ReceiveMessage",)
        ),
    ]
    found = read_totals(exposition(samples).decode())
    assert (found.requests, found.timed) == (6.0, 4.0)
    assert found.seconds == pytest.approx(0.2)


def test_front_end_that_starts_again_counts_from_zero() -> None:
    window = FrontEndWindow(60 * SECOND_MS)
    for now_ms, requests in ((0, 100.0), (10_000, 150.0), (20_000, 30.0)):
        window.add(now_ms, {"a": RequestTotals(requests, requests, requests / 100)})
    figures = window.workload().types["requests"]
    assert figures.arrivals == 80
    assert figures.response_ms == pytest.approx(10.0)


def test_window_forgets_what_lies_before_it() -> None:
    window = FrontEndWindow(30 * SECOND_MS)
    for step in range(10):
        total = 1_000.0 if step > 5 else 0.0
        window.add(step * 10_000, {"a": RequestTotals(total, total, total)})
    figures = window.workload().types["requests"]
    assert figures.arrivals == 0
    assert window.workload().span_ms == 30_000
