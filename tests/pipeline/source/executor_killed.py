"""A stream on two executors of which one is killed while it works; prints what became of it.

    python -m tests.pipeline.source.executor_killed COUNT

A program of its own, since a process has one Spark session at a time.
"""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

from dovemq.pipeline import datasource
from dovemq.pipeline.session import SparkPlan, spark_session
from dovemq.testing.local_server import LocalServer
from tests.pipeline.source.spark_world import SparkWorld, processes_of

KILLS = 2
EXECUTORS = "local-cluster[2,1,1024]"
SETTINGS = {"spark.executor.memory": "1g", "spark.driver.memory": "1g"}


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with (
            LocalServer(folder / "data") as server,
            spark_session(SparkPlan(EXECUTORS, more=SETTINGS)) as spark,
        ):
            datasource.register(spark)
            world = SparkWorld(spark, server, folder)
            print(json.dumps(_run(world, count)))
            world.close()


def _run(world: SparkWorld, count: int) -> dict[str, object]:
    source, target = world.new_queue(), world.new_queue(fifo=True)
    sent = world.fill(source, count)
    tracker = world.spark.sparkContext.statusTracker()
    killed: list[int] = []

    def kill(query: StreamingQuery) -> None:
        """One that was not there at the last kill, while a job runs."""
        executors = processes_of(os.getpid(), b"CoarseGrainedExecutorBackend")
        if len(killed) < KILLS and len(executors) == 2 and tracker.getActiveJobsIds():
            os.kill(executors[0], signal.SIGKILL)
            killed.append(executors[0])

    changed = sf.concat(sf.lit("new "), "body").alias("body")
    failures = world.run(
        source,
        lambda: world.stream(source, maxMessagesPerBatch=str(max(count // 10, 500))).select(
            changed, sf.col("message_id").alias("group_id")
        ),
        world.into_queue(target),
        kill,
    )
    expected = sorted(f"new {body}" for body in sent)
    return {
        "killed": len(killed),
        "failures": failures,
        "left": world.left(source),
        "exact": sorted(world.bodies(target)) == expected,
    }


if __name__ == "__main__":
    main(int(sys.argv[1]))
