"""Turns events into messages: one row for each message, from its send to its end."""

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
