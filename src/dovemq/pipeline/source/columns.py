"""Messages as rows: the columns in Spark, filled from received or peeked messages.

Attributes keep their types, so that what is read can be written again unchanged.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from dovemq.core.queue import QueueKey
from dovemq.pipeline.source.errors import ColumnsRefused
from dovemq.sqs.actions.sending import sequence_number
from dovemq.sqs.arns import QueueNames
from dovemq.sqs.shapes import AttributeValue, ReceivedMessage

ATTRIBUTE: Final = pa.struct(
    [("type", pa.string()), ("value", pa.string()), ("binary", pa.binary())]
)
SCHEMA: Final = pa.schema(
    [
        ("message_id", pa.string()),
        ("body", pa.string()),
        ("attributes", pa.map_(pa.string(), ATTRIBUTE)),
        ("sent_ms", pa.int64()),
        ("first_received_ms", pa.int64()),
        ("receive_count", pa.int32()),
        ("sender", pa.string()),
        ("group_id", pa.string()),
        ("deduplication_id", pa.string()),
        ("sequence_number", pa.string()),
        ("trace", pa.string()),
        ("dead_letter_source", pa.string()),
    ]
)
MESSAGE_ID: Final = "message_id"
RECEIPT: Final = pa.field("receipt", pa.string())
"""This column is only in staged files."""
_ATTRIBUTES: Final = "attributes"
_SENT_MS: Final = "sent_ms"

# Columns that are system attributes of SQS: the name there, and the type of the text.
_SYSTEM: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    "sent_ms": ("SentTimestamp", int),
    "first_received_ms": ("ApproximateFirstReceiveTimestamp", int),
    "receive_count": ("ApproximateReceiveCount", int),
    "sender": ("SenderId", str),
    "group_id": ("MessageGroupId", str),
    "deduplication_id": ("MessageDeduplicationId", str),
    "sequence_number": ("SequenceNumber", str),
    "trace": ("AWSTraceHeader", str),
    "dead_letter_source": ("DeadLetterQueueSourceArn", str),
}


def check_columns(names: Sequence[str]) -> None:
    for name in names:
        if name not in SCHEMA.names:
            raise ColumnsRefused(f"a message has no column {name}", SCHEMA.names)


class StagedColumns(NamedTuple):
    """The columns of a staged file of received messages, and what a receive asks SQS for.

    `names` are the system attributes to request, `attribute_names` the message attributes.
    """

    schema: pa.Schema
    names: list[str]
    attribute_names: list[str]

    @classmethod
    def of(cls, columns: Sequence[str]) -> "StagedColumns":
        """Message ids, receipts and send times are always included."""
        held = [name for name in SCHEMA.names if name in {*columns, MESSAGE_ID, _SENT_MS}]
        return cls(
            pa.schema([*map(SCHEMA.field, held), RECEIPT]),
            [_SYSTEM[name][0] for name in held if name in _SYSTEM],
            ["All"] if _ATTRIBUTES in held else [],
        )


def received_batch(messages: Sequence[ReceivedMessage], schema: pa.Schema) -> pa.RecordBatch:
    """Turns messages into a batch with receipts, for staging."""
    columns: dict[str, list[Any]] = {
        MESSAGE_ID: [each.message_id for each in messages],
        "body": [each.body for each in messages],
        RECEIPT.name: [each.receipt_handle for each in messages],
    }
    if _ATTRIBUTES in schema.names:
        columns[_ATTRIBUTES] = [_received_attributes(each.message_attributes) for each in messages]
    for name, (wire_name, convert) in _SYSTEM.items():
        if name in schema.names:
            texts = [each.attributes.get(wire_name) for each in messages]
            columns[name] = [None if text is None else convert(text) for text in texts]
    held = {name: columns[name] for name in schema.names}
    return pa.RecordBatch.from_pydict(held, schema=schema)


def peeked_batch(documents: Sequence[Mapping[str, Any]], region: str) -> pa.RecordBatch:
    """Turns messages of the admin API into a batch; they always have a sequence number."""
    names = QueueNames(region)
    renamed = {"group_id": "group", "sequence_number": "sequence", "dead_letter_source": "source"}
    columns = {name: [each[renamed.get(name, name)] for each in documents] for name in SCHEMA.names}
    columns["attributes"] = [_peeked_attributes(each["attributes"]) for each in documents]
    columns["sequence_number"] = [sequence_number(each["sequence"]) for each in documents]
    columns["dead_letter_source"] = [
        source and names.arn(QueueKey.parse(source)) for source in columns["dead_letter_source"]
    ]
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def _received_attributes(attributes: Mapping[str, AttributeValue]) -> list[tuple[str, Any]]:
    return [
        (name, {"type": each.data_type, "value": each.string_value, "binary": each.binary_value})
        for name, each in attributes.items()
    ]


def _peeked_attributes(attributes: Mapping[str, Mapping[str, str]]) -> list[tuple[str, Any]]:
    return [
        (
            name,
            {
                "type": each["type"],
                "value": each.get("value"),
                "binary": base64.b64decode(each["base64"]) if "base64" in each else None,
            },
        )
        for name, each in attributes.items()
    ]
