"""The names and the order of the figures of a queue, for every engine.

Times are shortened to four digits, so that their distribution is a bounded table. A time below
10 ms keeps its microseconds. Means use the exact times.
"""

from typing import Final, NamedTuple


class Kind(NamedTuple):
    """An event that answers a request, with the names of its counts and times."""

    event: str
    time: str
    requests: str
    rows: str


KINDS: Final = (
    Kind("sent", "send", "sends", "sent"),
    Kind("leased", "receive", "hits", "receives"),
    Kind("missed", "miss", "misses", "missed"),
    Kind("settled", "settle", "settles", "settled"),
)
TIMES: Final = (*(kind.time for kind in KINDS), "waiting", "sojourn")
"""The measures in microseconds, each with a mean and quantiles."""
PERCENTS: Final = (50, 95, 99)
COUNTERS: Final = (
    *("sent", "receives", "received", "settled", "missed", "expired", "redriven", "unnamed"),
    *("messages", "absent", "corrupted", "unsent", "streams", "renumbered"),
    *("ordered", "out_of_order", "displacement"),
    *("window_ordered", "window_out_of_order", "window_displacement"),
    *(kind.requests for kind in KINDS),
)
_STATISTICS: Final = ("mean_us", *(f"p{percent}_us" for percent in PERCENTS))
_ORDER: Final = (
    *("ordered", "out_of_order", "displacement"),
    *("out_of_order_rate", "average_displacement"),
)


def time_columns(time: str) -> tuple[str, ...]:
    return tuple(f"{time}_{statistic}" for statistic in _STATISTICS)


def _figures(prefix: str) -> tuple[str, ...]:
    """`prefix` is that of the columns of order."""
    requests = [(kind.requests, *time_columns(kind.time)) for kind in KINDS]
    return (
        *("first_us", "last_us", "seconds", "sent", "receives", "received", "settled"),
        *("missed", "expired", "redriven", "unnamed"),
        *("messages", "duplicates", "absent", "corrupted", "lost", "unsent"),
        *("duplication_rate", "loss_rate"),
        *(() if prefix else ("streams", "renumbered")),
        *(prefix + name for name in _ORDER),
        *(name for columns in requests for name in columns),
        *("hit_rate", "miss_rate", "messages_per_hit"),
        *("sent_rate", "received_rate", "settled_rate"),
        *time_columns("waiting"),
        *time_columns("sojourn"),
        *("number_mean", "number_last", "little_ratio"),
    )


FIGURES: Final = _figures("")
"""Figures of a queue, and of all queues together."""
WINDOW_FIGURES: Final = _figures("window_")
"""Figures of a window of a queue; the order is that within the window."""
RATES: Final = {
    "duplicates": "receives - received",
    "lost": "absent + corrupted",
    "duplication_rate": "(receives - received) / nullif(messages, 0)",
    "loss_rate": "(absent + corrupted) / nullif(messages, 0)",
    "out_of_order_rate": "out_of_order / nullif(ordered, 0)",
    "average_displacement": "displacement / nullif(ordered, 0)",
    "window_out_of_order_rate": "window_out_of_order / nullif(window_ordered, 0)",
    "window_average_displacement": "window_displacement / nullif(window_ordered, 0)",
    "hit_rate": "hits / nullif(hits + misses, 0)",
    "miss_rate": "misses / nullif(hits + misses, 0)",
    "messages_per_hit": "receives / nullif(hits, 0)",
    "sent_rate": "sent / nullif(seconds, 0)",
    "received_rate": "receives / nullif(seconds, 0)",
    "settled_rate": "settled / nullif(seconds, 0)",
}
"""Figures computed from counters and seconds, in SQL for Spark and DuckDB."""


def struct_sql(condition: str, **fields: str) -> str:
    """Returns the Spark SQL of a struct with these fields; null if the condition is false."""
    named = ", ".join(f"'{name}', {field}" for name, field in fields.items())
    return f"CASE WHEN {condition} THEN named_struct({named}) END"


DIGITS: Final = 4
_STEPS: Final = 13
"""Four digits up to 10^17 µs, three thousand years."""


def shortened_sql(name: str) -> str:
    """Returns the SQL of the shortened expression, for Spark and DuckDB."""
    time = f"({name})"
    steps = [f"WHEN abs({time}) < {10**DIGITS} THEN {time}"]
    for step in range(1, _STEPS):
        steps.append(
            f"WHEN abs({time}) < {10 ** (DIGITS + step)} THEN {time} - {time} % {10**step}"
        )
    return " ".join(["CASE", *steps, f"ELSE {time} - {time} % {10**_STEPS}", "END"])
