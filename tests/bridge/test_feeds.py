"""One queue's side: batches, retries, and what each refusal means."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

import pytest

from dovemq.bridge.errors import QueueUnusable
from dovemq.bridge.feeds import (
    FeedEvents,
    FeedItem,
    QueueFeed,
    SendVerdict,
    judged,
    judged_error,
    next_batch,
)
from dovemq.bridge.holding import HeldMessage
from dovemq.bridge.messages import MqttMessage
from dovemq.bridge.routes import Route
from dovemq.bridge.topics import TopicFilter
from dovemq.client.errors import AnswerMalformed, ClientError, Refused, TimedOut, Unreachable
from dovemq.core import limits
from dovemq.sqs.shapes import SendEntry
from tests.bridge.fakes import FakeQueues, rest, until

ROUTE = Route(TopicFilter.parse("#"), "queue")


def item(body: str, group: str | None = None, size: int = 1) -> FeedItem:
    entry = SendEntry(message_body=body, message_group_id=group)
    return FeedItem(HeldMessage(MqttMessage("t", body.encode())), ROUTE, entry, size)


def bodies(items: list[FeedItem]) -> list[str | None]:
    return [each.entry.message_body for each in items]


class Feeding:
    """A feed to fake queues, and what it reported."""

    def __init__(self, queue: str = "queue") -> None:
        self.queues = FakeQueues()
        self.stored: list[FeedItem] = []
        self.refused: list[tuple[FeedItem, str]] = []
        self.reports: list[str] = []
        events = FeedEvents(
            self.stored.append, lambda each, why: self.refused.append((each, why)), self.report
        )
        self.feed = QueueFeed(queue, self.queues.send, events, rest)

    def report(self, text: str) -> None:
        self.reports.append(text)

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[list[asyncio.Task[None]]]:
        tasks = [asyncio.create_task(self.feed.work()) for _ in range(self.feed.senders)]
        try:
            yield tasks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def test_batch_respects_the_limits_of_a_request() -> None:
    waiting = deque(item(str(number)) for number in range(12))
    assert len(next_batch(waiting, fifo=False)) == limits.BATCH_COUNT.most
    assert bodies(next_batch(waiting, fifo=False)) == ["10", "11"]
    assert next_batch(waiting, fifo=False) == []
    large = limits.BATCH_BYTES_MAX // 2
    waiting = deque(item(str(number), size=large) for number in range(3))
    assert bodies(next_batch(waiting, fifo=False)) == ["0", "1"]


def test_batch_of_a_fifo_queue_has_one_message_of_a_group() -> None:
    waiting = deque([item("a1", "a"), item("b1", "b"), item("a2", "a"), item("c1", "c")])
    assert bodies(next_batch(waiting, fifo=True)) == ["a1", "b1"]
    assert bodies(next_batch(waiting, fifo=True)) == ["a2", "c1"]


REFUSALS = [
    (Refused(503, "ServiceUnavailable", "", ""), SendVerdict.AGAIN),
    (Refused(403, "RequestThrottled", "", ""), SendVerdict.AGAIN),
    (Refused(403, "OverLimit", "", ""), SendVerdict.AGAIN),
    (Refused(400, "AWS.SimpleQueueService.BatchRequestTooLong", "", ""), SendVerdict.MESSAGE),
    (Refused(413, "RequestEntityTooLarge", "", ""), SendVerdict.MESSAGE),
    (Refused(400, "AWS.SimpleQueueService.NonExistentQueue", "", ""), SendVerdict.QUEUE),
    (Refused(403, "AccessDenied", "", ""), SendVerdict.QUEUE),
    (TimedOut("http://test", 30), SendVerdict.AGAIN),
    (Unreachable("http://test", "refused"), SendVerdict.AGAIN),
    (AnswerMalformed("http://test", "HTTP status 502"), SendVerdict.AGAIN),
]


@pytest.mark.parametrize(("error", "verdict"), REFUSALS)
def test_error_of_a_request_means(error: ClientError, verdict: SendVerdict) -> None:
    assert judged_error(error) is verdict


def test_error_of_an_entry_means_another_try_unless_it_is_the_senders() -> None:
    assert judged("InvalidParameterValue", by_sender=True) is SendVerdict.MESSAGE
    assert judged("InvalidParameterValue", by_sender=False) is SendVerdict.AGAIN
    assert judged("OverLimit", by_sender=True) is SendVerdict.AGAIN
    assert judged("AccessDenied", by_sender=True) is SendVerdict.QUEUE


async def test_server_that_is_away_is_asked_until_it_is_back_and_reported_once() -> None:
    feeding = Feeding()
    feeding.queues.failure = Unreachable("http://test", "connection refused")
    async with feeding.working():
        feeding.feed.put(item("one"))
        await until(lambda: len(feeding.queues.requests) > 5)
        assert feeding.stored == []
        feeding.queues.failure = None
        await until(lambda: bodies(feeding.stored) == ["one"])
    assert ["connection refused" in text for text in feeding.reports] == [True, False]
    assert "again" in feeding.reports[1]


async def test_entry_that_failed_at_the_server_is_sent_again_without_the_others() -> None:
    feeding = Feeding()
    feeding.queues.refusals["two"] = ("InternalError", False)
    async with feeding.working():
        for body in ("one", "two", "three"):
            feeding.feed.put(item(body))
        await until(lambda: len(feeding.stored) == 2)
        feeding.queues.refusals.clear()
        await until(lambda: len(feeding.stored) == 3)
    assert "did not store all messages" in feeding.reports[0]
    assert sorted(feeding.queues.bodies()) == ["one", "three", "two"]


async def test_refused_message_does_not_hold_up_the_others() -> None:
    feeding = Feeding()
    feeding.queues.refusals["two"] = ("InvalidMessageContents", True)
    async with feeding.working():
        for body in ("one", "two", "three"):
            feeding.feed.put(item(body))
        await until(lambda: len(feeding.stored) == 2 and len(feeding.refused) == 1)
    [(refused, code)] = feeding.refused
    assert (refused.entry.message_body, code) == ("two", "InvalidMessageContents")


async def test_batch_that_is_refused_as_a_whole_is_tried_one_by_one() -> None:
    feeding = Feeding()
    feeding.queues.failure = Refused(413, "RequestEntityTooLarge", "", "")
    async with feeding.working():
        for body in ("one", "two"):
            feeding.feed.put(item(body))
        await until(lambda: len(feeding.refused) == 2)
    assert [len(each) for each in feeding.queues.requests] == [2, 1, 1]


async def test_queue_that_accepts_nothing_ends_the_feed() -> None:
    feeding = Feeding()
    feeding.queues.failure = Refused(403, "AccessDenied", "no", "")
    async with feeding.working() as tasks:
        feeding.feed.put(item("one"))
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        with pytest.raises(QueueUnusable, match="broker keeps"):
            done.pop().result()
    assert feeding.refused == []


async def test_message_of_a_lost_connection_is_not_sent_again() -> None:
    feeding = Feeding()
    feeding.queues.failure = TimedOut("http://test", 30)
    gone, kept = item("gone"), item("kept")
    async with feeding.working():
        feeding.feed.put(gone)
        feeding.feed.put(kept)
        await until(lambda: len(feeding.queues.requests) > 1)
        gone.held.wanted = False
        feeding.queues.failure = None
        await until(lambda: bodies(feeding.stored) == ["kept"])


async def test_messages_of_a_lost_connection_do_not_pile_up() -> None:
    feeding = Feeding()
    gone, kept = item("gone"), item("kept")
    for each in (gone, kept):
        feeding.feed.put(each)
    gone.held.wanted = False
    feeding.feed.drop_unwanted()
    async with feeding.working():
        await until(lambda: bodies(feeding.stored) == ["kept"])
    assert [len(each) for each in feeding.queues.requests] == [1]


async def test_fifo_queue_gets_one_request_at_a_time_in_order() -> None:
    feeding = Feeding("queue.fifo")
    assert feeding.feed.senders == 1
    feeding.queues.failure = Unreachable("http://test", "connection refused")
    async with feeding.working():
        for number in range(5):
            feeding.feed.put(item(str(number), "same"))
        await until(lambda: len(feeding.queues.requests) > 3)
        feeding.queues.failure = None
        await until(lambda: len(feeding.stored) == 5)
    assert feeding.queues.bodies() == ["0", "1", "2", "3", "4"]
