"""Turns events into requests: one row for each request with its answer."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from dovemq.pipeline.events import valid_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def requests(events: "DataFrame", window_us: int) -> "DataFrame":
    """Returns the requests, identified by client and time of the answer.

    A connection makes one request at a time. `window` numbers the windows of `window_us` since
    1970; a request with rows in two windows is in both. `offset_us` is the sum of the times of its
    rows since the start of their window. Events without an answer, such as an expiry, are separate
    rows.
    """
    placed = valid_events(events).select(
        *("event", "queue", "front_end", "client", "answered_us", "message_id", "latency_us"),
        "moment_us",
        F.expr(f"moment_us DIV {window_us}").alias("window"),
    )
    # Most requests have one row, so none are combined before the shuffle.
    return (
        placed.repartition("queue", "client", "answered_us")
        .groupBy("event", "queue", "front_end", "window", "client", "answered_us")
        .agg(
            F.max("latency_us").alias("latency_us"),
            F.count("*").alias("rows"),
            F.count_if(F.col("message_id").isNull()).alias("unnamed"),
            F.sum(F.expr(f"moment_us % {window_us}")).alias("offset_us"),
            F.min("moment_us").alias("first_us"),
            F.max("moment_us").alias("last_us"),
        )
    )
