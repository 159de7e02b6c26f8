"""`dovemq.open` and `dovemq.open_async`: the queues in process."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dovemq
from dovemq.bootstrap import opening
from dovemq.core.errors import (
    InvalidAttribute,
    InvalidValue,
    MissingValue,
    QueueExists,
    QueueMissing,
    ReceiptInvalid,
    StoreUnusable,
    UnknownAttribute,
)
from dovemq.core.message import Attribute
from dovemq.core.queue import QueueKey
from dovemq.core.sessions import SESSION
from dovemq.inprocess import AsyncLocalQueues, AttributeInput, LocalQueue, LocalQueues
from dovemq.settings import ACCOUNT, SettingInvalid
from dovemq.stores.urls import parse_path


@pytest.fixture
def mq() -> Iterator[LocalQueues]:
    with dovemq.open("memory://") as opened:
        yield opened


def test_sent_message_is_received_with_all_that_was_given(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    attributes: dict[str, AttributeInput] = {
        "a": "text",
        "n": 7,
        "b": b"\x00\xff",
        "own": Attribute("String.own", "x"),
    }
    message_id = queue.send("hello", attributes=attributes)
    (message,) = queue.receive()
    assert (message.id, message.body, message.receive_count) == (message_id, "hello", 1)
    assert message.attributes == {"a": "text", "n": "7", "b": b"\x00\xff", "own": "x"}


def test_settled_message_is_gone(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    queue.send("hello")
    queue.receive()[0].settle()
    counts = queue.counts()
    assert (counts.visible, counts.leased) == (0, 0)


def test_leased_message_is_hidden_and_counted(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    queue.send("hello")
    queue.receive(lease=60)
    assert queue.receive() == []
    assert queue.counts().leased == 1


def test_released_message_is_visible_at_once_and_the_receive_counts(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    queue.send("hello")
    queue.receive(lease=60)[0].release()
    assert queue.receive()[0].receive_count == 2


def test_extended_message_stays_hidden(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    queue.send("hello")
    message = queue.receive(lease=60)[0]
    message.extend(600)
    (peeked,) = queue.peek()
    assert peeked.visible_ms >= message.sent_ms + 600_000


def test_delayed_message_is_not_visible(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    queue.send("later", delay=600)
    assert queue.receive() == []
    assert queue.counts().delayed == 1


def test_batch_is_received_up_to_a_hundred_at_a_time(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    assert len(set(queue.send_all([str(number) for number in range(150)]))) == 150
    assert len(queue.receive(max=100)) == 100
    assert len(queue.receive(max=100)) == 50


def test_fifo_queue_keeps_order_within_a_group(mq: LocalQueues) -> None:
    queue = mq.create("jobs.fifo", content_deduplication=True)
    for body in ("one", "two", "three"):
        queue.send(body, group="g")
    assert [message.body for message in queue.receive(max=10)] == ["one", "two", "three"]


def test_fifo_duplicate_answers_with_the_first_id(mq: LocalQueues) -> None:
    queue = mq.create("jobs.fifo")
    first = queue.send("one", group="g", deduplication_id="d")
    assert queue.send("two", group="g", deduplication_id="d") == first
    assert queue.counts().visible == 1


def test_waiting_receive_gets_a_message_that_another_thread_sends(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    sender = threading.Thread(target=queue.send, args=("hello",))
    sender.start()
    assert [message.body for message in queue.receive(wait=30)] == ["hello"]
    sender.join()


def test_message_received_too_often_goes_to_the_dead_letters(mq: LocalQueues) -> None:
    dead = mq.queue("dead")
    queue = mq.create("jobs", dead_letters="dead", receives_max=1)
    queue.send("poison")
    queue.receive()[0].release()
    assert queue.receive() == []
    assert [message.body for message in dead.receive()] == ["poison"]


def test_options_of_a_queue_are_seconds(mq: LocalQueues) -> None:
    queue = mq.create("jobs", delay=600)
    queue.send("later")
    assert queue.counts().delayed == 1
    queue.change(delay=0)
    queue.send("now")
    assert queue.counts().visible == 1


def test_queues_are_listed_created_and_deleted(mq: LocalQueues) -> None:
    mq.create("a-1")
    mq.create("a-2")
    mq.create("b")
    assert mq.names() == ["a-1", "a-2", "b"]
    assert mq.names("a-") == ["a-1", "a-2"]
    mq.delete("a-1")
    assert mq.names("a-") == ["a-2"]


def test_existing_queue_must_agree_with_the_options(mq: LocalQueues) -> None:
    mq.create("jobs", lease=60)
    mq.create("jobs", lease=60)
    with pytest.raises(QueueExists):
        mq.create("jobs", lease=61)


def test_purge_removes_everything(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    queue.send_all(["a", "b"])
    queue.purge()
    assert queue.peek() == []


@pytest.mark.parametrize("count", [0, 101])
def test_count_of_a_receive_is_bounded(mq: LocalQueues, count: int) -> None:
    with pytest.raises(InvalidValue):
        mq.queue("jobs").receive(max=count)


def test_times_out_of_range_are_refused(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    with pytest.raises(InvalidValue):
        queue.receive(lease=43_201)
    with pytest.raises(InvalidValue):
        queue.receive(wait=-1)
    with pytest.raises(InvalidValue):
        queue.send("x", delay=901)
    with pytest.raises(InvalidAttribute):
        mq.create("other", retention=59)


def test_unknown_option_is_refused(mq: LocalQueues) -> None:
    with pytest.raises(UnknownAttribute, match="colour"):
        mq.create("jobs", colour="red")  # type: ignore[call-arg]


def test_deleted_queue_refuses_everything(mq: LocalQueues) -> None:
    queue = mq.queue("jobs")
    mq.delete("jobs")
    with pytest.raises(QueueMissing):
        queue.send("x")


def test_foreign_receipt_is_refused(mq: LocalQueues) -> None:
    with pytest.raises(ReceiptInvalid):
        mq.queue("jobs").settle(["garbage"])


def test_fifo_send_without_group_is_refused(mq: LocalQueues) -> None:
    with pytest.raises(MissingValue):
        mq.create("jobs.fifo").send("x")


def test_closed_queues_refuse_and_may_be_closed_twice() -> None:
    mq = dovemq.open("memory://")
    queue = mq.queue("jobs")
    mq.close()
    mq.close()
    with pytest.raises(RuntimeError, match="closed"):
        queue.send("x")


def test_closing_ends_a_receive_that_waits_in_another_thread() -> None:
    mq = dovemq.open("memory://")
    queue = mq.queue("jobs")
    waiter = threading.Thread(target=_receive_until_closed, args=(queue,), daemon=True)
    waiter.start()
    mq.close()
    waiter.join(60)
    assert not waiter.is_alive()


def _receive_until_closed(queue: LocalQueue) -> None:
    with contextlib.suppress(RuntimeError, CancelledError):
        queue.receive(wait=3_600)


def test_unknown_store_is_refused() -> None:
    with pytest.raises(SettingInvalid, match="use a directory or memory://"):
        dovemq.open("redis://somewhere")


def test_messages_survive_closing_the_directory(tmp_path: Path) -> None:
    with dovemq.open(tmp_path / "mq") as mq:
        mq.queue("jobs").send("hello")
    with dovemq.open(str(tmp_path / "mq")) as mq:
        (message,) = mq.queue("jobs").receive()
        assert message.body == "hello"
        message.settle()
    with dovemq.open(tmp_path / "mq") as mq:
        assert mq.queue("jobs").peek() == []


def test_directory_in_use_is_refused(tmp_path: Path) -> None:
    with dovemq.open(tmp_path / "mq"), pytest.raises(StoreUnusable):
        dovemq.open(tmp_path / "mq")


async def test_asyncio_programs_have_the_same_queues() -> None:
    async with dovemq.open_async("memory://") as mq:
        queue = await mq.queue("jobs")
        waiting = asyncio.create_task(queue.receive(wait=30))
        await queue.send("hello")
        (message,) = await waiting
        assert message.body == "hello"
        await message.settle()
        assert (await queue.counts()).leased == 0


async def test_cancelled_receive_leaves_nothing_leased() -> None:
    async with dovemq.open_async("memory://") as mq:
        queue = await mq.queue("jobs")
        waiting = asyncio.create_task(queue.receive(wait=30))
        await asyncio.sleep(0)
        waiting.cancel()
        await queue.send("hello")
        assert (await queue.counts()).visible == 1


def test_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError):
        dovemq.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("q", {"order_hint": 2.5}),
        ("q", {"delivery_paused": "yes"}),
        ("q", {"message_bytes_max": 2_000.5}),
        ("q", {"group_concurrency": "3"}),
        ("q", {"lease": "long"}),
        ("q", {"retention": float("inf")}),
        ("q", {"receives_max": 3}),
        ("q", {"dead_letters": "dead", "receives_max": 0}),
        ("q.fifo", {"deduplication_scope": "bogus"}),
    ],
)
def test_option_of_a_wrong_kind_is_refused_before_it_is_stored(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    with dovemq.open(tmp_path) as opened:
        opened.create("dead")
        with pytest.raises(InvalidAttribute):
            opened.create(name, **options)
    with dovemq.open(tmp_path) as opened:
        assert opened.names() == ["dead"]


def test_opened_client_is_one_session_until_it_is_closed() -> None:
    async def counted() -> tuple[int, int, bool]:
        opened = await opening.open_service(parse_path("memory://"))
        queues = AsyncLocalQueues(opened.service, ACCOUNT, opened.new_id)
        queue = await queues.create("jobs", partitions=2)
        found = await opened.service.queues.find(QueueKey(ACCOUNT, "jobs"))
        settings = msgspec.structs.replace(found.settings, auto=True)
        changed = msgspec.structs.replace(found, settings=settings)
        assert await opened.fabric.catalogue.replace(changed)
        await asyncio.gather(*(queue.send("x") for _ in range(5)), queue.receive())
        during = len(opened.fabric.sessions)
        await queues.close()
        return during, len(opened.fabric.sessions), SESSION.get() is None

    assert asyncio.run(counted()) == (2, 0, True)
