"""Reads traces with Spark for a whole job; files that are not traces are left out and reported."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from pyspark.sql import functions as F

from dovemq.pipeline.damage import FileRefused, spark_damage_named, storage_named
from dovemq.pipeline.errors import TraceDamaged, TracesMissing
from dovemq.pipeline.events import read_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dovemq.pipeline.traces import Refusal

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
