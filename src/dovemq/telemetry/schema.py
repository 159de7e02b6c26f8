"""The schema of the lifecycle trace: its events, and its columns in their order, with meanings.

It needs no library. The reference page is generated from it, and `columns.py` builds its tables.
"""

import enum
from typing import Final, Literal

from msgspec import Struct

VERSION: Final = "1"
"""The version in every file; readers may refuse versions that they do not know."""


class TraceEvent(enum.Enum):
    SENT = "sent"
    LEASED = "leased"
    MISSED = "missed"
    SETTLED = "settled"
    EXPIRED = "expired"
    REDRIVEN = "redriven"
    EXCHANGED = "exchanged"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS: Final = {
    TraceEvent.SENT: "a message became durable and visible, or will be visible after its delay",
    TraceEvent.LEASED: "a message was received, and the response that contains it was written",
    TraceEvent.MISSED: "a receive returned no message",
    TraceEvent.SETTLED: "a message was deleted by its receipt",
    TraceEvent.EXPIRED: "a message was removed unsettled: its retention ended, or a purge",
    TraceEvent.REDRIVEN: "a message moved to another queue: exhausted, or by a move task",
    TraceEvent.EXCHANGED: "a message moved from this partition of its queue to another one",
}

Form = Literal["int32", "int64", "uint32", "text", "label"]
"""A label is a text column with few different values."""


class Column(Struct, frozen=True):
    """A column; it is null in the rows of all events that are not in `events`."""

    name: str
    form: Form
    meaning: str
    events: tuple[TraceEvent, ...]


_ALL: Final = tuple(TraceEvent)
_OF_MESSAGES: Final = tuple(event for event in TraceEvent if event is not TraceEvent.MISSED)
_ANSWERED: Final = (TraceEvent.SENT, TraceEvent.LEASED, TraceEvent.MISSED, TraceEvent.SETTLED)
_OF_BODIES: Final = (TraceEvent.SENT, TraceEvent.LEASED)
_OF_RECEIPTS: Final = (TraceEvent.LEASED, TraceEvent.SETTLED, TraceEvent.REDRIVEN)

COLUMNS: Final = (
    Column("ts_us", "int64", "when it happened, µs since 1970 UTC", _ALL),
    Column("event", "label", "what happened", _ALL),
    Column("queue", "label", "`account/name`", _ALL),
    Column(
        "partition",
        "int32",
        "number of the physical queue; null if a receive missed in a queue of several",
        _ALL,
    ),
    Column("message_id", "text", "null if it is no longer known", _OF_MESSAGES),
    Column("sender", "label", "account that sent the message", _OF_BODIES),
    Column(
        "send_seq",
        "int64",
        "attribute `dovemq.seq` of the message if that is a whole number, else its sequence in "
        "the store",
        _OF_MESSAGES,
    ),
    Column("receive_seq", "int64", "rises with every lease of a front end", (TraceEvent.LEASED,)),
    Column("receive_count", "int32", "which lease of the message it was", _OF_RECEIPTS),
    Column("client", "label", "address and port of the client", _ANSWERED),
    Column("front_end", "label", "the process that wrote the row; new with every start", _ALL),
    Column("bytes", "int64", "size of body and attributes", _OF_BODIES),
    Column("body_crc32", "uint32", "CRC-32 of the body in UTF-8, as it was sent", _OF_BODIES),
    Column("latency_us", "int64", "from the request read to its response written", _ANSWERED),
    Column("at_us", "int64", "when the send was committed", (TraceEvent.SENT,)),
    Column("it_us", "int64", "when the message was leased", (TraceEvent.LEASED,)),
    Column("ot_us", "int64", "when the response was written to the socket", _ANSWERED),
    Column("job_type", "text", "attribute `dovemq.job_type` of the message", _OF_BODIES),
    Column("job_id", "text", "attribute `dovemq.job_id`", _OF_BODIES),
    Column("task", "text", "attribute `dovemq.task`", _OF_BODIES),
)
