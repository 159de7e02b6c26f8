"""The streaming query: reads new files of a trace in batches and keeps figures of each.

A batch turns its valid rows and the states of all queues into new states.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from dovemq.pipeline.events import EVENT_SCHEMA, valid_events
from dovemq.pipeline.monitor.columns import LEASED, SENT, UNKNOWN, MonitoredRows
from dovemq.pipeline.monitor.directory import MonitorDirectory, MonitorFailed
from dovemq.pipeline.monitor.figures import COUNTS, KEPT, QUEUE, STATE, with_rates
from dovemq.pipeline.monitor.watch import Bounds, QueueWatch
from dovemq.pipeline.places import uri_of
from dovemq.pipeline.rules import MOMENT, VALID

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_SETTLED: Final = 2
_KINDS: Final = {"sent": SENT, "leased": LEASED, "settled": _SETTLED}


def heard(events: "DataFrame") -> "DataFrame":
    """Replaces ids and senders by hashes; front ends stay text, because they order ties."""
    kind = F.create_map(*(F.lit(part) for pair in _KINDS.items() for part in pair))
    none = F.lit(UNKNOWN).cast("long")
    return events.where(F.col("event").isin(*_KINDS)).select(
        QUEUE,
        "moment_us",
        kind[F.col("event")].cast("long").alias("kind"),
        F.xxhash64("message_id").alias("message"),
        F.xxhash64("sender").alias("stream"),
        F.coalesce("send_seq", none).alias("seq"),
        F.coalesce("body_crc32", none).alias("crc"),
        "front_end",
        F.coalesce("receive_seq", none).alias("receive_seq"),
    )


def advanced(
    rows: "DataFrame", states: "DataFrame", bounds: Bounds, watermark_us: int
) -> "DataFrame":
    """Updates each queue, also those without new rows.

    This runs in Python, because no Spark expression can update the state. The rows of a queue come
    as one table.
    """
    grouped = rows.groupBy(QUEUE).cogroup(states.groupBy(QUEUE))
    schema = from_arrow_schema(STATE)
    return grouped.applyInArrow(_advance(bounds, watermark_us), schema).select(*STATE.names)


def _advance(bounds: Bounds, watermark_us: int) -> Callable[[Any, Any], Any]:
    def advance(rows: Any, states: Any) -> Any:
        known = states.num_rows > 0
        queue = (states if known else rows)[QUEUE][0].as_py()
        watch = QueueWatch.resumed(states[KEPT][0].as_py(), bounds) if known else QueueWatch(bounds)
        watch.add(*_columns(rows), watermark_us)
        state = {QUEUE: queue, **watch.figures(), KEPT: watch.kept()}
        return pa.Table.from_pylist([state], STATE)

    return advance


def _columns(rows: Any) -> tuple[MonitoredRows, int]:
    """Returns the sends and leases, and the number of settles."""
    arrays = {name: rows[name].to_numpy() for name in rows.column_names if name != QUEUE}
    arrays["front_end"] = arrays["front_end"].astype(np.str_)
    is_settle = arrays["kind"] == _SETTLED
    kept = {name: array[~is_settle] for name, array in arrays.items()}
    return MonitoredRows.of(kept), int(np.count_nonzero(is_settle))


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


@dataclass(slots=True)
class Monitor:
    """The query and its handler. `on_batch` is called after the figures of a batch are kept.

    After a crash it may be called again for the same batch.
    """

    _traces: str
    _place: MonitorDirectory
    _bounds: Bounds
    _files_max: int
    _on_batch: Callable[[Batch], None]
    _one_batch: threading.Lock = field(default_factory=threading.Lock)
    _stopping: bool = False

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
        self._on_batch(Batch(number, summary["rows"], summary["quarantined"], figures))
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
