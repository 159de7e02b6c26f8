"""Turns events into the tables that calibration needs, with Spark; DuckDB has SQL of its own.

The row before or after another one of the same queue, client or front end is searched within its
second, and then in a small table of seconds, so that no task has to hold all rows of a busy one.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.sql import Window
from pyspark.sql import functions as F

from dovemq.models.calibration.samples import BITS, PER_DOUBLING, SECOND_US, TIME_US_MAX
from dovemq.pipeline.calibration.observed import SLICES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.window import WindowSpec

Kind: TypeAlias = tuple[str, str, str, str]
"""The name of a kind of time, and in SQL: the stream, the time or null, and its weight."""
_ARRIVALS: Final[tuple[Kind, ...]] = (
    ("arrival", "''", "CASE WHEN job_type IS NULL THEN since_us END", "1"),
    ("job_arrival", "job_type", "CASE WHEN job_type IS NOT NULL THEN since_us END", "1"),
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
    # A join finds no null, and a client may be unknown.
    known = receives.select("*", F.coalesce("client", F.lit("")).alias("who"))
    keys = ("front_end", "who")
    placed = _beside_seconds(
        known, keys, "asked_us", F.min("asked_us"), lambda first, own: F.lead(first).over(own)
    )
    by_time = Window.partitionBy(*keys, "second").orderBy("asked_us", "answered_us", "queue")
    return placed.select(
        *("queue", "client", "leased_us", "messages", "asked_us", "answered_us"),
        F.coalesce(F.lead("asked_us").over(by_time), "beyond").alias("asked_next_us"),
    )


def _beside_seconds(
    rows: "DataFrame",
    keys: Sequence[str],
    time: str,
    edge: "Column",
    found: "Callable[[Column, WindowSpec], Column]",
) -> "DataFrame":
    """Adds the `second` of each row, and `beyond`, which `found` takes from other seconds."""
    placed = rows.withColumn("second", F.expr(f"{time} DIV {SECOND_US}"))
    edges = placed.groupBy(*keys, "second").agg(edge.alias("edge"))
    own = Window.partitionBy(*keys).orderBy("second")
    beyond = edges.select(*keys, "second", found(F.col("edge"), own).alias("beyond"))
    return placed.join(beyond, [*keys, "second"])


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
    return binned.groupBy("kind", "place", "stream", _bin(F.col("bounded_us")).alias("bin")).agg(
        F.sum("times").alias("count"),
        F.count("*").alias("independent"),
        F.sum(F.col("times") * F.col("bounded_us")).alias("sum_us"),
    )


def _sends(events: "DataFrame") -> "DataFrame":
    sent = events.where("event = 'sent'").select(
        "queue", F.coalesce("job_type", F.lit("")).alias("job_type"), "moment_us"
    )
    whole = _gaps(sent, ("queue",)).select(
        "queue", F.lit(None).cast("string").alias("job_type"), "since_us"
    )
    return whole.unionAll(_gaps(sent, ("queue", "job_type")))


def _gaps(sent: "DataFrame", keys: Sequence[str]) -> "DataFrame":
    """Returns the time since the previous send with the same keys."""
    placed = _beside_seconds(
        sent, keys, "moment_us", F.max("moment_us"), lambda last, own: F.lag(last).over(own)
    )
    by_time = Window.partitionBy(*keys, "second").orderBy("moment_us")
    before_us = F.coalesce(F.lag("moment_us").over(by_time), "beyond")
    return placed.select(*keys, (F.col("moment_us") - before_us).alias("since_us"))


def _kinds(rows: "DataFrame", place: str, kinds: "Sequence[Kind]") -> "DataFrame":
    """Returns each row once for each kind of time that it has."""
    each = ", ".join(
        f"struct('{kind}' AS kind, {stream} AS stream, CAST({time_us} AS BIGINT) AS time_us, "
        f"CAST({times} AS BIGINT) AS times)"
        for kind, stream, time_us, times in kinds
    )
    return rows.select(F.col(place).alias("place"), F.expr(f"inline(array({each}))"))


def _bin(time_us: "Column") -> "Column":
    raised = F.greatest(time_us, F.lit(PER_DOUBLING)) + F.lit(0.5)
    doublings = F.floor(F.log2(raised)).cast("int") - F.lit(BITS)
    # A shift by a column is known to SQL's text alone.
    shifted = F.call_function("shiftright", time_us, doublings)
    return F.when(time_us < PER_DOUBLING, time_us).otherwise(doublings * PER_DOUBLING + shifted)


def outcomes(steps: "DataFrame") -> "DataFrame":
    leased = F.col("event") == "leased"
    own = (F.col("next_event") == "settled") & (F.col("next_count") == F.col("receive_count"))
    return steps.groupBy("queue").agg(
        F.count_if(leased & own).alias("settled"),
        F.count_if(leased & F.col("next_event").isin("leased", "redriven")).alias("failed"),
        F.count_if(leased).alias("leased"),
        F.min("moment_us").alias("first_us"),
        F.max("moment_us").alias("last_us"),
    )


def presences(visits: "DataFrame") -> "DataFrame":
    return visits.groupBy("queue", "client").agg(
        F.sum("messages").alias("messages"),
        F.min("asked_us").alias("first_us"),
        F.max(F.coalesce("asked_next_us", "answered_us")).alias("last_us"),
    )


def front_ends(requests: "DataFrame") -> "DataFrame":
    span = requests.groupBy("front_end").agg(
        F.min("began_us").alias("first_us"), F.max("answered_us").alias("last_us")
    )
    placed = _beside_seconds(
        requests,
        ("front_end",),
        "began_us",
        F.max("answered_us"),
        lambda last, own: F.max(last).over(own.rowsBetween(Window.unboundedPreceding, -1)),
    )
    before = (
        Window.partitionBy("front_end", "second")
        .orderBy("began_us", "answered_us", "event", "latency_us")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    busy_until_us = F.greatest(F.max("answered_us").over(before), "beyond")
    ordered = placed.join(span, "front_end").select(
        *("front_end", "event", "latency_us", "began_us", "answered_us", "first_us", "last_us"),
        F.coalesce(busy_until_us, "began_us").alias("busy_until_us"),
    )
    place = f"(began_us - first_us) * {SLICES} DIV (last_us - first_us + 1)"
    busy_us = F.greatest(F.lit(0), F.expr("answered_us - greatest(began_us, busy_until_us)"))
    keys = ("front_end", "first_us", "last_us", F.expr(place).alias("slice"), "event")
    return ordered.groupBy(*keys).agg(
        F.count("*").alias("requests"),
        F.sum("latency_us").alias("latency_us"),
        F.sum(busy_us).alias("busy_us"),
    )
