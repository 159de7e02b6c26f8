"""The alerts of a queue follow from its counts, its consumers and its history."""

from collections.abc import Sequence
from typing import Any

import pytest

from dovemq.core import limits
from dovemq.core.commands import Counts
from dovemq.core.history import HistoryPoint
from dovemq.core.queue import Queue, QueueKey, QueueSettings, Redrive
from dovemq.server.queue_rows import (
    CONSUMER_MS,
    GROWING_POINTS,
    alerts_of,
    dead_letter_queues,
    rates_of,
)
from dovemq.telemetry.meter import QueueTally

ACCOUNT = "000000000000"
NEAR = limits.LEASED_MAX * 9 // 10


def _queue(name: str = "orders", account: str = ACCOUNT, **settings: Any) -> Queue:
    return Queue(1, QueueKey(account, name), QueueSettings(**settings), 0, 0, {})


def _kinds(
    counts: Counts,
    *,
    consumers: int = 0,
    age_ms: int = 0,
    ages_ms: Sequence[int] = (),
    dead_letters: str | None = None,
    alone: bool = True,
    **settings: Any,
) -> list[str]:
    points = [HistoryPoint(0, 1, 0, 0, age, 0.0, 0.0, 0.0) for age in ages_ms]
    queue = _queue(**settings)
    found = alerts_of(queue, counts, consumers, age_ms, points, dead_letters, alone=alone)
    return [alert.kind for alert in found]


@pytest.mark.parametrize(("leased", "kinds"), [(NEAR - 1, []), (NEAR, ["capacity"])])
def test_leases_near_their_limit_are_an_alert(leased: int, kinds: list[str]) -> None:
    assert _kinds(Counts(0, leased, 0)) == kinds


def test_messages_without_a_consumer_are_an_alert_after_a_minute() -> None:
    counts = Counts(1, 0, 0)
    assert _kinds(counts, age_ms=CONSUMER_MS - 1) == []
    assert _kinds(counts, age_ms=CONSUMER_MS) == ["no-consumers"]
    assert _kinds(counts, age_ms=CONSUMER_MS, consumers=1) == []
    assert _kinds(counts, age_ms=CONSUMER_MS, alone=False) == [], "others may have consumers"


def test_age_is_an_alert_while_it_only_grows() -> None:
    counts, ages_ms = Counts(1, 0, 0), [CONSUMER_MS + each for each in range(GROWING_POINTS)]
    age_ms = ages_ms[-1] + 1
    assert _kinds(counts, consumers=1, age_ms=age_ms, ages_ms=ages_ms) == ["growing-age"]
    assert _kinds(counts, consumers=1, age_ms=ages_ms[-1], ages_ms=ages_ms) == []
    assert _kinds(counts, consumers=1, age_ms=age_ms, ages_ms=ages_ms[1:]) == []


def test_paused_delivery_is_an_alert_while_messages_wait() -> None:
    assert _kinds(Counts(1, 0, 0), delivery_paused=True) == ["paused"]
    assert _kinds(Counts(0, 0, 1), delivery_paused=True) == []


def test_dead_letters_are_an_alert_until_they_are_gone() -> None:
    assert _kinds(Counts(0, 1, 0), dead_letters="text") == ["dead-letters"]
    assert _kinds(Counts(0, 0, 0), dead_letters="text") == []


def test_queue_of_dead_letters_is_known_by_its_sources_or_its_topic() -> None:
    target = QueueKey(ACCOUNT, "dead")
    queues = [
        _queue(redrive=Redrive(target, 3)),
        _queue("dead"),
        _queue("topic-a"),
        _queue("topic-a-dead"),
        _queue("topic-b-dead"),
        _queue("topic-b", "111111111111"),
        _queue("topic-dead"),
    ]
    found = dead_letter_queues(queues)
    assert found.keys() == {target, QueueKey(ACCOUNT, "topic-a-dead")}
    assert len({*found.values()}) == 2


def test_rates_are_those_of_the_time_between() -> None:
    key = QueueKey(ACCOUNT, "orders")
    before, now = QueueTally(key, sent=5, received=9), QueueTally(key, sent=25, received=1)
    rates = rates_of(now, before, 2_000)
    assert (rates.sent, rates.received, rates.settled) == (10.0, 0.0, 0.0)
    assert rates_of(now, before, 0).sent == 0.0
