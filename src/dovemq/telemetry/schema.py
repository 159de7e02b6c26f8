"""The lifecycle trace as a table: its events, its columns in their order, and what each means.

Needs no library: the reference page is written from here, and `columns.py` builds what it says.
"""

import enum
from typing import Final, Literal

from msgspec import Struct

VERSION: Final = "1"
"""Kept in every file; a reader may refuse what it does not know."""


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
    TraceEvent.LEASED: "a message was handed out, and the answer that holds it was written",
    TraceEvent.MISSED: "a receive was answered without a message",
    TraceEvent.SETTLED: "a message was deleted by its receipt",
    TraceEvent.EXPIRED: "a message was removed unsettled: past its retention, or purged",
    TraceEvent.REDRIVEN: "a message moved to another queue: exhausted, or by a move task",
    TraceEvent.EXCHANGED: "a message moved between partitions of a queue; not written yet",
}

Form = Literal["int32", "int64", "uint32", "text", "label"]
"""A label is text of which there are few different ones."""


class Column(Struct, frozen=True):
    """`events` are those whose rows can have a value; in all others it is null."""

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
    Column("partition", "int32", "number of the physical queue", _ALL),
    Column("message_id", "text", "null where it is not known any more", _OF_MESSAGES),
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
    Column("client", "label", "address and port of who asked", _ANSWERED),
    Column("front_end", "label", "the process that wrote the row; new with every start", _ALL),
    Column("bytes", "int64", "size of body and attributes", _OF_BODIES),
    Column("body_crc32", "uint32", "CRC-32 of the body in UTF-8, as it was sent", _OF_BODIES),
    Column("latency_us", "int64", "from the request read to its answer written", _ANSWERED),
    Column("at_us", "int64", "when the send was committed", (TraceEvent.SENT,)),
    Column("it_us", "int64", "when the message was leased", (TraceEvent.LEASED,)),
    Column("ot_us", "int64", "when the answer was written to the socket", _ANSWERED),
    Column("job_type", "text", "attribute `dovemq.job_type` of the message", _OF_BODIES),
    Column("job_id", "text", "attribute `dovemq.job_id`", _OF_BODIES),
    Column("task", "text", "attribute `dovemq.task`", _OF_BODIES),
)
