"""Broken streams lose nothing, duplicate nothing, and leave an empty queue."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

from tests.pipeline.source.queue_world import kill_source_process
from tests.pipeline.source.spark_world import Sink, SparkWorld

COUNT = int(os.environ.get("DOVETEST_STREAM", "2000"))
BATCH = str(COUNT // 10)
LEASE_SECONDS = 1 + COUNT // 10_000

pytestmark = pytest.mark.timeout(1_500 + COUNT // 50)


def _changed(rows: DataFrame) -> DataFrame:
    """Gives each message its own group, so that a FIFO queue delivers them all."""
    changed = sf.concat(sf.lit("new "), "body").alias("body")
    return rows.select(changed, sf.col("message_id").alias("group_id"))


def _check(world: SparkWorld, source: str, target: str, sent: list[str]) -> None:
    assert world.left(source) == 0
    assert sorted(world.bodies(target)) == sorted(f"new {body}" for body in sent)


def test_the_process_of_the_source_is_killed(world: SparkWorld) -> None:
    source, target = world.new_queue(), world.new_queue(fifo=True)
    sent = world.fill(source, COUNT)
    kills = iter(range(1, 4))
    at_batch = [next(kills)]

    def kill(query: StreamingQuery) -> None:
        last = query.lastProgress
        if at_batch and last is not None and last.batchId >= at_batch[0] and kill_source_process():
            at_batch[:] = [batch + 1 for batch in at_batch if next(kills, None)]

    failures = world.run(
        source,
        lambda: _changed(
            world.stream(source, maxMessagesPerBatch=BATCH, leaseSeconds=str(2 + LEASE_SECONDS))
        ),
        world.into_queue(target),
        kill,
    )
    assert failures >= 1
    _check(world, source, target, sent)


def test_the_process_of_a_task_is_killed_in_the_midst_of_its_rows(world: SparkWorld) -> None:
    source, target = world.new_queue(), world.new_queue(fifo=True)
    sent = world.fill(source, COUNT)
    mark = str(world.folder / "killed")

    def die_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if not Path(mark).exists():
                Path(mark).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch.slice(batch.num_rows // 2)

    def rows() -> DataFrame:
        changed = _changed(world.stream(source, maxMessagesPerBatch=BATCH))
        return changed.mapInArrow(die_once, changed.schema)

    assert world.run(source, rows, world.into_queue(target)) >= 1
    _check(world, source, target, sent)


def _into_files(folder: Path, trouble: "Trouble") -> Sink:
    """Writes files keyed by the batch: a repeated batch replaces its files."""

    def keep(batch: DataFrame, number: int) -> None:
        target = folder / f"batch={number}"
        trouble.before(number)
        batch.select("body").write.mode("overwrite").parquet(str(target))
        trouble.after(number)

    def start(rows: DataFrame, checkpoint: Path) -> StreamingQuery:
        return rows.writeStream.foreachBatch(keep).start(checkpointLocation=str(checkpoint))

    return start


class Trouble:
    def before(self, number: int) -> None:
        """Does nothing."""

    def after(self, number: int) -> None:
        """Does nothing."""


class Failing(Trouble):
    """Fails twice, after the batch was written."""

    def __init__(self) -> None:
        self.left = 2

    def after(self, number: int) -> None:
        if number == 1 and self.left:
            self.left -= 1
            raise OSError("the disk is full")


class Slow(Trouble):
    """Waits longer than the leases last."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def before(self, number: int) -> None:
        if number < 3:
            threading.Event().wait(self._seconds)


def _found(world: SparkWorld) -> list[str]:
    kept = world.spark.read.parquet(str(world.folder / "sink"))
    return sorted(row.body for row in kept.select("body").collect())


def test_the_sink_fails_twice(world: SparkWorld) -> None:
    source = world.new_queue()
    sent = world.fill(source, COUNT)
    failures = world.run(
        source,
        lambda: world.stream(source, maxMessagesPerBatch=BATCH),
        _into_files(world.folder / "sink", Failing()),
    )
    assert failures >= 2
    assert _found(world) == sorted(sent)
    assert world.left(source) == 0


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_leases_end_while_messages_are_staged(world: SparkWorld, fifo: bool) -> None:
    source = world.new_queue(fifo=fifo)
    sent = world.fill(source, COUNT)
    world.run(
        source,
        lambda: world.stream(
            source,
            maxMessagesPerBatch=BATCH,
            leaseSeconds=str(LEASE_SECONDS),
            heartbeatSeconds="3600",
        ),
        _into_files(world.folder / "sink", Slow(LEASE_SECONDS + 0.5)),
    )
    assert _found(world) == sorted(sent)
    assert world.left(source) == 0
