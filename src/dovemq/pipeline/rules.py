"""The rules for valid rows of a trace, as SQL conditions for Spark and DuckDB.

A settle whose message id is no longer known has no id, and is valid.
"""

from collections.abc import Iterator
from typing import Final

from dovemq.telemetry.schema import TraceEvent

TIME_US_MAX: Final = 4_102_444_800_000_000
"""The year 2100: times in another unit than microseconds are beyond it, or near zero."""
TIME_US_MIN: Final = 946_684_800_000_000
"""The year 2000."""
SEQ_MIN: Final = 1
"""Senders and the store count from one."""

_EVENTS: Final = ", ".join(f"'{event.value}'" for event in TraceEvent)
_WITH_BODY: Final = "event IN ('sent', 'leased')"


def _rules() -> Iterator[tuple[str, str]]:
    """Yields each condition of a valid row, with the reason to refuse a row that does not meet it.

    Only the first failing condition counts, so a later one may rely on those before it.
    """
    for name in ("event", "queue", "front_end", "ts_us"):
        yield f"{name} IS NOT NULL", f"{name} is null"
    yield f"event IN ({_EVENTS})", "event is unknown"
    yield "queue <> ''", "queue is empty"
    for name in ("message_id", "sender", "send_seq"):
        yield f"{name} IS NOT NULL OR NOT ({_WITH_BODY})", f"{name} is null"
    yield "at_us IS NOT NULL OR event <> 'sent'", "at_us is null"
    yield "it_us IS NOT NULL OR event <> 'leased'", "it_us is null"
    yield "receive_seq IS NOT NULL OR event <> 'leased'", "receive_seq is null"
    for name in ("ts_us", "at_us", "it_us", "ot_us"):
        inside = f"({name} >= {TIME_US_MIN} AND {name} <= {TIME_US_MAX})"
        yield f"{name} IS NULL OR {inside}", f"{name} is out of range"
    yield "latency_us IS NULL OR latency_us >= 0", "latency_us is below zero"
    numbered = f"send_seq IS NULL OR send_seq >= {SEQ_MIN} OR NOT ({_WITH_BODY})"
    yield numbered, f"send_seq is below {SEQ_MIN}"


VALID: Final = " AND ".join(f"({condition})" for condition, _ in _rules())
"""A conjunction of plain comparisons, which Spark pushes down to the files one by one."""
REASON: Final = " ".join(
    ["CASE", *(f"WHEN NOT ({condition}) THEN '{reason}'" for condition, reason in _rules()), "END"]
)
"""The reason why a row is invalid; null for a valid one."""
MOMENT: Final = "CASE event WHEN 'sent' THEN at_us WHEN 'leased' THEN it_us ELSE ts_us END"
"""The time at which the event happened to the message."""
