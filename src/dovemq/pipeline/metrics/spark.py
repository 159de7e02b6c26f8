"""Computes the figures with Spark: for any events, and as the job of the command."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F

from dovemq.pipeline.events import quarantine, with_events
from dovemq.pipeline.metrics.facts import facts, valid_rows
from dovemq.pipeline.metrics.figures import Tables, figures, tables_of
from dovemq.pipeline.metrics.messages import messages, requests
from dovemq.pipeline.metrics.order import order
from dovemq.pipeline.metrics.report import DAY, QUEUES_MAX, TABLES, WINDOWS_MAX, MetricsReport
from dovemq.pipeline.traces import Refusal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Output(NamedTuple):
    """The place and format of the tables: parquet, delta, iceberg, or another of the session."""

    place: str
    format: str = "parquet"


@contextlib.contextmanager
def measured(events: "DataFrame", window_us: int) -> Iterator[Tables]:
    """Yields the tables of figures.

    Nothing runs before a table is used; what the tables share is persisted until the end.
    """
    found = messages(events).drop("message_id").persist()
    shared = facts(found, requests(events, window_us), order(found, window_us), window_us)
    shared.persist()
    made = figures(shared, window_us).persist()
    try:
        yield tables_of(made, shared)
    finally:
        for frame in (made, shared, found):
            frame.unpersist()


def metrics_spark(
    session: "SparkSession", places: Sequence[str], window_us: int, output: Output | None = None
) -> MetricsReport:
    """Measures all traces in and below the places, and writes the tables."""

    def work(events: "DataFrame", all_rows: int, refused: tuple[Refusal, ...]) -> MetricsReport:
        with measured(events, window_us) as found:
            rows, bad = valid_rows(found.facts), quarantine(events)
            by_window = found.by_window.orderBy("queue", "window_start_us").limit(WINDOWS_MAX)
            return MetricsReport(
                "spark",
                rows,
                _reasons(bad) if rows < all_rows else {},
                refused,
                found.by_queue.orderBy("queue").limit(QUEUES_MAX).toArrow(),
                by_window.toArrow(),
                found.overall.toArrow(),
                () if output is None else _write(found, bad, refused, output),
            )

    return with_events(session, places, work)


def _reasons(bad: "DataFrame") -> dict[str, int]:
    counted: Any = bad.groupBy("reason").count().orderBy("reason").collect()
    return {row["reason"]: row["count"] for row in counted}


def _write(
    found: Tables, bad: "DataFrame", refused: Sequence[Refusal], output: Output
) -> tuple[str, ...]:
    day = F.to_date(F.timestamp_micros("window_start_us")).cast("string").alias(DAY)
    files = bad.sparkSession.createDataFrame(
        [(each.file, each.reason) for each in refused], "file STRING, reason STRING"
    )
    frames = (
        found.by_queue,
        found.by_window.select("*", day),
        found.overall,
        files.unionByName(bad, allowMissingColumns=True),
    )
    written = tuple(f"{output.place.rstrip('/')}/{name}" for name in TABLES)
    for name, frame, place in zip(TABLES, frames, written, strict=True):
        writer = frame.write.format(output.format).mode("overwrite")
        if name == "metrics_by_window":
            writer = writer.partitionBy(DAY)
        writer.save(place)
    return written
