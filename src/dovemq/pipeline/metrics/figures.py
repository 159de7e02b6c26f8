"""Turns facts into figures at three levels: each window of a queue, each queue, all queues.

Sums are of integers, and a quantile is a member of its distribution, so the result does not depend
on the order of the rows.
"""

from collections.abc import Iterator
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
    struct_sql,
    time_columns,
)
from dovemq.pipeline.metrics.facts import ARRIVED, GONE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_EXACT: Final = "decimal(38, 0)"
"""Products of messages and microseconds exceed a long."""


class Tables(NamedTuple):
    """Figures at three levels, and the facts behind them."""

    by_queue: "DataFrame"
    by_window: "DataFrame"
    overall: "DataFrame"
    facts: "DataFrame"


class FigureLevel(NamedTuple):
    """A level and the expressions of its key; a missing part is empty or −1."""

    level: str
    queue: str = "''"
    window: str = "-1L"


_LEVELS: Final = (
    FigureLevel("window", "queue", "window"),
    FigureLevel("queue", "queue"),
    FigureLevel("overall"),
)
_KEYS: Final = ("level", "queue", "window")


def figures(facts: "DataFrame", window_us: int) -> "DataFrame":
    """Returns one row for each window, each queue and overall; `tables_of` separates them."""
    own = _at_levels(facts)
    spans = _spans(_flow(facts), window_us)
    known = spans.join(_counters(own), list(_KEYS), "left").join(_times(own), list(_KEYS), "left")
    seconds = F.expr("(last_us - first_us) / 1e6").cast("double").alias("seconds")
    number_mean = F.expr("CAST(area_us AS DOUBLE) / nullif(last_us - first_us, 0)")
    little = F.expr("CAST(area_us AS DOUBLE) / nullif(arrived * sojourn_mean_us, 0)")
    return known.select("*", seconds).select(
        "*",
        F.expr(f"window * {window_us}").alias("window_start_us"),
        *(F.expr(text).alias(name) for name, text in RATES.items()),
        number_mean.alias("number_mean"),
        little.alias("little_ratio"),
    )


def tables_of(figures: "DataFrame", facts: "DataFrame") -> Tables:
    def at(level: str, *columns: str) -> "DataFrame":
        return figures.where(F.col("level") == level).select(*columns)

    return Tables(
        at("queue", "queue", *FIGURES),
        at("window", "queue", "window_start_us", *WINDOW_FIGURES),
        at("overall", *FIGURES),
        facts,
    )


def _at_levels(facts: "DataFrame") -> "DataFrame":
    """Repeats each fact for each level at which it counts."""
    each = [
        F.expr(struct_sql(f"{window} IS NOT NULL", level=f"'{level}'", queue=queue, window=window))
        for level, queue, window in _LEVELS
    ]
    return facts.select(
        F.inline(F.array_compact(F.array(*each))), "measure", "value", "count", "total"
    )


def _counters(facts: "DataFrame") -> "DataFrame":
    return facts.groupBy(*_KEYS).agg(*(_total(name).alias(name) for name in COUNTERS))


def _times(facts: "DataFrame") -> "DataFrame":
    """Means use the exact times; a quantile is the k-th smallest of the shortened ones."""
    distribution = (
        facts.where("value IS NOT NULL")
        .groupBy(*_KEYS, "measure", "value")
        .agg(F.sum("count").alias("count"), F.sum(F.col("total").cast(_EXACT)).alias("total"))
    )
    own = Window.partitionBy(*_KEYS, "measure")
    placed = distribution.select(
        *(*_KEYS, "measure", "value", "count", "total"),
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

    return placed.groupBy(*_KEYS).agg(*statistics())


def _total(*measures: str) -> "Column":
    counted = F.sum(F.when(F.col("measure").isin(*measures), F.col("count")))
    return F.coalesce(counted, F.lit(0))


def _flow(facts: "DataFrame") -> "DataFrame":
    """Returns arrivals and departures of each window of each queue.

    `before` is the number of messages before the trace: those seen without a send, or as many as
    keep the number in the queue from falling below zero.
    """

    moved = (
        facts.where("window IS NOT NULL AND value IS NULL")
        .groupBy("queue", "window")
        .agg(
            _total("sent").cast(_EXACT).alias("arrived"),
            _total("settled", "expired", "redriven").cast(_EXACT).alias("gone"),
            _total(ARRIVED).cast(_EXACT).alias("arrived_us"),
            _total(GONE).cast(_EXACT).alias("gone_us"),
            F.min("first_us").alias("first_us"),
            F.max("last_us").alias("last_us"),
            _total("unsent").cast(_EXACT).alias("unsent"),
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


def _spans(flow: "DataFrame", window_us: int) -> "DataFrame":
    """Returns the time span, and `area_us`: the number in the queue, integrated over that time.

    A window ends with the trace. Each arrival counts from its time to the end, minus departures.
    """
    each = []
    for level, queue, window in _LEVELS:
        key = {"level": f"'{level}'", "queue": queue, "window": window}
        each.append(F.expr(struct_sql("true", **key, **_span(level, window_us))))
    sums = flow.select(
        F.inline(F.array(*each)),
        "arrived",
        F.expr("arrived - gone").alias("stayed"),
        F.expr(f"(arrived - gone) * (window * {window_us}) + arrived_us - gone_us").alias(
            "came_us"
        ),
    )
    return (
        sums.groupBy(*_KEYS)
        .agg(
            F.min("from_us").alias("first_us"),
            F.max("to_us").alias("last_us"),
            *(F.sum(name).alias(name) for name in ("number", "arrived", "stayed", "came_us")),
        )
        .select(
            *(*_KEYS, "first_us", "last_us", "arrived"),
            F.expr("number * (last_us - first_us) + stayed * last_us - came_us").alias("area_us"),
            F.expr("CAST(number + stayed AS BIGINT)").alias("number_last"),
        )
    )


def _span(level: str, window_us: int) -> dict[str, str]:
    """`number` is the number in the queue at the start of the window, or before the trace."""
    if level == "window":
        return {
            "from_us": f"greatest(window * {window_us}, began_us)",
            "to_us": f"least((window + 1) * {window_us}, ended_us)",
            "number": "before + balance - arrived + gone",
        }
    # Each row of a queue has the number before the trace; it counts once.
    number = f"CASE WHEN place = 1 THEN before ELSE CAST(0 AS {_EXACT}) END"
    return {"from_us": "began_us", "to_us": "ended_us", "number": number}
