"""Limits on how often a client may fail, and what is kept and logged of it."""

import logging

import pytest

from dovemq.service.failure_limits import KEY_LENGTH_MAX, KEYS_MAX, WARNING_MS, FailureLimit

ADDRESS = "203.0.113.9"


def fail(failures: FailureLimit, count: int, now_ms: int = 0, key: str = ADDRESS) -> None:
    for _ in range(count):
        failures.record(key, now_ms)


@pytest.fixture
def failures() -> FailureLimit:
    return FailureLimit(50, 1_000, "signatures")


def test_key_is_allowed_until_its_failures_are_used_up(failures: FailureLimit) -> None:
    fail(failures, 49)
    assert failures.wait_ms(ADDRESS, 0) == 0
    fail(failures, 1)
    assert failures.wait_ms(ADDRESS, 0)
    assert failures.wait_ms("203.0.113.10", 0) == 0


def test_one_more_failure_is_allowed_each_second(failures: FailureLimit) -> None:
    fail(failures, 50)
    assert failures.wait_ms(ADDRESS, 0) == 1_000
    assert failures.wait_ms(ADDRESS, 999)
    assert failures.wait_ms(ADDRESS, 1_000) == 0
    fail(failures, 1, 1_000)
    assert failures.wait_ms(ADDRESS, 1_999)


def test_bucket_is_empty_in_the_end(failures: FailureLimit) -> None:
    fail(failures, 50)
    fail(failures, 49, 50_000)
    assert failures.wait_ms(ADDRESS, 50_000) == 0


def test_client_that_goes_on_failing_is_not_locked_out_forever(failures: FailureLimit) -> None:
    fail(failures, 5_000)
    assert failures.wait_ms(ADDRESS, 1_000) == 0


def test_memory_is_bounded_and_empty_buckets_are_dropped_first(failures: FailureLimit) -> None:
    for number in range(KEYS_MAX - 1):
        failures.record(f"old {number}", 0)
    fail(failures, 50, 10_000)
    failures.record("new", 10_000)
    assert len(failures) == 2
    assert failures.wait_ms(ADDRESS, 10_000)


def test_memory_is_bounded_when_no_bucket_is_empty(failures: FailureLimit) -> None:
    fail(failures, 50)
    for number in range(KEYS_MAX + 10):
        failures.record(f"{number}", 0)
    assert len(failures) == KEYS_MAX
    assert failures.wait_ms(ADDRESS, 0) == 0


def test_one_warning_a_minute_is_logged_for_each_key(
    failures: FailureLimit, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        fail(failures, 500)
        fail(failures, 500, WARNING_MS - 1)
        fail(failures, 500, 0, "203.0.113.10")
        assert len(caplog.records) == 2
        fail(failures, 500, WARNING_MS)
    assert len(caplog.records) == 3
    assert ADDRESS in caplog.text


def test_key_cannot_forge_a_line_of_the_log(
    failures: FailureLimit, caplog: pytest.LogCaptureFixture
) -> None:
    key = "root\nINFO all is well " + "x" * KEY_LENGTH_MAX
    fail(failures, 50, 0, key)
    assert "\n" not in caplog.records[0].getMessage()
    assert len(caplog.records[0].getMessage()) < 2 * KEY_LENGTH_MAX
    assert failures.wait_ms(key, 0)


def test_withdrawn_failure_does_not_count(failures: FailureLimit) -> None:
    fail(failures, 50)
    failures.withdraw(ADDRESS)
    assert failures.wait_ms(ADDRESS, 0) == 0
