"""Measures the order of first receives, stream by stream, for streams of any size.

    counts of each stream by second  →  slices of about SLICE_ROWS messages, with the extremes of
    what came before and after each  →  slices measured in parallel, between their clean cuts
    →  the rest of each stream measured by one task  →  numbers or commits, whichever apply

A *stream* is what one sender sent to one queue. `order_kernel` explains why this is exact.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from dovemq.pipeline.metrics.order_kernel import (
    COMMITTED,
    COUNTS,
    NUMBERED,
    PIECES,
    STREAMS,
    measured_slices,
    measured_streams,
)
from dovemq.pipeline.session import use_this_python

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SLICE_ROWS: Final = 20_000
"""Small, so that the slices of a large stream spread evenly over tasks."""
ORDER: Final = ("ordered", "out_of_order", "displacement")
_BUCKET_US: Final = 1_000_000
_VALUES: Final = ("send_seq", "sent_us")


def order(messages: "DataFrame", window_us: int, slice_rows: int = SLICE_ROWS) -> "DataFrame":
    """Returns the order of each stream, with `window` null, and of each window of it.

    `renumbered`: the sender gave one number to several messages, so the order of the commits is
    used.
    """
    use_this_python(messages.sparkSession)
    pieces = (
        _sliced(messages, window_us, slice_rows)
        .repartition("queue", "sender", "slice")
        .sortWithinPartitions("queue", "sender", "slice", "leased_us", "front_end", "receive_seq")
        .select("queue", "sender", "window", "slice", *_VALUES, *_bounds())
        .mapInArrow(measured_slices, from_arrow_schema(PIECES))
    )
    found = (
        pieces.repartition("queue", "sender", "kind")
        .sortWithinPartitions("queue", "sender", "kind", "slice", "place")
        .mapInArrow(measured_streams, from_arrow_schema(STREAMS))
    )
    counts = F.struct(*COUNTS)
    kinds = found.groupBy("queue", "sender", "window").agg(
        *(
            F.any_value(F.when(F.col("kind") == kind, counts), F.lit(True)).alias(kind)
            for kind in (NUMBERED, COMMITTED)
        )
    )
    stream = Window.partitionBy("queue", "sender")
    repeated = F.max(F.when(F.col("window").isNull(), F.col(f"{NUMBERED}.duplicates"))).over(stream)
    return kinds.withColumn("renumbered", repeated > 0).select(
        "queue", "sender", "window", "renumbered", *_chosen()
    )


def _chosen() -> "Iterator[Column]":
    for name in ORDER:
        committed, numbered = F.col(f"{COMMITTED}.{name}"), F.col(f"{NUMBERED}.{name}")
        yield F.when(F.col("renumbered"), committed).otherwise(numbered).alias(name)


def _sliced(messages: "DataFrame", window_us: int, slice_rows: int) -> "DataFrame":
    """Adds the number of the slice, and the extremes before and after it, to received messages.

    A slice is a part of a stream within one window; slices are numbered in order of time.
    """
    place = ("queue", "sender", "window", "bucket")
    received = messages.where("leased_us IS NOT NULL").select(
        *("queue", "sender", "leased_us", "front_end", "receive_seq", *_VALUES),
        F.expr(f"leased_us DIV {window_us}").alias("window"),
        F.expr(f"leased_us DIV {_BUCKET_US}").alias("bucket"),
    )
    counted = received.groupBy(*place).agg(
        F.count("*").alias("rows"),
        *(F.min(name).alias(f"{name}_least") for name in _VALUES),
        *(F.max(name).alias(f"{name}_most") for name in _VALUES),
    )
    own_window = Window.partitionBy("queue", "sender", "window").orderBy("bucket")
    rows_before = F.sum("rows").over(own_window) - F.col("rows")
    stream = Window.partitionBy("queue", "sender")
    numbered = counted.withColumn("part", F.floor(rows_before / slice_rows)).withColumn(
        "slice", F.dense_rank().over(stream.orderBy("window", "part"))
    )
    # A frame up to the end is computed again for each row; in descending order it is not.
    earlier = stream.orderBy("slice").rangeBetween(Window.unboundedPreceding, -1)
    later = stream.orderBy(F.desc("slice")).rangeBetween(Window.unboundedPreceding, -1)
    bounded = numbered.select(
        *(*place, "slice"),
        *(F.max(f"{name}_most").over(earlier).alias(f"{name}_before") for name in _VALUES),
        *(F.min(f"{name}_least").over(later).alias(f"{name}_after") for name in _VALUES),
    )
    return received.join(bounded, list(place))


def _bounds() -> list[str]:
    return [f"{name}_{side}" for name in _VALUES for side in ("before", "after")]
