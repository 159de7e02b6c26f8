"""Events made by Spark itself: a trace of any length, with one stream that has nine tenths of it.

Messages are sent every 300 µs and received 2 to 5 ms later, so about ten of them overtake each
other at any time. One in a hundred is received twice, one in a thousand never. Queue `q0` has 90 %
of the messages; fifty others share the rest. All have the same sender.
"""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from dovemq.pipeline.events import EVENT_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

START_US: Final = 1_700_000_000_000_000
ROWS_PER_FILE: Final = 1_500_000
ROWS_PER_MESSAGE: Final = 3
HOT_SHARE: Final = 0.9
MESSAGES_MAX: Final = 100_000_000
QUEUES: Final = 50


def generated(session: "SparkSession", events: int) -> "DataFrame":
    """About so many events; the same for the same number."""
    count = events // ROWS_PER_MESSAGE
    files = max(2, events // ROWS_PER_FILE)
    chance = F.pmod(F.hash("id"), F.lit(1_000_000)) / 1_000_000
    other = F.pmod(F.hash("id", F.lit(1)), F.lit(QUEUES)) + 1
    number = F.when(chance < HOT_SHARE, F.lit(0)).otherwise(other)
    wait_us = 2_000 + F.pmod(F.hash("id", F.lit(2)), F.lit(3_000))
    messages = session.range(0, count, 1, files).select(
        "id",
        F.concat(F.lit("000000000000/q"), number).alias("queue"),
        F.concat_ws(
            "-", F.lpad(F.hex("id"), 8, "0"), F.substring(F.md5(F.col("id").cast("string")), 1, 27)
        ).alias("message_id"),
        (START_US + F.col("id") * 300).alias("sent_us"),
        (START_US + F.col("id") * 300 + wait_us).alias("leased_us"),
    )
    return messages.select(F.inline(F.array_compact(F.array(*_events()))))


def _events() -> "list[Column]":
    leased, again = F.col("leased_us"), F.col("leased_us") + 30_000_000
    came = F.col("id") % 1_000 != 3
    return [
        _event("sent", F.col("sent_us"), at_us=F.col("sent_us"), **_body()),
        F.when(came, _leased(leased, 1)),
        F.when(came & (F.col("id") % 100 == 7), _leased(again, 2)),
        F.when(came, _event("settled", leased + 1_000, receive_count=F.lit(1))),
    ]


def _leased(at_us: "Column", count: int) -> "Column":
    # Rises with time, and tells leases of one microsecond apart.
    seq = (at_us - START_US) * MESSAGES_MAX + F.col("id")
    return _event(
        "leased", at_us, it_us=at_us, receive_seq=seq, receive_count=F.lit(count), **_body()
    )


def _body() -> "dict[str, Column]":
    return {"sender": F.lit("s1"), "body_crc32": F.crc32("message_id"), "bytes": F.lit(100)}


def _event(event: str, moment_us: "Column", **more: "Column") -> "Column":
    columns = {
        "ts_us": moment_us,
        "event": F.lit(event),
        "queue": F.col("queue"),
        "partition": F.lit(0),
        "message_id": F.col("message_id"),
        "send_seq": F.col("id") + 1,
        "client": F.concat(F.lit("127.0.0.1:4000"), F.col("id") % 8),
        "front_end": F.lit("front-end"),
        "latency_us": F.pmod(F.hash("id", F.lit(event)), F.lit(3_000)),
        "ot_us": moment_us + 10,
        **more,
    }
    return F.struct(
        *(
            columns.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in EVENT_SCHEMA.fields
        )
    )
