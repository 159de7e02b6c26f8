"""Rows of a trace as a DataFrame of events, split into valid and invalid ones.

Every transform of the pipeline takes *events*: a DataFrame with the columns of a trace, read by
`read_events` or taken from a table, a view or another job. `with_events` reads traces for a whole
job; files that are not traces are left out and reported.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from dovemq.pipeline import traces
from dovemq.pipeline.errors import EventColumnsMissing, TraceDamaged, TracesMissing
from dovemq.pipeline.places import uri_of
from dovemq.pipeline.rules import MOMENT, REASON, VALID
from dovemq.pipeline.traces import FileRefused, spark_damage_named, storage_named

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from dovemq.pipeline.traces import Refusal

EVENT_SCHEMA: Final = from_arrow_schema(traces.EVENT_SCHEMA)
"""The schema of a trace in Spark."""
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


REFUSED_MAX: Final = 20
"""Each refused file costs a new start of the job."""
TASK_ROWS: Final = 250_000
"""Rows of the trace for each task after a shuffle."""
TASKS_MIN: Final = 8
TASKS_MAX: Final = 10_000
_TASKS: Final = "spark.sql.shuffle.partitions"
_SPARKS_OWN: Final = "200"

T = TypeVar("T")


def with_events(
    session: "SparkSession",
    places: Sequence[str],
    work: "Callable[[DataFrame, int, tuple[Refusal, ...]], T]",
) -> T:
    """Calls `work` with the events, the number of their rows, and the files left out."""
    refused: list[Refusal] = []
    while True:
        try:
            with spark_damage_named(places):
                events, rows = _looked(session, places, refused)
                if not rows and not refused:
                    raise TracesMissing(places)
                with _sized(session, rows):
                    return work(events, rows, tuple(refused))
        except FileRefused as error:
            again = error.refusal in refused
            refused.append(error.refusal)
            if again or len(refused) > REFUSED_MAX:
                raise TraceDamaged(error.refusal.file, error.refusal.reason) from error


def _looked(
    session: "SparkSession", places: Sequence[str], refused: "Sequence[Refusal]"
) -> "tuple[DataFrame, int]":
    """Counts rows by the footers; a file without a footer is found here, before the work."""
    with storage_named(places):
        events = read_events(session, *places)
        if refused:
            # Spark's errors have file:///, its column has file:/.
            names = [each.file.replace("file:///", "file:/") for each in refused]
            events = events.where(~F.col("_metadata.file_path").isin(names))
        return events, events.count()


@contextlib.contextmanager
def _sized(session: "SparkSession", rows: int) -> Iterator[None]:
    """Sets the number of tasks by the number of rows, unless the session has its own."""
    if session.conf.get(_TASKS) != _SPARKS_OWN:
        yield
        return
    session.conf.set(_TASKS, str(min(max(rows // TASK_ROWS, TASKS_MIN), TASKS_MAX)))
    try:
        yield
    finally:
        session.conf.unset(_TASKS)
