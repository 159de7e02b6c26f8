"""The steps on Spark, each from DataFrame to DataFrame with its columns named.

Labels and ids are carried as hashes: rows that are shuffled and sorted have no text in them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dovemq.pipeline.metrics.accounts import ACCOUNTS, accounts
from dovemq.pipeline.metrics.digits import shortened_sql
from dovemq.pipeline.metrics.matching import LEASED, LEFT, MESSAGES, NEVER, ROWS, SENT, matched
from dovemq.pipeline.metrics.result import QUARANTINE
from dovemq.pipeline.metrics.rules import MOMENT, REASON
from dovemq.pipeline.metrics.sources import FORMS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TRACE: Final = StructType(
    [
        StructField(name, StringType() if form in ("label", "text") else LongType())
        for name, form in FORMS.items()
    ]
)
"""Unsigned numbers of 32 bits are long ones to Spark."""
MESSAGES_PER_BATCH: Final = 65_536
_ONE: Final = 1


def believed(traces: "DataFrame") -> "DataFrame":
    moment = F.expr(MOMENT)
    return traces.where(f"({REASON}) IS NULL").select(
        "event",
        "queue",
        moment.alias("moment_us"),
        "message_id",
        "sender",
        "send_seq",
        "receive_seq",
        "front_end",
        "client",
        "body_crc32",
        "latency_us",
        F.coalesce("ot_us", moment).alias("answered_us"),
    )


def quarantined(traces: "DataFrame") -> "DataFrame":
    reason = F.expr(REASON)
    return traces.where(reason.isNotNull()).select(
        F.col("_metadata.file_path").alias("file"),
        reason.alias("reason"),
        F.lit(_ONE).cast("long").alias("rows"),
        *QUARANTINE.names[3:],
    )


def requests(events: "DataFrame", window_us: int) -> "DataFrame":
    """As requests.sql: events joined to requests, then to a distribution of response times."""
    keys = ["event", "queue", "front_end", "window", "client", "answered_us"]
    window = F.expr(f"moment_us div {window_us}").alias("window")
    rows = events.select("*", window).groupBy(keys)
    answered = rows.agg(
        F.max("latency_us").alias("latency_us"),
        F.count("*").alias("rows"),
        (F.count("*") - F.count("message_id")).alias("unnamed"),
        F.sum(F.expr(f"moment_us % {window_us}")).alias("offset_us"),
        F.min("moment_us").alias("first_us"),
        F.max("moment_us").alias("last_us"),
    )
    value = F.expr(shortened_sql("latency_us")).alias("value")
    levels = answered.groupBy("event", "queue", "front_end", "window", value)
    return levels.agg(
        F.count("*").alias("count"),
        F.sum("latency_us").alias("total"),
        F.sum("rows").alias("rows"),
        F.sum("unnamed").alias("unnamed"),
        F.sum("offset_us").alias("offset_us"),
        F.min("first_us").alias("first_us"),
        F.max("last_us").alias("last_us"),
    ).select(
        *("event", "queue", "front_end", "window", "value"),
        F.xxhash64("queue").alias("queue_key"),
        F.xxhash64("front_end").alias("front_end_key"),
        *("count", "total", "rows", "unnamed", "offset_us", "first_us", "last_us"),
    )


def bucketed(events: "DataFrame", buckets: int) -> "DataFrame":
    """All rows of a message in one partition."""
    step = F.when(F.col("event") == "sent", SENT).when(F.col("event") == "leased", LEASED)
    named = events.where("message_id IS NOT NULL AND event NOT IN ('missed', 'exchanged')")
    rows = named.select(
        step.otherwise(LEFT).cast("byte").alias("step"),
        F.xxhash64("queue").alias("queue_key"),
        F.xxhash64("queue", "message_id").alias("id_high"),
        F.xxhash64("message_id", "queue").alias("id_low"),
        "moment_us",
        F.when(F.col("sender").isNull(), NEVER).otherwise(F.xxhash64("sender")).alias("sender_key"),
        _or_never("send_seq"),
        F.xxhash64("front_end").alias("front_end_key"),
        _or_never("receive_seq"),
        _or_never("body_crc32"),
    )
    return rows.repartition(buckets, "id_low").select(*ROWS.names)


def _or_never(name: str) -> "Column":
    return F.coalesce(name, F.lit(NEVER).cast("long")).alias(name)


def messages(rows: "DataFrame", front_end_keys: Sequence[int]) -> "DataFrame":
    """One row per message. numpy sorts a bucket of numbers in memory, several times as fast as an
    aggregation that must find the first lease by three columns, and is the same for DuckDB."""
    return rows.mapInArrow(
        lambda batches: matched(batches, front_end_keys, MESSAGES_PER_BATCH),
        from_arrow_schema(MESSAGES),
    )


def accounted(messages: "DataFrame", partitions: int, window_us: int) -> "DataFrame":
    """Streams stay whole; Spark sorts what does not fit memory on disk. Time comes first in the
    order, since Spark sorts by the first column's own bits and compares rows only in ties."""
    ordered = messages.repartition(partitions, "queue_key", "sender_key").sortWithinPartitions(
        "leased_us", "front_end", "receive_seq"
    )
    return ordered.mapInArrow(
        lambda batches: accounts(batches, window_us), from_arrow_schema(ACCOUNTS)
    )
