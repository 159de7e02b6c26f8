"""Figures of the real service from given measurements: plans, costs, verdicts and tables."""

import pytest

from bench import idle_partitions, scaling
from dovemq.experiments import joram_service_provisioning as provisioning
from dovemq.experiments import joram_service_queue, rds_points, rds_service
from dovemq.experiments.figure import Verdict
from dovemq.experiments.joram_clients import (
    CountSample,
    Course,
    consumed_rate,
    produced_rate,
    rates_by_second,
)
from dovemq.experiments.joram_service import ArrangedRuns, course_columns, course_panels
from dovemq.experiments.rds_clients import RdsLoad, RdsRun
from dovemq.experiments.rds_costs import CostSample, fitted
from dovemq.experiments.rds_points import RdsMeasured, ServicePoint
from dovemq.fabric.dequeue import DequeueCounts
from dovemq.fabric.dequeue.costs import DequeueUnitCosts

COSTS = DequeueUnitCosts(0.0004, 0.0005, 0.00002, 0.0002)


def run_of(rate: float) -> RdsRun:
    counts = DequeueCounts(int(10 * rate), int(2 * rate), int(10 * rate), int(rate))
    return RdsRun(10.0, counts, int(10 * rate), 100, 5, 0, 4.5)


def measured(gain: float, *, quick: bool = True) -> RdsMeasured:
    """The conventional method falls to a half; rds delivers `gain` times as much at λ = 200."""

    def rate(point: ServicePoint) -> float:
        conventional = 1_000.0 if point.rate < rds_points.HIGHEST else 500.0
        if point.method == rds_points.CONVENTIONAL:
            return conventional
        long = point.method == rds_points.method_of(2.0)
        return (gain * 500.0) * (0.5 if long else 1.0)

    points = rds_points.plan(quick=quick)
    runs = {point: [run_of(rate(point)), run_of(rate(point))] for point in points}
    return RdsMeasured(runs, COSTS, "limited")


def verdict(verdicts: tuple[Verdict, ...], text: str) -> list[bool | None]:
    return [each.holds for each in verdicts if text in each.claim]


def test_plan_has_all_rates_and_sleeps_of_the_paper() -> None:
    points = rds_points.plan(quick=False)
    blocked = [point for point in points if point.loop == rds_points.BLOCKED]
    assert {point.rate for point in blocked} == {10, 20, 50, 100, 150, 200}
    assert len({point.method for point in blocked}) == 1 + len(rds_points.SLEEPS_S)
    assert len(points) == len(set(points))


def test_methods_are_settings_of_the_queue() -> None:
    point = ServicePoint(rds_points.OPEN, rds_points.method_of(0.05), 10.0)
    assert point.options == {
        "dequeue_strategy": "rds",
        "rds_sleep_ms": 50,
        "rds_wake": "timer",
    }
    conventional = ServicePoint(rds_points.OPEN, rds_points.CONVENTIONAL, 10.0)
    assert conventional.options == {"dequeue_strategy": "conventional"}


def test_loops_are_loads_of_the_clients() -> None:
    usual, method = RdsLoad(1.0, 1), rds_points.CONVENTIONAL
    loads = {
        loop: ServicePoint(loop, method, 50.0).load(usual)
        for loop in (rds_points.BLOCKED, rds_points.OPEN, rds_points.WAITING)
    }
    assert [(each.connections, each.parked_blocks) for each in loads.values()] == [
        (rds_points.CONNECTIONS, True),
        (rds_points.CONNECTIONS, False),
        (1, False),
    ]
    assert {each.rate for each in loads.values()} == {50.0}


@pytest.mark.parametrize("quick", [True, False])
def test_gain_of_the_paper_holds_if_it_is_measured(quick: bool) -> None:
    figure = rds_service.figure_of(measured(2.0, quick=quick))
    assert all(verdict(figure.verdicts, "80 % more"))
    assert verdict(figure.verdicts, "180 %") == [True]
    assert all(verdict(figure.verdicts, "conventional method falls"))
    assert verdict(figure.verdicts, "above 1 s") == [True]
    assert verdict(figure.verdicts, "0.1 to 0.5 s") == [True]
    assert len({len(column) for column in figure.data.values()}) == 1


def test_smaller_gain_does_not_hold() -> None:
    figure = rds_service.figure_of(measured(1.5))
    assert not any(verdict(figure.verdicts, "80 % more"))
    assert verdict(figure.verdicts, "180 %") == [False]


def test_figure_shows_the_terms_of_the_cost() -> None:
    figure = rds_service.figure_of(measured(2.0))
    assert figure.data["miss_cost"][0] == pytest.approx(1_000 / 10 * 0.0002)
    assert figure.data["owners_cpu"][0] == 0.45
    assert any("A miss costs 0.50 sends" in line for line in figure.readings)
    assert any("% for misses" in line for line in figure.readings)


