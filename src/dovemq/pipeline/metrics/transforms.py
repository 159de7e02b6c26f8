"""The steps on Spark, each from DataFrame to DataFrame with its columns named.

Labels and ids are carried as hashes: rows that are shuffled and sorted have no text in them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dovemq.pipeline.metrics.accounts import ACCOUNTS, accounts
from dovemq.pipeline.metrics.digits import shortened_sql
from dovemq.pipeline.metrics.matching import MESSAGES, matched
from dovemq.pipeline.metrics.reading import (
    PACKED,
    REQUESTS,
    answers,
    packed,
    requests_query,
    steps_query,
    unpacked,
)
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
"""As Spark's own reader has it; unsigned numbers of 32 bits are long ones to Spark."""
MESSAGES_PER_BATCH: Final = 65_536


def believed(traces: "DataFrame") -> "DataFrame":
    """Of rows that Spark itself has read, such as those of a stream of files."""
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


def quarantined(files: "DataFrame") -> "DataFrame":
    names = ", ".join(QUARANTINE.names)
    return _asked(files, f"SELECT {names} FROM disbelieved", QUARANTINE)


def requests(files: "DataFrame", window_us: int) -> "DataFrame":
    """Distributions of response times; a request may have been found in parts by two tasks."""
    parts = _asked(files, requests_query(window_us), REQUESTS)
    keys = ["event", "queue", "front_end", "window", "client", "answered_us"]
    whole = parts.groupBy(keys).agg(F.max("latency_us").alias("latency_us"), *_sums())
    value = F.expr(shortened_sql("latency_us")).alias("value")
    levels = whole.groupBy("event", "queue", "front_end", "window", value)
    counts = F.count("*").alias("count"), F.sum("latency_us").alias("total")
    return levels.agg(*counts, *_sums()).select(
        *("event", "queue", "front_end", "window", "value", "queue_key", "front_end_key"),
        *("count", "total", "rows", "unnamed", "offset_us", "first_us", "last_us"),
    )


def _sums() -> "list[Column]":
    names = {
        F.max: ("queue_key", "front_end_key", "last_us"),
        F.min: ("first_us",),
        F.sum: ("rows", "unnamed", "offset_us"),
    }
    return [function(name).alias(name) for function, each in names.items() for name in each]


def bucketed(files: "DataFrame", buckets: int) -> "DataFrame":
    """All rows of a message in one partition, packed."""
    query = steps_query()
    rows = files.mapInArrow(
        lambda batches: packed(batches, query, buckets), from_arrow_schema(PACKED)
    )
    return rows.repartitionById(buckets, "bucket").select(*PACKED.names)


def _asked(files: "DataFrame", query: str, schema: Any) -> "DataFrame":
    return files.mapInArrow(lambda batches: answers(batches, query), from_arrow_schema(schema))


def messages(rows: "DataFrame", front_end_keys: Sequence[int]) -> "DataFrame":
    """One row per message: numpy sorts a bucket of numbers in memory, the same for both engines.
    An aggregation of Spark cannot find the first lease by three columns without sorting all."""
    return rows.mapInArrow(
        lambda batches: matched(unpacked(batches), front_end_keys, MESSAGES_PER_BATCH),
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
