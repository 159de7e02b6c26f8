"""From what the engines found to the tables that are handed out: the same SQL for both."""

from typing import Any, Final

import duckdb
import pyarrow as pa

from dovemq.pipeline.statements import statement

_KINDS: Final = (
    ("sent", "send", "sends", "sent"),
    ("leased", "receive", "hits", "receives"),
    ("missed", "miss", "misses", "missed"),
    ("settled", "settle", "settles", "settled"),
)
"""Events that answer a request: the names of its response time, of requests, of their rows."""
_TIMES: Final = ("mean_us", "p50_us", "p95_us", "p99_us")
_ORDER: Final = ("ordered", "out_of_order", "displacement")
_ORDER_RATES: Final = ("out_of_order_rate", "average_displacement")


def _columns(prefix: str) -> tuple[str, ...]:
    """All figures of a level in their order; `prefix` is that of the columns of order."""
    order = tuple(prefix + name for name in (*_ORDER, *_ORDER_RATES))
    requests = [(number, *(f"{name}_{time}" for time in _TIMES)) for _, name, number, _ in _KINDS]
    return (
        *("first_us", "last_us", "seconds", "sent", "receives", "received", "settled"),
        *("missed", "expired", "redriven", "unnamed"),
        *("messages", "duplicates", "absent", "corrupted", "lost", "unsent"),
        *("duplication_rate", "loss_rate"),
        *(() if prefix else ("streams", "renumbered")),
        *order,
        *(name for columns in requests for name in columns),
        *("hit_rate", "miss_rate", "messages_per_hit"),
        *("sent_rate", "received_rate", "settled_rate"),
        *(f"{name}_{time}" for name in ("waiting", "sojourn") for time in _TIMES),
        *("number_mean", "number_last", "little_ratio"),
    )


FIGURES: Final = _columns("")
WINDOW_FIGURES: Final = _columns("window_")


def finish(requests: Any, accounts: Any, window_us: int) -> tuple[Any, Any, Any]:
    """The tables by queue, by window and overall."""
    kinds = pa.Table.from_pylist(
        [dict(zip(("event", "measure", "requests", "rows"), kind, strict=True)) for kind in _KINDS]
    )
    with duckdb.connect() as connection:
        connection.register("requests", requests)
        connection.register("accounts", accounts)
        connection.register("requests_of", kinds)
        connection.execute(statement(__package__, "finish", window_us=window_us))
        return (
            _level(connection, "queue", ("queue",), FIGURES),
            _level(connection, "window", ("queue", "window_start_us"), WINDOW_FIGURES),
            _level(connection, "overall", (), FIGURES),
        )


def _level(connection: Any, level: str, keys: tuple[str, ...], figures: tuple[str, ...]) -> Any:
    relation = connection.table("figures").filter(f"level = '{level}'")
    relation = relation.project(", ".join(f'"{name}"' for name in (*keys, *figures)))
    return (relation.order(", ".join(keys)) if keys else relation).to_arrow_table()
