"""Turns events into messages and requests: one row for each."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from dovemq.pipeline.events import valid_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def messages(events: "DataFrame") -> "DataFrame":
    """Returns the messages, identified by message id and queue.

    `sent_us`, `leased_us` (its first lease, by `front_end`, with `receive_seq`) and `left_us`
    (settled, expired or redriven) are null if the trace has no such event. `corrupted`: it was
    received, and never with the checksum of its send.
    """
    sent, leased = F.col("event") == "sent", F.col("event") == "leased"
    left = F.col("event").isin("settled", "expired", "redriven")
    checksum = F.col("body_crc32")
    # Rows of a message are seldom in one partition before the shuffle, so none are combined there.
    return (
        valid_events(events)
        .where("message_id IS NOT NULL AND event NOT IN ('missed', 'exchanged')")
        .repartition("queue", "message_id")
        .groupBy("queue", "message_id")
        .agg(
            F.min(F.when(sent, F.struct("moment_us", "sender", "send_seq", checksum))).alias(
                "send"
            ),
            # Equal times are ordered by the front end and its own count of leases.
            F.min(
                F.when(
                    leased, F.struct("moment_us", "front_end", "receive_seq", "sender", "send_seq")
                )
            ).alias("lease"),
            F.min(F.when(left, F.col("moment_us"))).alias("left_us"),
            F.count_if(leased).alias("receives"),
            F.count_if(leased & checksum.isNull()).alias("unchecked"),
            F.collect_set(F.when(leased, checksum)).alias("checksums"),
        )
        .select(
            "queue",
            "message_id",
            F.coalesce("lease.sender", "send.sender").alias("sender"),
            F.coalesce("lease.send_seq", "send.send_seq").alias("send_seq"),
            F.col("send.moment_us").alias("sent_us"),
            F.col("lease.moment_us").alias("leased_us"),
            F.col("lease.front_end").alias("front_end"),
            F.col("lease.receive_seq").alias("receive_seq"),
            "left_us",
            "receives",
            F.expr(
                "coalesce(receives > 0 AND unchecked = 0 "
                "AND NOT array_contains(checksums, send.body_crc32), false)"
            ).alias("corrupted"),
        )
    )


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
