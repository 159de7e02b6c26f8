"""Facts to figures, at three levels: each window of a queue, each queue, all queues together.

Sums are of integers, and a quantile is a member of its distribution, so nothing depends on the
order in which rows arrive.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as F

from dovemq.pipeline.metrics.columns import (
    COUNTERS,
    FIGURES,
    PERCENTS,
    RATES,
    TIMES,
    WINDOW_FIGURES,
    time_columns,
)
from dovemq.pipeline.metrics.facts import ARRIVED, GONE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_EXACT: Final = "decimal(38, 0)"
"""Products of messages and microseconds outgrow a long."""


class Tables(NamedTuple):
    """Figures at three levels, and the facts that they are made of."""

    by_queue: "DataFrame"
    by_window: "DataFrame"
    overall: "DataFrame"
    facts: "DataFrame"


def tables(facts: "DataFrame", window_us: int) -> Tables:
    flow = _flow(facts)
    windows = _figures(facts, _window_spans(flow, window_us), ("queue", "window"))
    start = (F.col("window") * window_us).alias("window_start_us")
    return Tables(
        _figures(facts, _spans(flow, ("queue",), window_us), ("queue",)).select("queue", *FIGURES),
        windows.select("queue", start, *WINDOW_FIGURES),
        _figures(facts, _spans(flow, (), window_us), ()).select(*FIGURES),
        facts,
    )


def _figures(facts: "DataFrame", spans: "DataFrame", keys: Sequence[str]) -> "DataFrame":
    own = facts.where("window IS NOT NULL") if "window" in keys else facts
    joined = spans
    for part in (_counters(own, keys), _times(own, keys)):
        joined = joined.join(part, list(keys), "left") if keys else joined.crossJoin(part)
    seconds = F.expr("(last_us - first_us) / 1e6").cast("double").alias("seconds")
    known = joined.select("*", seconds)
    number_mean = F.expr("CAST(area_us AS DOUBLE) / nullif(last_us - first_us, 0)")
    little = F.expr("CAST(area_us AS DOUBLE) / nullif(arrived * sojourn_mean_us, 0)")
    return known.select(
        "*",
        *(F.expr(text).alias(name) for name, text in RATES.items()),
        number_mean.alias("number_mean"),
        little.alias("little_ratio"),
    )


def _counters(facts: "DataFrame", keys: Sequence[str]) -> "DataFrame":
    def total(measure: str) -> "Column":
        counted = F.sum(F.when(F.col("measure") == measure, F.col("count")))
        return F.coalesce(counted, F.lit(0)).alias(measure)

    return facts.groupBy(*keys).agg(*map(total, COUNTERS))


def _times(facts: "DataFrame", keys: Sequence[str]) -> "DataFrame":
    """The mean of the exact times; a quantile is the k-th smallest of the shortened ones."""
    distribution = (
        facts.where("value IS NOT NULL")
        .groupBy(*keys, "measure", "value")
        .agg(F.sum("count").alias("count"), F.sum(F.col("total").cast(_EXACT)).alias("total"))
    )
    own = Window.partitionBy(*keys, "measure")
    placed = distribution.select(
        *(*keys, "measure", "value", "count", "total"),
        F.sum("count").over(own.orderBy("value")).alias("upto"),
        F.sum("count").over(own).alias("all"),
    )

    def statistics() -> "Iterator[Column]":
        for time in TIMES:
            is_own = F.col("measure") == time
            mean, *quantiles = time_columns(time)
            total, count = (F.sum(F.when(is_own, F.col(name))) for name in ("total", "count"))
            yield (total.cast("double") / count).alias(mean)
            for name, percent in zip(quantiles, PERCENTS, strict=True):
                reached = F.col("upto") * 100 >= F.col("all") * percent
                yield F.min(F.when(is_own & reached, F.col("value"))).alias(name)

    return placed.groupBy(*keys).agg(*statistics())


def _flow(facts: "DataFrame") -> "DataFrame":
    """Arrivals and departures of each window of each queue.

    `before` is what was there before the trace began: the messages that were seen without a send,
    or as many as keep the number in the queue from falling below zero.
    """

    def total(*measures: str) -> "Column":
        counted = F.sum(F.when(F.col("measure").isin(*measures), F.col("count")))
        return F.coalesce(counted, F.lit(0)).cast(_EXACT)

    moved = (
        facts.where("window IS NOT NULL AND value IS NULL")
        .groupBy("queue", "window")
        .agg(
            total("sent").alias("arrived"),
            total("settled", "expired", "redriven").alias("gone"),
            total(ARRIVED).alias("arrived_us"),
            total(GONE).alias("gone_us"),
            F.min("first_us").alias("first_us"),
            F.max("last_us").alias("last_us"),
            total("unsent").alias("unsent"),
        )
    )
    own = Window.partitionBy("queue")
    balanced = moved.select(
        "*",
        F.sum(F.expr("arrived - gone")).over(own.orderBy("window")).alias("balance"),
        F.row_number().over(own.orderBy("window")).alias("place"),
        F.min("first_us").over(own).alias("began_us"),
        F.max("last_us").over(own).alias("ended_us"),
    )
    missing, unsent = -F.min("balance").over(own), F.sum("unsent").over(own)
    return balanced.select("*", F.greatest(unsent, missing).alias("before"))


def _window_spans(flow: "DataFrame", window_us: int) -> "DataFrame":
    """`area_us` is the number in the queue, integrated over the part of the window in the trace."""
    edges = flow.select(
        "*",
        F.expr(f"greatest(window * {window_us}, began_us)").alias("from_us"),
        F.expr(f"least((window + 1) * {window_us}, ended_us)").alias("to_us"),
    )
    return edges.select(
        *("queue", "window", F.col("from_us").alias("first_us"), F.col("to_us").alias("last_us")),
        F.expr(
            "(before + balance - arrived + gone) * (to_us - from_us)"
            f" + (arrived - gone) * (to_us - window * {window_us}) - arrived_us + gone_us"
        ).alias("area_us"),
        F.expr("CAST(before + balance AS BIGINT)").alias("number_last"),
        "arrived",
    )


def _spans(flow: "DataFrame", keys: Sequence[str], window_us: int) -> "DataFrame":
    """The same for whole queues: each arrival counts from its time to the end, less what left."""
    sums = flow.groupBy(*keys).agg(
        F.min("began_us").alias("first_us"),
        F.max("ended_us").alias("last_us"),
        # Each row of a queue has what was there before; it counts once.
        F.sum(F.when(F.col("place") == 1, F.col("before"))).alias("before"),
        F.sum(F.expr("arrived - gone")).alias("stayed"),
        F.sum(F.expr(f"(arrived - gone) * (window * {window_us}) + arrived_us - gone_us")).alias(
            "came_us"
        ),
        F.sum("arrived").alias("arrived"),
    )
    return sums.where("first_us IS NOT NULL").select(
        *keys,
        "first_us",
        "last_us",
        F.expr("before * (last_us - first_us) + stayed * last_us - came_us").alias("area_us"),
        F.expr("CAST(before + stayed AS BIGINT)").alias("number_last"),
        "arrived",
    )
