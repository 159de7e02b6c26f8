"""Writes rows to a queue, in batches and as a stream.

A task that runs again sends again. On a FIFO queue its rows have the same deduplication ids, so no
message is in the queue twice; on a standard queue it may be. Messages of a failed task stay sent.
"""

import asyncio
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa
from msgspec import Struct
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import (
    ByteType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
)

from dovemq.client.batching import batches
from dovemq.client.retrying import retried
from dovemq.client.sqs import SqsClient
from dovemq.core import limits
from dovemq.core.errors import InvariantError
from dovemq.core.sending import message_bytes
from dovemq.pipeline.source.columns import SCHEMA
from dovemq.pipeline.source.errors import ColumnsRefused, RowsRefused
from dovemq.pipeline.source.options import QueueServer
from dovemq.sqs.actions.sending import wire_attributes
from dovemq.sqs.shapes import AttributeValue, SendEntry

BODIES: Final = ("body", "value")
SENT: Final = (*BODIES, "attributes", "group_id", "deduplication_id", "delay_seconds", "trace")
_TRACE: Final = "AWSTraceHeader"
_WHOLE: Final = (ByteType, ShortType, IntegerType, LongType)


def check_schema(schema: StructType) -> None:
    """Checks the columns. Columns of read messages that cannot be sent are ignored."""
    names = schema.fieldNames()
    if len(set(names) & set(BODIES)) != 1:
        raise ColumnsRefused("one column body, or value, must hold the bodies", names)
    for field in schema.fields:
        if field.name not in SENT and field.name not in SCHEMA.names:
            raise ColumnsRefused(f"column {field.name} cannot be sent", SENT)
        if field.name in SENT and not _fits(field.name, field.dataType):
            found = f"column {field.name} cannot be {field.dataType.simpleString()}"
            raise ColumnsRefused(found, names)


def _fits(name: str, found: DataType) -> bool:
    if name == "delay_seconds":
        return isinstance(found, _WHOLE)
    if name != "attributes":
        return isinstance(found, StringType)
    if not isinstance(found, MapType) or not isinstance(found.keyType, StringType):
        return False
    value = found.valueType
    if isinstance(value, StructType):
        return value.fieldNames() == ["type", "value", "binary"]
    return isinstance(value, StringType)


def entries(
    batch: pa.RecordBatch, first_row: int, group_id: str | None, task_name: str | None
) -> Iterator[SendEntry]:
    """Yields messages, identified by their row in the partition.

    On a FIFO queue `task_name` is the first part of their deduplication ids; a repeated task has
    the same name, so it gives the same row the same id.
    """
    names = [name for name in batch.schema.names if name in SENT]
    columns = [batch.column(name).to_pylist() for name in names]
    for row, values in enumerate(zip(*columns, strict=True), first_row):
        given = dict(zip(names, values, strict=True))
        trace = given.get("trace")
        deduplication_id = given.get("deduplication_id") or f"{task_name}/{row}"
        yield SendEntry(
            message_body=given.get("body") or given.get("value"),
            delay_seconds=given.get("delay_seconds"),
            message_attributes=_attributes(given.get("attributes")),
            message_system_attributes={_TRACE: AttributeValue("String", trace)} if trace else None,
            message_deduplication_id=deduplication_id if task_name else None,
            message_group_id=given.get("group_id") or group_id,
            id=str(row),
        )


def _attributes(pairs: list[tuple[str, Any]] | None) -> dict[str, AttributeValue] | None:
    return {name: _attribute(value) for name, value in pairs} if pairs else None


def _attribute(value: str | Mapping[str, Any] | None) -> AttributeValue:
    if value is None or isinstance(value, str):
        return AttributeValue("String", value)
    return AttributeValue(value["type"], value["value"], value["binary"])


SEND_ROUNDS_MAX: Final = 5
REASONS_MAX: Final = 5
_NO_BODY: Final = "it has no body"


class QueueSink(Struct, frozen=True):
    server: QueueServer
    group_id: str | None
    senders: int


@dataclass
class Written(WriterCommitMessage):
    rows: int


@dataclass
class BatchWriter(DataSourceArrowWriter):
    """`run` is chosen once, so that a repeated task has the same deduplication ids."""

    sink: QueueSink
    run: str

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return _write(self.sink, self.run, iterator)


@dataclass
class StreamWriter(DataSourceStreamArrowWriter):
    sink: QueueSink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        task = _task()
        query = task.getLocalProperty("sql.streaming.queryId")
        batch = task.getLocalProperty("streaming.sql.batchId")
        return _write(self.sink, f"{query}/{batch}", iterator)


@dataclass(frozen=True, slots=True)
class QueueSender:
    """Sends the rows of one task over `senders` lanes, each with one batch at a time.

    A group uses one lane, so that its order is kept.
    """

    client: SqsClient
    queue: str
    senders: int
    partition: int

    async def send(self, messages: Sequence[SendEntry]) -> None:
        refusals = [(entry.id, _NO_BODY) for entry in messages if not entry.message_body]
        if not refusals:
            found = await asyncio.gather(*map(self._send_lane, self._lanes(messages)))
            refusals = [refusal for lane in found for refusal in lane]
        if refusals:
            reasons = [f"row {row}: {why}" for row, why in refusals[:REASONS_MAX]]
            more = len(refusals) - len(reasons)
            raise RowsRefused(self.queue, self.partition, reasons, more)

    def _lanes(self, messages: Sequence[SendEntry]) -> list[list[SendEntry]]:
        lanes: list[list[SendEntry]] = [[] for _ in range(self.senders)]
        for row, entry in enumerate(messages):
            group = entry.message_group_id
            # Lanes take ten rows in turn, so that few rows make one batch.
            place = row // limits.BATCH_COUNT.most if group is None else zlib.crc32(group.encode())
            lanes[place % self.senders].append(entry)
        return lanes

    async def _send_lane(self, lane: Sequence[SendEntry]) -> list[tuple[str | None, str]]:
        """Returns the refused rows with reasons; the first refusal ends the lane."""
        for part in batches(lane, _bytes):
            refused = await self._send_batch(part)
            if refused:
                return refused
        return []

    async def _send_batch(self, part: list[SendEntry]) -> list[tuple[str | None, str]]:
        refused: dict[str, str] = {}
        for _ in range(SEND_ROUNDS_MAX):
            answer = await retried(partial(self.client.send_batch, self.queue, part))
            refused = {each.id: f"{each.code}: {each.message}" for each in answer.failed}
            if not refused or any(each.sender_fault for each in answer.failed):
                break
            part = [entry for entry in part if entry.id in refused]
        return list(refused.items())


def _write(sink: QueueSink, run: str, iterator: Iterator[pa.RecordBatch]) -> Written:
    server = sink.server
    partition = _task().partitionId()
    task_name = f"{run}/{partition}" if server.fifo else None
    rows = 0
    with server.connected() as (thread, client):
        sending = QueueSender(client, server.queue, sink.senders, partition)
        for batch in iterator:
            thread.run(sending.send(list(entries(batch, rows, sink.group_id, task_name))))
            rows += batch.num_rows
    return Written(rows)


def _task() -> TaskContext:
    task = TaskContext.get()
    if task is None:
        raise InvariantError("rows are written outside a task")
    return task


def _bytes(entry: SendEntry) -> int:
    attributes = wire_attributes(entry.message_attributes or {})
    return message_bytes(entry.message_body or "", attributes)
