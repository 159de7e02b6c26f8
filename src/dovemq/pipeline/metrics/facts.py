"""Turns messages, requests and order into *facts*, a small table that gives all figures.

A fact is (queue, window, measure, value, count, total). A measure in `COUNTERS` has a count and no
value. A measure in `TIMES` is a distribution: `value` is a time of four digits, `count` its
frequency, `total` the sum of the exact times. `window` is null if a fact belongs to the whole queue
only. `first_us` and `last_us` are the times of its events, if known.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dovemq.pipeline.metrics.columns import KINDS, shortened_sql, struct_sql
from dovemq.pipeline.metrics.order import ORDER

if TYPE_CHECKING:
    from pyspark.sql import Column

ARRIVED: Final = "arrived_us"
GONE: Final = "gone_us"
"""Sums of the times, since the start of their window, at which messages came and left."""
_ROWS: Final = "rows"
"""The measure that counts all events."""
_KEYS: Final = ("queue", "window", "measure", "value")


def facts(messages: DataFrame, requests: DataFrame, order: DataFrame, window_us: int) -> DataFrame:
    parts = (_of_messages(messages, window_us), _of_requests(requests), _of_order(order))
    return reduce(DataFrame.unionByName, parts).groupBy(*_KEYS).agg(*_sums("count", "total"))


def valid_rows(facts: DataFrame) -> int:
    """Returns the number of valid rows of the trace."""
    counted = facts.where(f"measure = '{_ROWS}'").agg(F.sum("count")).first()
    return int(counted[0] or 0) if counted else 0


def _sums(*names: str) -> "Iterator[Column]":
    yield from (F.sum(name).alias(name) for name in names)
    yield F.min("first_us").alias("first_us")
    yield F.max("last_us").alias("last_us")


def _of_messages(messages: DataFrame, window_us: int) -> DataFrame:
    """A message counts in the window of its send, its receive in that of its first lease."""
    sent, seen = f"sent_us DIV {window_us}", f"coalesce(leased_us, left_us) DIV {window_us}"
    each = (
        _fact("messages", "sent_us IS NOT NULL", sent),
        _fact("absent", "sent_us IS NOT NULL AND leased_us IS NULL", sent),
        _fact("corrupted", "corrupted", sent),
        _fact("unsent", "sent_us IS NULL", seen),
        _fact("received", "leased_us IS NOT NULL", seen),
        _fact("waiting", "sent_us + leased_us IS NOT NULL", sent, "leased_us - sent_us"),
        _fact("sojourn", "sent_us + left_us IS NOT NULL", sent, "left_us - sent_us"),
    )
    return _exploded(messages, each)


def _of_requests(requests: DataFrame) -> DataFrame:
    """First groups requests of one queue, window and event with the same response time."""
    answers = requests.groupBy(
        "queue", "window", "event", F.expr(shortened_sql("latency_us")).alias("value")
    ).agg(
        F.count("*").alias("requests"),
        F.sum("latency_us").alias("total"),
        *_sums("rows", "unnamed", "offset_us"),
    )
    each = [
        _fact(_ROWS, "true", count="rows"),
        _fact("unnamed", "event <> 'missed'", count="unnamed"),
    ]
    for kind in KINDS:
        own = f"event = '{kind.event}'"
        each += [
            _fact(kind.time, f"{own} AND value IS NOT NULL", value="value", count="requests"),
            _fact(kind.requests, own, count="requests"),
            _fact(kind.rows, own, count="rows"),
        ]
    each += [_fact(event, f"event = '{event}'", count="rows") for event in ("expired", "redriven")]
    each.append(_fact(ARRIVED, "event = 'sent'", count="offset_us"))
    each.append(_fact(GONE, "event IN ('settled', 'expired', 'redriven')", count="offset_us"))
    return _exploded(answers, each, ("first_us", "last_us"))


def _of_order(order: DataFrame) -> DataFrame:
    streams = [
        _fact("streams", "window IS NULL"),
        _fact("renumbered", "window IS NULL AND renumbered"),
    ]
    whole = [_fact(name, "window IS NULL", count=name) for name in ORDER]
    windows = [_fact(f"window_{name}", "window IS NOT NULL", count=name) for name in ORDER]
    return _exploded(order, [*streams, *whole, *windows])


def _fact(
    measure: str, condition: str, window: str = "window", value: str | None = None, count: str = "1"
) -> "Column":
    """Returns a fact for rows that meet the condition; `value` is an exact time."""
    total = "0L" if value is None else "total" if value == "value" else value
    shortened = "NULL" if value is None else value if value == "value" else shortened_sql(value)
    fields = {"window": window, "value": shortened, "count": count, "total": total}
    numbers = {name: f"CAST({field} AS BIGINT)" for name, field in fields.items()}
    return F.expr(struct_sql(condition, measure=f"'{measure}'", **numbers))


def _exploded(rows: DataFrame, each: "Sequence[Column]", times: Sequence[str] = ()) -> DataFrame:
    """Yields each row once for each of its facts; `times` are the columns of first and last
    time."""
    known = times or (F.lit(None).cast("bigint").alias(name) for name in ("first_us", "last_us"))
    found = rows.select("queue", *known, F.inline(F.array_compact(F.array(*each))))
    return found.select(*_KEYS, "count", "total", "first_us", "last_us")
