"""The figures of a monitor for each queue and batch: names, columns and rates."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

import pyarrow as pa

from dovemq.models.consistency import METRICS, Consistency

COUNTS: Final[Mapping[str, str]] = {
    "first_us": "time of the first send or lease, µs since 1970 UTC",
    "last_us": "time of the newest send or lease",
    "watermark_us": "time up to which rows are counted in order",
    "sent": "rows of sends",
    "messages": "messages sent",
    "receives": "rows of leases",
    "received": "messages received",
    "settled": "rows of settles",
    "duplicates": "receives beyond the first of each message",
    "absent": "messages not received within the horizon after they were sent",
    "corrupted": "messages received, but never with the checksum they were sent with",
    "unsent": "messages received without a send within the horizon",
    "open": "messages sent within the horizon and not received yet",
    "ordered": "messages that take part in the figures of order",
    "unordered": "messages received whose order is not judged",
    "renumbered": "senders that gave one number to several messages",
    "out_of_order": "messages outside the longest increasing subsequence of their stream",
    "displacement": "sum of the distances of messages from their place in order",
    "late": "rows that came after the watermark had passed them",
    "forgotten": "messages forgotten too early, because too many were remembered",
    "remembered": "messages in memory",
    "pending": "rows that wait for the watermark; the figures include them",
}
QUEUE: Final = "queue"
KEPT: Final = "kept"
"""The serialised memory of a queue (`memory.py`), beside its figures."""
STATE: Final = pa.schema(
    [(QUEUE, pa.string()), *((name, pa.int64()) for name in COUNTS), (KEPT, pa.binary())]
)
RATES: Final = tuple(METRICS)
TABLE: Final = pa.schema(
    [
        ("batch", pa.int64()),
        (QUEUE, pa.string()),
        *((name, pa.int64()) for name in COUNTS),
        *((name, pa.float64()) for name in RATES),
    ]
)


def with_rates(batch: int, counts: Mapping[str, Any]) -> dict[str, Any]:
    """Turns a row of `STATE` into a row of `TABLE`."""
    found = Consistency(*(counts[field.name] for field in fields(Consistency)))
    return {"batch": batch, **counts, **found.rates}
