"""The statements of the SQL files beside this one, as transforms of Spark: the same rows come out.

Each takes and gives frames and reads nothing else; its select is its schema.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.sql import Window
from pyspark.sql import functions as F

from dovemq.models.calibration.samples import BITS, PER_DOUBLING, TIME_US_MAX
from dovemq.pipeline.calibration.observed import SLICES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Kind: TypeAlias = tuple[str, str, str, str]
"""Its name, and in SQL: its stream, its time where a row tells one, and how often that counts."""
_ARRIVALS: Final[tuple[Kind, ...]] = (
    ("arrival", "''", "since_us", "1"),
    ("job_arrival", "job_type", "since_same_us", "1"),
)
_SETTLED: Final = "event = 'leased' AND next_event = 'settled' AND next_count = receive_count"
_FIRST: Final = "event = 'leased' AND receive_count = 1"
_ENDED: Final = "event IN ('settled', 'redriven') AND receive_count > 0"
_STEPS: Final[tuple[Kind, ...]] = (
    ("work", "''", f"CASE WHEN {_SETTLED} THEN next_us - moment_us END", "1"),
    ("waiting", "''", f"CASE WHEN {_FIRST} THEN moment_us - sent_us END", "1"),
    ("sojourn", "''", "CASE WHEN event = 'settled' THEN moment_us - sent_us END", "1"),
    ("deliveries", "''", f"CASE WHEN {_ENDED} THEN receive_count END", "1"),
)
_VISITS: Final[tuple[Kind, ...]] = (
    ("occupancy", "''", "(asked_next_us - leased_us) DIV messages", "messages"),
)
_REQUESTS: Final[tuple[Kind, ...]] = (("latency", "event", "latency_us", "1"),)


def steps(events: "DataFrame") -> "DataFrame":
    message = Window.partitionBy("queue", "message_id")
    by_time = message.orderBy("moment_us", F.coalesce("receive_count", F.lit(0)), "event")
    sent_us = F.when(F.col("event") == "sent", F.col("moment_us"))
    return events.where("message_id IS NOT NULL AND event <> 'exchanged'").select(
        "queue",
        "event",
        "moment_us",
        "receive_count",
        F.lead("event").over(by_time).alias("next_event"),
        F.lead("moment_us").over(by_time).alias("next_us"),
        F.lead("receive_count").over(by_time).alias("next_count"),
        F.min(sent_us).over(message).alias("sent_us"),
    )


def visits(events: "DataFrame") -> "DataFrame":
    asked = events.where("event IN ('leased', 'missed') AND asked_us IS NOT NULL")
    receives = asked.groupBy("front_end", "client", "queue", "asked_us", "answered_us").agg(
        F.min("moment_us").alias("leased_us"),
        F.count_if(F.col("event") == "leased").alias("messages"),
    )
    by_time = Window.partitionBy("front_end", "client").orderBy("asked_us", "answered_us", "queue")
    return receives.select(
        "queue",
        "client",
        "leased_us",
        "messages",
        "asked_us",
        "answered_us",
        F.lead("asked_us").over(by_time).alias("asked_next_us"),
    )


def requests(events: "DataFrame") -> "DataFrame":
    answered = events.where("event IN ('sent', 'leased', 'settled') AND asked_us IS NOT NULL")
    each = answered.groupBy(
        "front_end", "client", "event", "latency_us", "asked_us", "answered_us"
    ).agg(F.min("moment_us").alias("first_us"))
    began_us = F.when(F.col("event") == "leased", F.col("first_us")).otherwise(F.col("asked_us"))
    return each.select(
        "front_end", "event", "latency_us", began_us.alias("began_us"), "answered_us"
    )


def times(
    events: "DataFrame", steps: "DataFrame", visits: "DataFrame", requests: "DataFrame"
) -> "DataFrame":
    together = (
        _kinds(_sends(events), "queue", _ARRIVALS)
        .unionAll(_kinds(steps, "queue", _STEPS))
        .unionAll(_kinds(visits.where("messages > 0"), "queue", _VISITS))
        .unionAll(_kinds(requests, "front_end", _REQUESTS))
    )
    bounded_us = F.least(F.greatest("time_us", F.lit(0)), F.lit(TIME_US_MAX))
    binned = together.where("time_us IS NOT NULL").withColumn("bounded_us", bounded_us)
    return (
        binned.groupBy("kind", "place", "stream", _bin(F.col("bounded_us")).alias("bin"))
        .agg(
            F.sum("times").alias("count"),
            F.count("*").alias("independent"),
            F.sum(F.col("times") * F.col("bounded_us")).alias("sum_us"),
        )
        .select("kind", "place", "stream", "bin", "count", "independent", "sum_us")
    )


def _sends(events: "DataFrame") -> "DataFrame":
    job_type = F.coalesce("job_type", F.lit(""))
    all_sends = Window.partitionBy("queue").orderBy("moment_us")
    same_sends = Window.partitionBy("queue", "job_type").orderBy("moment_us")
    sent = events.where("event = 'sent'").select("queue", job_type.alias("job_type"), "moment_us")
    moment_us = F.col("moment_us")
    return sent.select(
        "queue",
        "job_type",
        (moment_us - F.lag("moment_us").over(all_sends)).alias("since_us"),
        (moment_us - F.lag("moment_us").over(same_sends)).alias("since_same_us"),
    )


def _kinds(rows: "DataFrame", place: str, kinds: "Sequence[Kind]") -> "DataFrame":
    """Each row once for each kind of time that it tells."""
    each = F.array(*(F.struct(F.lit(kind).alias("kind"), *_told(*rest)) for kind, *rest in kinds))
    return rows.select(F.col(place).alias("place"), F.inline(each)).select(
        "kind", "place", "stream", "time_us", "times"
    )


def _told(stream: str, time_us: str, times: str) -> "tuple[Column, Column, Column]":
    return (
        F.expr(stream).alias("stream"),
        F.expr(time_us).cast("bigint").alias("time_us"),
        F.expr(times).cast("bigint").alias("times"),
    )


def _bin(time_us: "Column") -> "Column":
    raised = F.greatest(time_us, F.lit(PER_DOUBLING)) + F.lit(0.5)
    doublings = F.floor(F.log2(raised)).cast("int") - F.lit(BITS)
    # A shift by a column is known to SQL's text alone.
    shifted = F.call_function("shiftright", time_us, doublings)
    return F.when(time_us < PER_DOUBLING, time_us).otherwise(doublings * PER_DOUBLING + shifted)


def outcomes(steps: "DataFrame") -> "DataFrame":
    leased = F.col("event") == "leased"
    own = (F.col("next_event") == "settled") & (F.col("next_count") == F.col("receive_count"))
    return (
        steps.groupBy("queue")
        .agg(
            F.count_if(leased & own).alias("settled"),
            F.count_if(leased & F.col("next_event").isin("leased", "redriven")).alias("failed"),
            F.count_if(leased).alias("leased"),
            F.min("moment_us").alias("first_us"),
            F.max("moment_us").alias("last_us"),
        )
        .select("queue", "settled", "failed", "leased", "first_us", "last_us")
    )


def presences(visits: "DataFrame") -> "DataFrame":
    return (
        visits.groupBy("queue", "client")
        .agg(
            F.sum("messages").alias("messages"),
            F.min("asked_us").alias("first_us"),
            F.max(F.coalesce("asked_next_us", "answered_us")).alias("last_us"),
        )
        .select("queue", "client", "messages", "first_us", "last_us")
    )


def front_ends(requests: "DataFrame") -> "DataFrame":
    own = Window.partitionBy("front_end")
    before = own.orderBy("began_us", "answered_us", "event", "latency_us").rowsBetween(
        Window.unboundedPreceding, -1
    )
    ordered = requests.select(
        "front_end",
        "event",
        "latency_us",
        "began_us",
        "answered_us",
        F.coalesce(F.max("answered_us").over(before), "began_us").alias("busy_until_us"),
        F.min("began_us").over(own).alias("first_us"),
        F.max("answered_us").over(own).alias("last_us"),
    )
    place = f"(began_us - first_us) * {SLICES} DIV (last_us - first_us + 1)"
    busy_us = F.greatest(F.lit(0), F.expr("answered_us - greatest(began_us, busy_until_us)"))
    return (
        ordered.groupBy("front_end", "first_us", "last_us", F.expr(place).alias("slice"), "event")
        .agg(
            F.count("*").alias("requests"),
            F.sum("latency_us").alias("latency_us"),
            F.sum(busy_us).alias("busy_us"),
        )
        .select(
            "front_end",
            "first_us",
            "last_us",
            "slice",
            "event",
            "requests",
            "latency_us",
            "busy_us",
        )
    )
