"""Turns rows into messages, and sends them to a queue that refuses some."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from dovemq.client import SqsClient
from dovemq.pipeline.source.errors import ColumnsRefused, RowsRefused
from dovemq.pipeline.source.writer import (
    SEND_ROUNDS_MAX,
    QueueSender,
    check_schema,
    entries,
)
from dovemq.sqs.shapes import (
    AttributeValue,
    FailedEntry,
    SendEntry,
    SendMessageBatchResponse,
    SentEntry,
)

TEXT = StringType()
TEXTS = MapType(TEXT, TEXT)


def _schema(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


@pytest.mark.parametrize(
    "schema",
    [
        _schema(body=TEXT),
        _schema(value=TEXT, attributes=TEXTS, delay_seconds=IntegerType()),
        _schema(body=TEXT, message_id=TEXT, sent_ms=IntegerType(), group_id=TEXT),
    ],
)
def test_a_table_with_bodies_can_be_sent(schema: StructType) -> None:
    check_schema(schema)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (_schema(group_id=TEXT), "one column body, or value"),
        (_schema(body=TEXT, value=TEXT), "one column body, or value"),
        (_schema(body=BinaryType()), "column body cannot be binary"),
        (_schema(body=TEXT, grup_id=TEXT), "column grup_id cannot be sent"),
        (_schema(body=TEXT, delay_seconds=TEXT), "column delay_seconds cannot be string"),
        (_schema(body=TEXT, attributes=MapType(TEXT, IntegerType())), "column attributes"),
    ],
)
def test_another_table_is_refused_before_anything_is_sent(schema: StructType, reason: str) -> None:
    with pytest.raises(ColumnsRefused, match=reason):
        check_schema(schema)


def test_rows_become_messages_with_ids_by_their_place() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "body": ["one", "two"],
            "group_id": ["g", None],
            "deduplication_id": [None, "mine"],
            "message_id": ["ignored", "ignored"],
            "trace": ["Root=1", None],
        }
    )
    one, two = entries(batch, 40, "default", "query/3/7")
    assert (one.id, one.message_body, one.message_group_id) == ("40", "one", "g")
    assert one.message_deduplication_id == "query/3/7/40"
    assert one.message_system_attributes == {"AWSTraceHeader": AttributeValue("String", "Root=1")}
    assert (two.message_group_id, two.message_deduplication_id) == ("default", "mine")


def test_a_standard_queue_gets_no_deduplication_ids() -> None:
    batch = pa.RecordBatch.from_pydict({"value": ["one"], "deduplication_id": ["given"]})
    (one,) = entries(batch, 0, None, None)
    assert one.message_body == "one"
    assert one.message_deduplication_id is None


def test_attributes_are_texts_or_keep_their_type() -> None:
    kind = pa.map_(pa.string(), pa.string())
    batch = pa.RecordBatch.from_pydict(
        {"body": ["one"], "attributes": [[("n", "1")]]},
        schema=pa.schema([("body", pa.string()), ("attributes", kind)]),
    )
    (one,) = entries(batch, 0, None, None)
    assert one.message_attributes == {"n": AttributeValue("String", "1")}


class Judge(SqsClient):
    """A fake queue: it refuses some messages always, and fails others once."""

    def __init__(self, refused: Sequence[str] = (), failing: Sequence[str] = ()) -> None:
        self.sent: list[list[str]] = []
        self._refused = refused
        self._failing = list(failing)

    async def send_batch(
        self, queue: str, entries: Sequence[SendEntry]
    ) -> SendMessageBatchResponse:
        bodies = [entry.message_body or "" for entry in entries]
        self.sent.append(bodies)
        answer = SendMessageBatchResponse([], [])
        for entry, body in zip(entries, bodies, strict=True):
            name = entry.id or ""
            if body in self._refused:
                answer.failed.append(FailedEntry(name, "Invalid", "characters", True))
            elif body in self._failing:
                self._failing.remove(body)
                answer.failed.append(FailedEntry(name, "InternalError", "", False))
            else:
                answer.successful.append(SentEntry("md5", "id", id=name))
        return answer


async def _send(judge: Judge, *bodies: str | None) -> None:
    messages = [SendEntry(id=str(row), message_body=body) for row, body in enumerate(bodies)]
    await QueueSender(judge, "orders", 1, 5).send(messages)


async def test_groups_are_sent_side_by_side_and_each_in_its_order() -> None:
    judge = Judge()
    messages = [
        SendEntry(id=str(row), message_body=f"{row % 5} {row}", message_group_id=f"g{row % 5}")
        for row in range(200)
    ]
    await QueueSender(judge, "orders.fifo", 4, 0).send(messages)
    sent = [body for batch in judge.sent for body in batch]
    for group in range(5):
        of_group = [body for body in sent if body.startswith(f"{group} ")]
        assert of_group == [f"{group} {row}" for row in range(group, 200, 5)]
    assert len(judge.sent) < 30


async def test_batches_are_of_ten_and_of_a_mebibyte() -> None:
    judge = Judge()
    await _send(judge, *("x" * 10 for _ in range(25)), "y" * 700_000, "z" * 700_000)
    assert [len(batch) for batch in judge.sent] == [10, 10, 6, 1]


async def test_only_messages_that_failed_at_the_server_are_sent_again() -> None:
    judge = Judge(failing=["b", "b"])
    await _send(judge, "a", "b", "c")
    assert judge.sent == [["a", "b", "c"], ["b"], ["b"]]


async def test_a_task_fails_with_the_rows_that_were_refused_and_not_their_bodies() -> None:
    with pytest.raises(RowsRefused) as refused:
        await _send(Judge(refused=["bad body"]), "a", "bad body")
    assert "partition 5: row 1: Invalid: characters" in str(refused.value)
    assert "bad body" not in str(refused.value)


async def test_message_that_always_fails_is_refused_in_the_end() -> None:
    judge = Judge(failing=["a"] * 100)
    with pytest.raises(RowsRefused, match="InternalError"):
        await _send(judge, "a")
    assert len(judge.sent) == SEND_ROUNDS_MAX


async def test_rows_without_a_body_are_refused_before_any_is_sent() -> None:
    judge = Judge()
    with pytest.raises(RowsRefused, match=r"row 1: it has no body.*and 2 more"):
        await _send(judge, "a", *[None] * 7)
    assert judge.sent == []