def test_unit_costs_are_found_again() -> None:
    counts = [
        DequeueCounts(misses=1_000),
        DequeueCounts(sent=500),
        DequeueCounts(hits=200, received=200),
        DequeueCounts(hits=50, received=1_000, misses=10),
    ]
    samples = [
        CostSample(
            each,
            each.sent * 0.0004 + each.hits * 0.0005 + each.received * 2e-5 + each.misses * 0.0002,
        )
        for each in counts
    ]
    found = fitted(samples)
    assert [found.send, found.hit] == pytest.approx([0.0004, 0.0005])
    assert [found.message, found.miss] == pytest.approx([2e-5, 0.0002])


def steady(produced: float, consumed: float, seconds: int = 20) -> Course:
    return [
        CountSample(t, int(produced * t), int(consumed * t)) for t in map(float, range(seconds))
    ]


def test_first_and_last_seconds_do_not_count() -> None:
    course = [*steady(10, 5), CountSample(20.0, 10_000, 10_000)]
    assert (produced_rate(course, 5.0), consumed_rate(course, 5.0)) == (10.0, 5.0)


def test_rates_by_second_join_all_runs() -> None:
    found = rates_by_second([steady(10, 5), steady(20, 5)], "produced")
    assert found[3.0] == (10.0, 20.0)


def test_courses_are_columns_and_panels() -> None:
    runs = {"1 and 2": ArrangedRuns((steady(10, 8), steady(12, 8)), 5.0)}
    columns = course_columns(runs)
    assert {len(column) for column in columns.values()} == {40}
    rates, waiting = course_panels("1 and 2", runs["1 and 2"])
    assert [curve.label for curve in rates.curves] == ["produced", "consumed"]
    assert waiting.curves[0].y[-1] == 38.0


def test_quotients_are_those_of_each_run() -> None:
    fast, slow = steady(10, 5), steady(20, 10)
    runs = ArrangedRuns((fast, slow), 5.0)
    found = runs.produced_per_consumed
    assert (found.mean, found.low, found.high) == (2.0, 2.0, 2.0)
    assert runs.consumed_over(ArrangedRuns((fast, slow), 5.0)).high == 1.0


def filled(rates: tuple[float, float, float], counted: str) -> Course:
    """A course whose rate changes with each third of 300 messages."""
    course, now, count = [CountSample(0.0, 0, 0)], 0.0, 0
    for rate in rates:
        now, count = now + 100 / rate, count + 100
        produced, consumed = (count, 0) if counted == "produced" else (300, count)
        course.append(CountSample(now, produced, consumed))
    return course


def test_slower_thirds_are_found() -> None:
    slower = {
        "filling": [filled((100, 80, 50), "produced")] * 2,
        "emptying": [filled((25, 40, 50), "consumed")] * 2,
    }
    assert [each.holds for each in joram_service_queue.waiting_claims(slower)] == [True] * 3
    same = {
        "filling": [filled((50, 50, 50), "produced")] * 2,
        "emptying": [filled((50, 50, 50), "consumed")] * 2,
    }
    assert [each.holds for each in joram_service_queue.waiting_claims(same)] == [False] * 3


def provisioned(before: float, after: float) -> provisioning.ProvisionedRun:
    course = [
        CountSample(t, 0, int(before * min(t, 120) + after * max(0.0, t - 120)))
        for t in map(float, range(0, 211, 5))
    ]
    return provisioning.ProvisionedRun(course, 120.0, 210.0, ("ts 1, action CreateQueue",))


@pytest.mark.parametrize(("after", "holds"), [(195.0, True), (120.0, False)])
def test_step_of_the_second_partition_is_judged(after: float, holds: bool) -> None:
    found = {
        "static": [provisioned(100.0, 100.0)] * 2,
        "by hand": [provisioned(100.0, after)] * 2,
    }
    settled, step, more = provisioning.provisioning_claims(found)
    assert (settled.holds, step.holds, more.holds) == (True, holds, True)


def test_scaling_is_judged_by_its_bars() -> None:
    def passed(rate: float) -> scaling.Passed:
        return scaling.Passed(rate, (0.9, 0.95), "limited")

    rows = scaling.rows_of({1: [passed(100)], 2: [passed(185)], 3: [passed(240)]}, 4)
    assert [row["holds"] for row in rows] == [None, True, False]
    assert [row["partitions"] for row in rows] == [4, 8, 12]


@pytest.mark.parametrize(
    ("polled", "share", "woken", "holds"),
    [
        ({"get": 101}, 0.01, 1, True),
        ({"get": 120}, 0.01, 1, False),
        ({"get": 100, "xadd": 5}, 0.01, 1, False),
        ({"get": 100}, 0.06, 1, False),
        ({"get": 100}, 0.01, 2, False),
    ],
)
def test_idle_polls_cause_no_operation(
    polled: dict[str, int], share: float, woken: int, holds: bool
) -> None:
    row = idle_partitions.judged(1_000, {"get": 100}, polled, 0.005, share, woken)
    assert row["holds"] is holds
