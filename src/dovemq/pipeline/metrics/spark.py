"""The figures by Spark: on this machine or on a cluster that sees the same files."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovemq.pipeline.metrics.finish import finish
from dovemq.pipeline.metrics.matching import BUCKET_ROWS
from dovemq.pipeline.metrics.result import (
    NONE_BAD,
    QUARANTINE,
    QUARANTINE_ROWS_MAX,
    Bad,
    Metrics,
    bad_rows,
    front_end_keys,
)
from dovemq.pipeline.metrics.sources import Traces, find_traces
from dovemq.pipeline.metrics.transforms import (
    TRACE,
    accounted,
    believed,
    bucketed,
    messages,
    quarantined,
    requests,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def metrics_spark(
    session: "SparkSession",
    places: Sequence[Path],
    window_us: int,
    *,
    bucket_rows: int = BUCKET_ROWS,
) -> Metrics:
    found = find_traces(places)
    traces = _read(session, found)
    events = believed(traces)
    asked = requests(events, window_us).toArrow()
    partitions = session.sparkContext.defaultParallelism
    buckets = max(partitions, math.ceil(found.rows / bucket_rows))
    matched = messages(bucketed(events, buckets), front_end_keys(asked))
    counted = accounted(matched, partitions, window_us).toArrow()
    bad = _quarantine(traces) if bad_rows(found, asked) else NONE_BAD
    return Metrics.of(found, bad, asked, finish(asked, counted, window_us), "spark")


def _read(session: "SparkSession", traces: Traces) -> "DataFrame":
    if not traces.files:
        return session.createDataFrame([], TRACE)
    return session.read.schema(TRACE).parquet(*traces.paths)


def _quarantine(traces: "DataFrame") -> Bad:
    rows = quarantined(traces)
    counted: Any = rows.groupBy("reason").count().orderBy("reason").collect()
    kept = rows.limit(QUARANTINE_ROWS_MAX).toArrow().cast(QUARANTINE)
    return kept, {row["reason"]: row["count"] for row in counted}
