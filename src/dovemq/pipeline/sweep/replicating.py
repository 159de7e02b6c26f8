"""Replications as rows: which are asked for, and what each has told.

A row depends on the sweep and its own two numbers alone, so that partitions, batches, executors
and the order of the work change nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from dovemq.models.sweeping import Sweep
from dovemq.pipeline.sweep.ledger import ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Replicate: TypeAlias = Callable[[pa.Table], pa.Table]
ASKED: Final = pa.schema([ROWS.field("configuration"), ROWS.field("replication")])
TASKS_PER_CORE: Final = 8
"""Configurations differ in what they cost; the more tasks, the less the last one is waited for."""
_COLUMNS: Final = "configuration int, replication int, values array<double>"


def replicated(sweep: Sweep) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor runs on the batches of a partition."""

    def replicate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number, trial, seed = -1, None, 0
        for batch in batches:
            found: list[tuple[float, ...]] = []
            for row in batch.to_pylist():
                if trial is None or row["configuration"] != number:
                    number = row["configuration"]
                    trial, seed = sweep.trial(number), sweep.seed_of(number)
                found.append(trial.replicate(seed, row["replication"]))
            columns = [batch.column("configuration"), batch.column("replication"), found]
            yield pa.record_batch(columns, schema=ROWS)

    return replicate


def replications(asked: "DataFrame", sweep: Sweep) -> "DataFrame":
    # A loop over events cannot be said in SQL, so Python it is: 3 ms a row of 20,000 arrivals,
    # beside which the passage to Python and back (0.1 ms) does not count.
    rows = asked.select("configuration", "replication").mapInArrow(replicated(sweep), _COLUMNS)
    return rows.select("configuration", "replication", "values")


def here(sweep: Sweep) -> Replicate:
    """In this process, for a look without Spark."""
    work = replicated(sweep)
    return lambda rows: pa.Table.from_batches(work(rows.to_batches()), ROWS)


def on_spark(session: "SparkSession", sweep: Sweep) -> Replicate:
    cores = session.sparkContext.defaultParallelism

    def replicate(rows: pa.Table) -> pa.Table:
        tasks = min(rows.num_rows, cores * TASKS_PER_CORE)
        asked = session.createDataFrame(rows).repartition(tasks)
        return replications(asked, sweep).toArrow()

    return replicate


def share_done(session: "SparkSession") -> float:
    """Of the tasks that are under way now, for whoever looks on."""
    tracker = session.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    tasks = sum(stage.numTasks for stage in stages if stage)
    return sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0
