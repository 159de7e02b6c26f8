"""A driver that may be killed: a stream from one queue into another, until its process ends.

    python -m tests.pipeline.source.stream_program < settings.json

A program of its own, since a process has one Spark session at a time.
"""

import sys

import msgspec
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as sf

from dovemq.pipeline import datasource
from dovemq.pipeline.session import SparkPlan, spark_session

FAILURES_MAX = 20


class Settings(msgspec.Struct):
    """`read` and `write` are options of the format."""

    master: str
    read: dict[str, str]
    write: dict[str, str]
    checkpoint: str
    more: dict[str, str]


def main(settings: Settings) -> None:
    with spark_session(SparkPlan(settings.master, "1g", more=settings.more)) as spark:
        datasource.register(spark)
        for _ in range(FAILURES_MAX):
            rows = spark.readStream.format("dovemq").options(**settings.read).load()
            changed = sf.concat(sf.lit("new "), "body").alias("body")
            writer = (
                rows.select(changed, sf.col("message_id").alias("group_id"))
                .writeStream.format("dovemq")
                .options(**settings.write)
            )
            try:
                writer.start(checkpointLocation=settings.checkpoint).awaitTermination()
            except StreamingQueryException as error:
                print(error, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(msgspec.json.decode(sys.stdin.buffer.read(), type=Settings))
