"""Figures of the monitor from records of jobs: windows, few samples, and jobs that are overdue."""

import pytest

from dovemq.core.errors import InvariantError
from dovemq.models.jobs import JobRoute, chain
from dovemq.workflows.sizing.monitor import MonitorSettings, measure
from dovemq.workflows.sizing.observed import ObservedJob, ObservedTask, observed_jobs
from dovemq.workflows.sizing.source import routes_of

ROUTES = {"1": (JobRoute(chain("A", "B")),)}
SECOND_MS = 1_000
NOW_MS = 100 * SECOND_MS
WINDOW_MS = 20 * SECOND_MS


def ended(
    created_s: float, response_s: float, service_s: float = 1.0, name: str = ""
) -> ObservedJob:
    created_ms, end_ms = int(created_s * SECOND_MS), int((created_s + response_s) * SECOND_MS)
    task = ObservedTask("A", created_ms, None, end_ms, service_s * SECOND_MS)
    return ObservedJob(name or str(created_s), "1", "ended", created_ms, end_ms, {"A": task})


def running(created_s: float, topic: str = "A", started: bool = False) -> ObservedJob:
    created_ms = int(created_s * SECOND_MS)
    task = ObservedTask(topic, created_ms, created_ms if started else None)
    return ObservedJob(str(created_s), "1", "running", created_ms, None, {topic: task})


def settings(**values: float) -> MonitorSettings:
    return MonitorSettings(WINDOW_MS, **values)  # type: ignore[arg-type]


def test_rate_counts_the_arrivals_of_the_window() -> None:
    jobs = [ended(each, 0.5) for each in (70, 79, 81, 85, 89, 99)]
    figures = measure(jobs, ROUTES, NOW_MS, settings()).types["1"]
    assert figures.arrivals == 4
    assert figures.arrival_rate == pytest.approx(4 / 20)


def test_regular_arrivals_vary_less_than_expected_ones_the_more_are_known() -> None:
    few = measure([ended(81 + each, 0.5) for each in range(3)], ROUTES, NOW_MS, settings())
    many = measure([ended(81 + each / 10, 0.5) for each in range(100)], ROUTES, NOW_MS, settings())
    assert 0.8 < few.types["1"].arrival_scv < 1.0
    assert many.types["1"].arrival_scv < 0.1
    none = measure([], ROUTES, NOW_MS, settings())
    assert none.types["1"].arrival_scv == 1.0


def test_window_is_shorter_soon_after_the_start() -> None:
    jobs = [ended(96, 0.5), ended(98, 0.5)]
    found = measure(jobs, ROUTES, NOW_MS, settings(since_ms=95 * SECOND_MS))
    assert found.span_ms == 5 * SECOND_MS
    assert found.types["1"].arrival_rate == pytest.approx(2 / 5)


def test_service_is_that_of_tasks_that_ended_in_the_window() -> None:
    jobs = [ended(50, 1.0, 9.0), ended(85, 1.0, 1.0), ended(90, 1.0, 3.0)]
    figures = measure(jobs, ROUTES, NOW_MS, settings()).topics["A"]
    assert figures.samples == 2
    assert figures.service_rate == pytest.approx(0.5)


def test_service_lasts_from_the_start_to_the_end_at_the_server() -> None:
    task = ObservedTask("A", 0, 1_000, 1_500, 400.0)
    assert task.occupied_ms == 500.0
    assert ObservedTask("A", 0, 1_000, 1_300, 400.0).occupied_ms == 400.0
    assert ObservedTask("A", 0, 1_000).occupied_ms is None


def test_topic_without_a_measurement_has_the_expected_service() -> None:
    found = measure([], ROUTES, NOW_MS, MonitorSettings(service_ms_start={"A": 250.0}))
    assert found.topics["A"].service_rate == pytest.approx(4.0)
    assert found.topics["B"].service_rate == pytest.approx(1.0)
    assert found.assumed == ("A", "B")


def test_jobs_that_are_overdue_count_with_their_age() -> None:
    jobs = [ended(85, 1.0), running(40), running(99)]
    found = measure(jobs, ROUTES, NOW_MS, settings(threshold_ms=10_000.0))
    assert found.types["1"].overdue == 1
    assert found.response_ms == pytest.approx((1_000 + 60_000) / 2)
    assert measure([], ROUTES, NOW_MS, settings()).response_ms is None


def test_failed_and_cancelled_jobs_have_no_response_time() -> None:
    job = ObservedJob("x", "1", "failed", 85_000, 95_000, {})
    assert measure([job], ROUTES, NOW_MS, settings()).response_ms is None


def test_tasks_are_counted_as_waiting_or_running() -> None:
    jobs = [running(90), running(91), running(92, started=True)]
    figures = measure(jobs, ROUTES, NOW_MS, settings()).topics["A"]
    assert (figures.waiting, figures.running) == (2, 1)


def test_jobs_of_unknown_types_are_left_out() -> None:
    job = ObservedJob("x", "other", "running", 85_000, None, {})
    assert set(measure([job], ROUTES, NOW_MS, settings()).types) == {"1"}


def test_window_must_be_positive() -> None:
    with pytest.raises(InvariantError):
        MonitorSettings(0)


def test_documents_of_the_admin_api_are_read() -> None:
    task = {"topic": "A", "state": "ended", "attempt": 1, "published_ms": 1, "started_ms": 2}
    task |= {"ended_ms": 5, "service_ms": 2.5, "worker": "w", "error": None, "earlier": []}
    job = {"job_id": "j", "account": "1", "type": "1", "version": 1, "route": 0, "state": "ended"}
    job |= {"created_ms": 1, "ended_ms": 6, "tasks": {"A": task}}
    [found] = observed_jobs({"jobs": [job], "next": None})
    assert found.response_ms == 5
    assert found.tasks["A"].occupied_ms == 3.0


def test_routes_of_a_specification_are_those_of_the_models() -> None:
    tasks = {"A": {"topic": "A", "after": []}, "B": {"topic": "B", "after": ["A"]}}
    [route] = routes_of({"routes": [{"share": 1.0, "tasks": tasks}]})
    assert route.tasks == chain("A", "B")
