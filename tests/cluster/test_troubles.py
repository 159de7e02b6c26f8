"""The log about background work that fails for a while."""

import logging

import pytest

from dovemq.cluster.troubles import REMINDER_MS, Troubles
from dovemq.core.errors import StoreUnreachable
from dovemq.testing.clock import ManualClock

GONE = StoreUnreachable("redis://host", "connection refused")


def test_failure_that_lasts_is_logged_once_a_minute_and_its_end_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    clock = ManualClock()
    troubles = Troubles(clock.now_ms)
    for _ in range(3):
        troubles.note("The renewal", GONE)
    clock.advance(REMINDER_MS)
    troubles.note("The renewal", GONE)
    troubles.end("The renewal")
    troubles.end("The renewal")
    failed = (
        "The renewal failed: The database redis://host cannot be reached (connection refused). "
        "It is tried again."
    )
    assert caplog.messages == [failed, failed, "The renewal works again"]


def test_each_kind_of_work_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    troubles = Troubles(ManualClock().now_ms)
    troubles.note("One", GONE)
    troubles.note("Another", TimeoutError())
    assert len(caplog.messages) == 2
    assert caplog.messages[1] == "Another failed: No answer in time. It is tried again."
