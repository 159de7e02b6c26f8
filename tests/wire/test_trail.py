"""The lifecycle trace: the rows of each request, and their values."""

import zlib

import pytest

from dovemq.telemetry.schema import COLUMNS, TraceEvent
from tests.wire.speaking import PROTOCOLS, request_of
from tests.wire.traced import FRONT_END, TracedWorld
from tests.wire.world import ACCOUNT, arn

CLIENT = "127.0.0.1:5000"
SECRET_BODY = "the body that nobody may see"


def text(value: str, kind: str = "String") -> dict[str, str]:
    return {"DataType": kind, "StringValue": value}


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_lifecycle_leaves_one_row_for_each_of_its_events(protocol: str) -> None:
    world = TracedWorld()
    queue = await world.queue()
    sent = await world.call(protocol, "SendMessage", {"QueueUrl": queue, "MessageBody": "é"})
    got = await world.call(protocol, "ReceiveMessage", {"QueueUrl": queue})
    receipt = got.body["Messages"][0]["ReceiptHandle"]
    asked = {"QueueUrl": queue, "ReceiptHandle": receipt}
    await world.call(protocol, "DeleteMessage", asked)
    rows = world.rows()
    assert [row["event"] for row in rows] == ["sent", "leased", "settled"]
    assert {row["message_id"] for row in rows} == {sent.body["MessageId"]}
    assert {row["queue"] for row in rows} == {f"{ACCOUNT}/orders"}
    assert {row["client"] for row in rows} == {CLIENT}
    assert {row["front_end"] for row in rows} == {FRONT_END}
    assert {row["send_seq"] for row in rows} == {1}
    assert [row["sender"] for row in rows] == [ACCOUNT, ACCOUNT, None]
    assert [row["receive_count"] for row in rows] == [None, 1, 1]
    assert [row["bytes"] for row in rows] == [2, 2, None]
    crc = zlib.crc32("é".encode())
    assert [row["body_crc32"] for row in rows] == [crc, crc, None]


async def test_times_are_in_the_order_of_what_happened() -> None:
    world = TracedWorld()
    queue = await world.queue()
    receipt = await world.receipt(queue)
    await world.settled(queue, receipt)
    sent, leased, settled = world.rows()
    assert sent["ts_us"] == sent["at_us"] < sent["ot_us"]
    assert sent["at_us"] < leased["it_us"] == leased["ts_us"] < leased["ot_us"]
    assert leased["ot_us"] < settled["ts_us"] < settled["ot_us"]
    assert all(row["latency_us"] > 0 for row in (sent, leased, settled))
    assert sent["latency_us"] > sent["ot_us"] - sent["at_us"]


async def test_each_message_of_a_batch_has_its_row() -> None:
    world = TracedWorld()
    queue = await world.queue()
    entries = [{"Id": str(n), "MessageBody": "x" * n} for n in range(1, 11)]
    sent = await world.done("SendMessageBatch", QueueUrl=queue, Entries=entries)
    messages = await world.received(queue)
    await world.settled(queue, *(each["ReceiptHandle"] for each in messages))
    ids = [entry["MessageId"] for entry in sent["Successful"]]
    for event in ("sent", "leased", "settled"):
        rows = world.rows(event)
        assert sorted(row["message_id"] for row in rows) == sorted(ids)
        assert {row["client"] for row in rows} == {CLIENT}
        assert len({row["ot_us"] for row in rows}) == 1
    assert [row["bytes"] for row in world.rows("sent")] == list(range(1, 11))
    assert [row["receive_seq"] for row in world.rows("leased")] == list(range(1, 11))


async def test_receive_that_could_not_be_answered_leaves_no_row() -> None:
    world = TracedWorld()
    queue = await world.queue()
    await world.done("SendMessage", QueueUrl=queue, MessageBody="a")
    await world.lost("ReceiveMessage", QueueUrl=queue)
    await world.received(queue)
    [leased] = world.rows("leased")
    assert (leased["receive_count"], leased["receive_seq"]) == (1, 2)


async def test_send_whose_answer_was_lost_has_a_row_without_it() -> None:
    world = TracedWorld()
    queue = await world.queue()
    await world.lost("SendMessage", QueueUrl=queue, MessageBody="a")
    [sent] = world.rows()
    assert sent["at_us"] is not None
    assert (sent["ot_us"], sent["latency_us"]) == (None, None)


async def test_refused_requests_leave_no_row() -> None:
    world = TracedWorld()
    queue = await world.queue()
    await world.call("json", "SendMessage", {"QueueUrl": queue, "MessageBody": ""})
    await world.call("json", "DeleteMessage", {"QueueUrl": queue, "ReceiptHandle": "x"})
    assert world.rows() == []


async def test_message_settled_twice_has_one_row() -> None:
    world = TracedWorld()
    queue = await world.queue()
    receipt = await world.receipt(queue)
    await world.settled(queue, receipt)
    await world.settled(queue, receipt)
    assert len(world.rows("settled")) == 1


async def test_receive_that_found_nothing_is_missed() -> None:
    world = TracedWorld()
    queue = await world.queue()
    await world.received(queue)
    [row] = world.rows()
    assert (row["event"], row["client"], row["message_id"]) == ("missed", CLIENT, None)
    assert row["latency_us"] > 0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (text("42", "Number"), 42),
        (text("7"), 7),
        (text("-1", "Number"), 1),
        (text("1.5", "Number"), 1),
        (text("9" * 19, "Number"), 1),
        (text("seven"), 1),
    ],
)
async def test_senders_own_number_counts_if_it_is_one(given: dict[str, str], expected: int) -> None:
    world = TracedWorld()
    queue = await world.queue()
    receipt = await world.receipt(queue, MessageAttributes={"dovemq.seq": given})
    await world.settled(queue, receipt)
    assert [row["send_seq"] for row in world.rows()] == [expected] * 3


