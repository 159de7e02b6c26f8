"""Replications as rows.

A row depends only on the sweep and on its configuration and replication numbers, so that
partitions, batches, executors and the order of the work change nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from dovemq.models.errors import ModelError, ModelSpecInvalid
from dovemq.models.sweeping import Sweep
from dovemq.pipeline.sweep.ledger import ROWS, ReplicationFailed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Replicate: TypeAlias = Callable[[pa.Table], pa.Table]
ASKED: Final = pa.schema([ROWS.field("configuration"), ROWS.field("replication")])
TASKS_PER_CORE: Final = 4
"""Configurations differ in cost; with more tasks the last one ends sooner."""
_COLUMNS: Final = "configuration int, replication int, values array<double>"


def replicated(sweep: Sweep, asked: Iterable[Mapping[str, int]]) -> pa.RecordBatch:
    number, trial, seed = -1, None, 0
    found = []
    for row in asked:
        if trial is None or row["configuration"] != number:
            number = row["configuration"]
            trial, seed = sweep.trial(number), sweep.seed_of(number)
        replication = row["replication"]
        try:
            found.append((number, replication, trial.replicate(seed, replication)))
        except (ModelError, MemoryError) as error:
            raise ModelSpecInvalid(sweep.named(number), str(error)) from error
    return pa.record_batch(list(zip(*found, strict=True)), schema=ROWS)


def replications(places: "DataFrame", asked: pa.Table, sweep: Sweep) -> "DataFrame":
    """`places` are the numbers (`id`) of the rows in `asked`."""

    def replicate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield replicated(sweep, asked.take(batch.column("id")).to_pylist())

    # A loop over events cannot be written in SQL. An arrival takes 0.3 µs in the kernel, a row some
    # milliseconds, which is more than the overhead of Spark.
    rows = places.select("id").mapInArrow(replicate, _COLUMNS)
    return rows.select("configuration", "replication", "values")


def on_spark(session: "SparkSession", sweep: Sweep) -> Replicate:
    from pyspark.errors import PySparkException

    def replicate(rows: pa.Table) -> pa.Table:
        tasks = min(rows.num_rows, session.sparkContext.defaultParallelism * TASKS_PER_CORE)
        # Neighbours have similar costs: dealt out one by one, each task gets some of every kind. A
        # shuffle would cost more than the work of a short slice.
        dealt = [place for task in range(tasks) for place in range(task, rows.num_rows, tasks)]
        places = session.range(0, rows.num_rows, 1, tasks)
        try:
            return replications(places, rows.take(dealt), sweep).toArrow()
        except PySparkException as error:
            # The last line of an executor's failure names the error; the lines before are from
            # Spark.
            lines = [line for line in str(error).splitlines() if line.strip()]
            raise ReplicationFailed(lines[-1] if lines else type(error).__name__) from error

    return replicate


def share_done(session: "SparkSession") -> float:
    """Returns the finished share of the current tasks."""
    tracker = session.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    tasks = sum(stage.numTasks for stage in stages if stage)
    return sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0
