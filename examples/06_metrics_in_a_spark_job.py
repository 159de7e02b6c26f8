"""A Spark job of your own: a trace in a table, its figures joined with business data.

Needs the extra `spark`, Java 17 or 21, and the variables that `dovemq env` prints. With
`SPARK_REMOTE=local[2]` the same program runs through Spark Connect.

Prints:

    orders belongs to shop: 80 sent, 80 received, 0 lost, 0 duplicates
    1 of 1 queues kept what its team was promised
"""

import asyncio
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dovemq import pipeline
from dovemq.core.access import AccessKey
from dovemq.core.locations import parse_location
from dovemq.load.plan import Endpoint, LoadPlan
from dovemq.load.run import run


def write_trace(place: str) -> None:
    """Some traffic on a real server; `dovemq serve --trace` would write the server's own view."""
    env = os.environ
    key = AccessKey(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], account="")
    endpoint = Endpoint(env["AWS_ENDPOINT_URL_SQS"], key, env["AWS_REGION"])
    plan = LoadPlan(endpoint=endpoint, name="orders", senders=4, receivers=2, messages=20)
    asyncio.run(run(plan, traces=parse_location(place)))


def main() -> None:
    # Spark starts Python processes of its own; they must have this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    write_trace("trace")
    spark = SparkSession.builder.appName("teams").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")

    # The trace as a table of your own; any source with these columns will do.
    pipeline.read_events(spark, "trace").write.saveAsTable("trace_events")
    events = spark.table("trace_events")
    teams = spark.createDataFrame([("orders", "shop", 0)], "name string, team string, lost_max int")

    with pipeline.measured(events, window_us=60_000_000) as tables:
        name = F.regexp_extract("queue", "/([a-z]+)", 1)
        joined = tables.by_queue.withColumn("name", name).join(teams, "name")
        joined.write.saveAsTable("team_metrics")

    rows = spark.table("team_metrics").orderBy("name").collect()
    for row in rows:
        print(
            f"{row.name} belongs to {row.team}: {row.sent} sent, {row.received} received, "
            f"{row.lost} lost, {row.duplicates} duplicates"
        )
    kept = sum(row.lost <= row.lost_max for row in rows)
    print(f"{kept} of {len(rows)} queues kept what its team was promised")
    spark.stop()


if __name__ == "__main__":
    main()
