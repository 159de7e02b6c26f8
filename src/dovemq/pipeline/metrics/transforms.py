"""The steps on Spark, each from DataFrame to DataFrame with its columns named.

Labels and ids are carried as hashes: rows that are shuffled and sorted have no text in them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dovemq.pipeline.metrics.accounts import ACCOUNTS, accounts
from dovemq.pipeline.metrics.matching import matched
from dovemq.pipeline.metrics.packing import (
    BUCKETS,
    SLICES,
    from_buckets,
    from_slices,
    in_buckets,
    in_slices,
)
from dovemq.pipeline.metrics.reading import (
    DISTRIBUTION,
    answers,
    distributed,
    distribution_query,
    requests_query,
    steps_query,
)
from dovemq.pipeline.metrics.result import QUARANTINE
from dovemq.pipeline.metrics.rules import MOMENT, REASON
from dovemq.pipeline.metrics.sources import FORMS
from dovemq.pipeline.statements import statement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TRACE: Final = StructType(
    [
        StructField(name, StringType() if form in ("label", "text") else LongType())
        for name, form in FORMS.items()
    ]
)
"""As Spark's own reader has it; unsigned numbers of 32 bits are long ones to Spark."""


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
    query = distribution_query(statement(__package__, "merged"))
    return parts.mapInArrow(
        lambda batches: distributed(from_buckets(batches), query), from_arrow_schema(DISTRIBUTION)
    )


def bucketed(files: "DataFrame", buckets: int) -> "DataFrame":
    """All rows of a message in one partition, packed."""
    return _bucketed(files, steps_query(), "id_low", buckets)


def _bucketed(files: "DataFrame", query: str, key: str, buckets: int) -> "DataFrame":
    rows = files.mapInArrow(
        lambda batches: in_buckets(answers(batches, query), key, buckets),
        from_arrow_schema(BUCKETS),
    )
    return rows.repartitionById(buckets, "bucket").select(*BUCKETS.names)


def _asked(files: "DataFrame", query: str, schema: Any) -> "DataFrame":
    return files.mapInArrow(lambda batches: answers(batches, query), from_arrow_schema(schema))


def messages(
    rows: "DataFrame", front_end_keys: Sequence[int], parts: int, slice_us: int
) -> "DataFrame":
    """One row per message, packed by streams and by the time of the first lease."""
    return rows.mapInArrow(
        lambda batches: in_slices(matched(from_buckets(batches), front_end_keys), parts, slice_us),
        from_arrow_schema(SLICES),
    )


def accounted(messages: "DataFrame", parts: int, window_us: int) -> "DataFrame":
    """Streams stay whole; Spark sorts slices of time, also on disk, and a task the messages of
    one slice."""
    ordered = messages.repartitionById(parts, "part").sortWithinPartitions("slice")
    return ordered.mapInArrow(
        lambda batches: accounts(from_slices(batches), window_us), from_arrow_schema(ACCOUNTS)
    )