async def test_job_and_task_are_recorded_unless_they_are_long() -> None:
    world = TracedWorld()
    queue = await world.queue()
    attributes = {
        "dovemq.job_type": text("report"),
        "dovemq.job_id": text("j" * 129),
        "dovemq.task": text("render"),
    }
    await world.done("SendMessage", QueueUrl=queue, MessageBody="plain")
    await world.receipt(queue, MessageAttributes=attributes)
    plain, with_job = world.rows("sent")
    assert (plain["job_type"], plain["job_id"], plain["task"]) == (None, None, None)
    assert (with_job["job_type"], with_job["job_id"]) == ("report", None)
    assert with_job["task"] == "render"


async def test_settle_of_a_lease_before_the_start_has_the_sequence_alone() -> None:
    world = TracedWorld()
    queue = await world.queue()
    receipt = await world.receipt(queue)
    world.meter.trace = world.new_trace()
    await world.settled(queue, receipt)
    [settled] = world.rows("settled")
    assert (settled["message_id"], settled["send_seq"]) == (None, 1)


async def test_leased_message_is_known_at_its_settle_however_many_came_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dovemq.telemetry.trace.MESSAGES_KNOWN_MAX", 4)
    monkeypatch.setattr("dovemq.telemetry.trace.ANSWERED_MAX", 1)

    world = TracedWorld()
    queue, crowd = await world.queue(), await world.queue("crowd")

    async def others(count: int) -> None:
        for _ in range(count):
            await world.done("SendMessage", QueueUrl=crowd, MessageBody="other")

    await world.done("SendMessage", QueueUrl=queue, MessageBody="one")
    await others(2)
    [message] = await world.received(queue)
    await others(3)
    await world.settled(queue, message["ReceiptHandle"])
    [settled] = world.rows("settled")
    assert settled["message_id"] == message["MessageId"]


async def test_dead_letter_is_redriven_and_not_settled() -> None:
    world = TracedWorld()
    await world.queue("dead")
    policy = f'{{"deadLetterTargetArn":"{arn("dead")}","maxReceiveCount":"1"}}'
    queue = await world.queue("work", RedrivePolicy=policy, VisibilityTimeout="1")
    await world.receipt(queue)
    world.clock.advance(1_000)
    assert await world.received(queue) == []
    sent, leased, redriven, missed = world.rows()
    assert redriven["event"] == "redriven"
    assert redriven["message_id"] == sent["message_id"] == leased["message_id"]
    assert redriven["queue"] == f"{ACCOUNT}/work"
    assert missed["event"] == "missed"


async def test_purged_messages_are_expired() -> None:
    world = TracedWorld()
    queue = await world.queue()
    await world.receipt(queue, "leased once")
    await world.done("SendMessage", QueueUrl=queue, MessageBody="never leased")
    await world.done("PurgeQueue", QueueUrl=queue)
    expired, sent = world.rows("expired"), world.rows("sent")
    assert [row["send_seq"] for row in expired] == [1, 2]
    assert [row["message_id"] for row in expired] == [row["message_id"] for row in sent]


async def test_duplicate_does_not_take_the_row_of_the_first() -> None:
    world = TracedWorld()
    queue = await world.fifo()
    one = {"QueueUrl": queue, "MessageBody": "a", "MessageGroupId": "g"}
    one["MessageDeduplicationId"] = "same"
    first = await world.endpoint.handle(request_of("json", "SendMessage", one))
    await world.done("SendMessage", **one)
    assert first.written is not None
    first.written()
    written_us = world.us
    [sent] = world.rows()
    assert sent["ot_us"] == written_us


async def test_columns_are_null_in_events_that_do_not_have_them() -> None:
    world = TracedWorld()
    queue = await world.queue()
    await world.settled(queue, await world.receipt(queue))
    await world.received(queue)
    await world.done("SendMessage", QueueUrl=queue, MessageBody="b")
    await world.done("PurgeQueue", QueueUrl=queue)
    rows = world.rows()
    assert {row["event"] for row in rows} == {
        "sent", "leased", "settled", "missed", "expired",
    }  # fmt: skip
    for row in rows:
        assert list(row) == [column.name for column in COLUMNS]
        for column in COLUMNS:
            if TraceEvent(row["event"]) not in column.events:
                assert row[column.name] is None, (row["event"], column.name)


async def test_no_row_holds_a_body_or_a_receipt() -> None:
    world = TracedWorld()
    queue = await world.queue()
    secret = {"private": text("an attribute that nobody may see")}
    receipt = await world.receipt(queue, SECRET_BODY, MessageAttributes=secret)
    await world.settled(queue, receipt)
    rows = world.rows()
    shown = repr(rows)
    assert len(rows) == 3
    for hidden in (SECRET_BODY, receipt, "nobody may see", "private"):
        assert hidden not in shown


async def test_rows_without_room_are_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    world = TracedWorld()
    queue = await world.queue()
    world.shelf.rows_waiting = 10**9
    assert world.rows() == []
    await world.settled(queue, await world.receipt(queue))
    assert world.rows() == []
    assert world.trace.rows_dropped == 3
    assert "3 rows dropped" in caplog.text


async def test_trace_that_fails_does_not_fail_the_request(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a private word")

    world = TracedWorld()
    queue = await world.queue()
    monkeypatch.setattr(world.trace, "sent", broken)
    await world.done("SendMessage", QueueUrl=queue, MessageBody="a")
    assert len(await world.received(queue)) == 1
    assert "ZeroDivisionError" in caplog.text
    assert "private" not in caplog.text
