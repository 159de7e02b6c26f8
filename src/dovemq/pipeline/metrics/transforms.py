"""The steps on Spark, each from DataFrame to DataFrame with its columns named.

Labels and ids are carried as hashes: rows that are shuffled and sorted have no text in them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dovemq.pipeline.metrics.accounts import ACCOUNTS, accounts
from dovemq.pipeline.metrics.matching import MESSAGES, matched
from dovemq.pipeline.metrics.reading import (
    DISTRIBUTION,
    PACKED,
    answers,
    distributed,
    distribution_query,
    packed,
    requests_query,
    steps_query,
    unpacked,
)
from dovemq.pipeline.metrics.result import QUARANTINE
from dovemq.pipeline.metrics.rules import MOMENT, REASON
from dovemq.pipeline.metrics.sources import FORMS
from dovemq.pipeline.metrics.statements import statement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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


def requests(files: "DataFrame", buckets: int, window_us: int) -> "DataFrame":
    """Distributions of response times, in parts that add up."""
    parts = _bucketed(files, requests_query(window_us), "request_key", buckets)
    query = distribution_query(statement("merged"))
    return parts.mapInArrow(
        lambda batches: distributed(unpacked(batches), query), from_arrow_schema(DISTRIBUTION)
    )


def bucketed(files: "DataFrame", buckets: int) -> "DataFrame":
    """All rows of a message in one partition, packed."""
    return _bucketed(files, steps_query(), "id_low", buckets)


def _bucketed(files: "DataFrame", query: str, key: str, buckets: int) -> "DataFrame":
    rows = files.mapInArrow(
        lambda batches: packed(batches, query, key, buckets), from_arrow_schema(PACKED)
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
