"""The figures by Spark: on this machine or on a cluster that sees the same files."""

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from dovemq.pipeline.metrics.damage import damage_named
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
    accounted,
    bucketed,
    messages,
    quarantined,
    requests,
)
from dovemq.pipeline.session import SparkPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


TASK_ROWS: Final = 500_000
"""Small files are read together until they have so many rows."""
SLICES_MAX: Final = 1_000


_JAVA_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""66 s of processor time instead of 80 s for ten million events, in one run each: little is done
in Java here, and its second compiler and concurrent collector cost more than they save."""


def suited(plan: SparkPlan) -> SparkPlan:
    """With options of Java that this job is cheaper under, unless there are others already."""
    role = "driver" if plan.local else "executor"
    options = {f"spark.{role}.extraJavaOptions": _JAVA_OPTIONS}
    return dataclasses.replace(plan, more={**options, **plan.more})


def metrics_spark(
    session: "SparkSession",
    places: Sequence[Path],
    window_us: int,
    *,
    bucket_rows: int = BUCKET_ROWS,
) -> Metrics:
    traces = find_traces(places)
    with damage_named(traces), _shuffling(session) as partitions:
        files = _files(session, traces, partitions)
        buckets = max(partitions, math.ceil(traces.rows / bucket_rows))
        asked = requests(files, buckets, window_us).toArrow()
        rows = bucketed(files, buckets)
        slice_us = _slice_us(asked, traces.rows)
        matched = messages(rows, front_end_keys(asked), partitions, slice_us)
        counted = accounted(matched, partitions, window_us).toArrow()
        bad = _quarantine(files) if bad_rows(traces, asked) else NONE_BAD
    return Metrics.of(traces, bad, asked, finish(asked, counted, window_us), "spark")


@contextlib.contextmanager
def _shuffling(session: "SparkSession") -> Iterator[int]:
    """As many parts as run at a time: what is shuffled here is numbers, or small."""
    name = "spark.sql.shuffle.partitions"
    before = session.conf.get(name)
    parts = session.sparkContext.defaultParallelism
    session.conf.set(name, parts)
    try:
        yield parts
    finally:
        session.conf.set(name, before or str(parts))


def _slice_us(asked: Any, rows: int) -> int:
    """So that a slice has some hundred thousand messages."""
    slices = min(SLICES_MAX, max(1, rows // TASK_ROWS))
    first, last = pc.min(asked["first_us"]).as_py(), pc.max(asked["last_us"]).as_py()
    return 1 if first is None else (last - first) // slices + 1


def _files(session: "SparkSession", traces: Traces, tasks_min: int) -> "DataFrame":
    """A row for each task, with the files that it reads."""
    rows_max = min(TASK_ROWS, traces.rows // tasks_min)
    tasks: list[list[str]] = []
    rows = 0
    for file in traces.files:
        if not tasks or rows + file.rows > rows_max:
            tasks.append([])
            rows = 0
        tasks[-1].append(str(file.path))
        rows += file.rows
    context = session.sparkContext
    told = context.parallelize([(paths,) for paths in tasks], max(1, len(tasks)))
    return session.createDataFrame(told, "paths array<string>")


def _quarantine(files: "DataFrame") -> Bad:
    rows = quarantined(files)
    counted: Any = rows.groupBy("reason").count().orderBy("reason").collect()
    kept = rows.limit(QUARANTINE_ROWS_MAX).toArrow().cast(QUARANTINE)
    return kept, {row["reason"]: row["count"] for row in counted}
