"""Streams between queues that tests start, break and start again."""

from collections.abc import Callable
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from dovemq.testing.local_server import LocalServer
from tests.pipeline.source.queue_world import QueueWorld

BREATH_SECONDS = 0.1
BREATHS_MAX = 30_000

Sink = Callable[[DataFrame, Path], StreamingQuery]


class SparkWorld(QueueWorld):
    def __init__(self, spark: SparkSession, server: LocalServer, folder: Path) -> None:
        super().__init__(server)
        self.spark = spark
        self.folder = folder

    def stream(self, queue: str, **options: str) -> DataFrame:
        reader = self.spark.readStream.format("dovemq").options(**self.options)
        staging = str(self.folder / "staging")
        return reader.option("queue", queue).options(stagingLocation=staging, **options).load()

    def into_queue(self, queue: str) -> Sink:
        def start(rows: DataFrame, checkpoint: Path) -> StreamingQuery:
            writer = rows.writeStream.format("dovemq").options(**self.options)
            return writer.option("queue", queue).start(checkpointLocation=str(checkpoint))

        return start

    def run(
        self,
        queue: str,
        rows: Callable[[], DataFrame],
        sink: Sink,
        disturb: Callable[[StreamingQuery], None] = lambda query: None,
    ) -> int:
        """Runs until the queue is empty, and returns how often the query failed and was
        restarted."""
        failures = 0
        query = sink(rows(), self.folder / "checkpoint")
        for _ in range(BREATHS_MAX):
            try:
                query.awaitTermination(BREATH_SECONDS)  # type: ignore[arg-type]
                disturb(query)
            except StreamingQueryException:
                failures += 1
                query = sink(rows(), self.folder / "checkpoint")
            if not self.left(queue):
                break
        query.stop()
        return failures

    def close(self) -> None:
        for query in self.spark.streams.active:
            query.stop()
        super().close()
