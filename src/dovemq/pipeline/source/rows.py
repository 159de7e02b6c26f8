"""Turns rows into messages to send."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
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

from dovemq.pipeline.source.columns import SCHEMA
from dovemq.pipeline.source.errors import ColumnsRefused
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


class Identity:
    """Deduplication ids by position: a repeated task gives the same row the same id."""

    def __init__(self, run: str, partition: int) -> None:
        self._prefix = f"{run}/{partition}"

    def of(self, row: int) -> str:
        return f"{self._prefix}/{row}"


def entries(
    batch: pa.RecordBatch, first_row: int, group_id: str | None, identity: Identity | None
) -> Iterator[SendEntry]:
    """Yields messages, identified by their row in the partition; `identity` is for FIFO queues."""
    names = [name for name in batch.schema.names if name in SENT]
    columns = [batch.column(name).to_pylist() for name in names]
    for row, values in enumerate(zip(*columns, strict=True), first_row):
        told = dict(zip(names, values, strict=True))
        trace = told.get("trace")
        yield SendEntry(
            message_body=told.get("body") or told.get("value"),
            delay_seconds=told.get("delay_seconds"),
            message_attributes=_attributes(told.get("attributes")),
            message_system_attributes=(
                {_TRACE: AttributeValue("String", trace)} if trace else None
            ),
            message_deduplication_id=(
                (told.get("deduplication_id") or identity.of(row)) if identity else None
            ),
            message_group_id=told.get("group_id") or group_id,
            id=str(row),
        )


def _attributes(pairs: list[tuple[str, Any]] | None) -> dict[str, AttributeValue] | None:
    return {name: _attribute(value) for name, value in pairs} if pairs else None


def _attribute(value: str | Mapping[str, Any] | None) -> AttributeValue:
    if value is None or isinstance(value, str):
        return AttributeValue("String", value)
    return AttributeValue(value["type"], value["value"], value["binary"])
