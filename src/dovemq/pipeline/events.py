"""Rows of a trace as a DataFrame of events, split into valid and invalid ones.

Every transform of the pipeline takes *events*: a DataFrame with the columns of a trace, read by
`read_events` or taken from a table, a view or another job.
"""

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from dovemq.pipeline.errors import EventColumnsMissing
from dovemq.pipeline.places import uri_of
from dovemq.pipeline.rules import MOMENT, REASON, VALID
from dovemq.telemetry.schema import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_TYPES: Final[dict[str, "DataType"]] = {
    "int32": IntegerType(),
    "text": StringType(),
    "label": StringType(),
}
EVENT_SCHEMA: Final = StructType(
    [StructField(column.name, _TYPES.get(column.form, LongType())) for column in COLUMNS]
)
"""The schema of a trace in Spark; an unsigned 32-bit number is a long."""
NEEDED: Final = (
    *("ts_us", "event", "queue", "message_id", "sender", "send_seq", "receive_seq"),
    *("receive_count", "client", "front_end", "body_crc32", "latency_us"),
    *("at_us", "it_us", "ot_us", "job_type"),
)
"""The columns that transforms use."""


def read_events(session: "SparkSession", *places: str) -> "DataFrame":
    """Reads the Parquet files in and below each place.

    A place is a URI that Spark can read, or a path on this machine. The schema is fixed, so no
    footer is read to find it; a column that a file lacks is null.
    """
    reader = session.read.schema(EVENT_SCHEMA).option("recursiveFileLookup", "true")
    return reader.option("pathGlobFilter", "*.parquet").parquet(*map(uri_of, places))


def valid_events(events: "DataFrame") -> "DataFrame":
    """Returns the valid rows, with the additional columns `moment_us`, `answered_us` and
    `asked_us`."""
    return _checked(events).where(VALID).select(*NEEDED, *_moments())


def _moments() -> "tuple[Column, ...]":
    """`answered_us` is the moment itself if no answer is known."""
    moment = F.expr(MOMENT)
    return (
        moment.alias("moment_us"),
        F.coalesce("ot_us", moment).alias("answered_us"),
        (F.col("ot_us") - F.col("latency_us")).alias("asked_us"),
    )


def quarantine(events: "DataFrame") -> "DataFrame":
    """Returns the invalid rows with the reason and, for rows from files, the file."""
    return (
        _checked(events)
        .select(
            F.nullif(F.input_file_name(), F.lit("")).alias("file"),
            F.expr(REASON).alias("reason"),
            *("ts_us", "event", "queue", "message_id"),
        )
        .where("reason IS NOT NULL")
    )


def _checked(events: "DataFrame") -> "DataFrame":
    missing = [name for name in NEEDED if name not in events.columns]
    if missing:
        raise EventColumnsMissing(missing)
    return events
