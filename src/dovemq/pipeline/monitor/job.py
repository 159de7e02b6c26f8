"""The streaming query: reads new files of a trace in batches and keeps figures of each."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from dovemq.pipeline.events import EVENT_SCHEMA, valid_events
from dovemq.pipeline.monitor.directory import MonitorDirectory
from dovemq.pipeline.monitor.errors import MonitorFailed
from dovemq.pipeline.monitor.figures import COUNTS, QUEUE, STATE, with_rates
from dovemq.pipeline.monitor.steps import advanced, heard
from dovemq.pipeline.monitor.watch import Bounds
from dovemq.pipeline.places import uri_of
from dovemq.pipeline.rules import MOMENT, VALID

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_SECONDS: Final = 1
SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.shuffle.partitions": "8",
    # The server removes the oldest files of a trace, perhaps before a batch has read them.
    "spark.sql.files.ignoreMissingFiles": "true",
}
"""The Spark settings of a monitor; those of the user take precedence."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The figures of a batch, one row per queue, with its number of rows and of invalid rows."""

    number: int
    rows: int
    quarantined: int
    figures: Sequence[Mapping[str, Any]]


class Monitor:
    """The query and its handler. `told` is called after the figures of a batch are kept.

    After a crash it may be called again for the same batch.
    """

    def __init__(
        self,
        traces: str,
        place: MonitorDirectory,
        bounds: Bounds,
        files_max: int,
        told: Callable[[Batch], None],
    ) -> None:
        self._traces = traces
        self._place = place
        self._bounds = bounds
        self._files_max = files_max
        self._told = told
        self._one_batch = threading.Lock()
        self._stopping = False

    def start(self, session: "SparkSession", every_seconds: float | None) -> "StreamingQuery":
        """Starts the query: every `every_seconds`, or once over all files if that is None."""
        stream = session.readStream.schema(EVENT_SCHEMA).option("pathGlobFilter", "*.parquet")
        events = stream.option("maxFilesPerTrigger", self._files_max).parquet(uri_of(self._traces))
        writer = events.writeStream.foreachBatch(self._step)
        writer = writer.option("checkpointLocation", str(self._place.checkpoint))
        if every_seconds is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{every_seconds} seconds").start()

    def stop(self, query: "StreamingQuery") -> None:
        """Stops after the current batch."""
        with self._one_batch:
            self._stopping = True
        # A batch that starts just now is refused, and is the first one of the next run.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        query.stop()

    def _step(self, batch: "DataFrame", number: int) -> None:
        with self._one_batch:
            if self._stopping:
                raise MonitorFailed("it was stopped")
            self._take(batch, number)

    def _take(self, batch: "DataFrame", number: int) -> None:
        place = self._place
        summary = batch.agg(*_summary()).first()
        assert summary is not None
        if not place.has_state(number):
            before = place.state_before(number)
            known_us = [row["last_us"] for row in place.rows_of(before, ["last_us"])]
            newest_us = max(known_us, default=0)
            watermark_us = max(newest_us, summary["newest_us"] or 0) - self._bounds.late_us
            states = _states(batch.sparkSession, before)
            after = advanced(heard(valid_events(batch)), states, self._bounds, watermark_us)
            after.write.mode("overwrite").parquet(str(place.state(number)))
        rows = place.rows_of(place.state(number), [QUEUE, *COUNTS])
        figures = [with_rates(number, row) for row in sorted(rows, key=itemgetter(QUEUE))]
        place.write_figures(number, figures)
        self._told(Batch(number, summary["rows"], summary["quarantined"], figures))
        place.forget_before(number)


def await_end(query: "StreamingQuery", monitor: Monitor, stopping: threading.Event) -> None:
    """Waits until the query ends, or stops it when `stopping` is set."""
    try:
        while not query.awaitTermination(LOOK_SECONDS):
            if stopping.is_set():
                monitor.stop(query)
                return
    except StreamingQueryException as error:
        raise MonitorFailed(_cause(str(error))) from None


def _cause(text: str) -> str:
    """Returns the last line that names an error, without Spark's stack traces."""
    lines = [line.strip() for line in text.splitlines()]
    named = [line for line in lines if "Error: " in line or "Exception: " in line]
    return (named or lines)[-1]


def _summary() -> "Iterator[Column]":
    """Finds the newest event, and counts rows and invalid rows, in one pass."""
    bad = ~F.expr(VALID)
    yield F.count("*").alias("rows")
    yield F.count_if(bad).alias("quarantined")
    placed = ~bad & F.col("event").isin("sent", "leased")
    yield F.max(F.when(placed, F.expr(MOMENT))).alias("newest_us")


def _states(session: "SparkSession", before: Path | None) -> "DataFrame":
    schema = from_arrow_schema(STATE)
    if before is None:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).parquet(str(before)).select(*STATE.names)
