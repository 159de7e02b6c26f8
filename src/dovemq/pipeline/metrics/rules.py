"""Which rows are believed: one expression of SQL that Spark and DuckDB read alike.

What a row must have is what the trace promises, and no more: a settle whose message is not known
any more has no id and is a good row.
"""

from typing import Final

from dovemq.telemetry.schema import Event

TIME_US_MAX: Final = 4_102_444_800_000_000
"""The year 2100: times in another unit than microseconds are found beyond it, or near zero."""
TIME_US_MIN: Final = 946_684_800_000_000
"""The year 2000."""
SEQ_MIN: Final = 1
"""Senders count from one, and so does the store; the kernels of order rely on it."""

_EVENTS: Final = ", ".join(f"'{event.value}'" for event in Event)
_OF_ALL: Final = ("event", "queue", "front_end", "ts_us")
_OF_BODIES: Final = ("message_id", "sender", "send_seq")
_TIMES: Final = ("ts_us", "at_us", "it_us", "ot_us")


def _rules() -> list[tuple[str, str]]:
    """Conditions in the order in which they are tried, each with the reason that it gives."""
    rules = [(f"{name} IS NULL", f"{name} is null") for name in _OF_ALL]
    rules.append((f"event NOT IN ({_EVENTS})", "event is unknown"))
    rules.append(("queue = ''", "queue is empty"))
    for name in _OF_BODIES:
        rules.append((f"{name} IS NULL AND event IN ('sent', 'leased')", f"{name} is null"))
    rules.append(("at_us IS NULL AND event = 'sent'", "at_us is null"))
    rules.append(("it_us IS NULL AND event = 'leased'", "it_us is null"))
    rules.append(("receive_seq IS NULL AND event = 'leased'", "receive_seq is null"))
    for name in _TIMES:
        outside = f"{name} < {TIME_US_MIN} OR {name} > {TIME_US_MAX}"
        rules.append((outside, f"{name} is out of range"))
    rules.append(("latency_us < 0", "latency_us is below zero"))
    rules.append(
        (f"send_seq < {SEQ_MIN} AND event IN ('sent', 'leased')", f"send_seq is below {SEQ_MIN}")
    )
    return rules


REASON: Final = " ".join(
    ["CASE", *(f"WHEN {condition} THEN '{reason}'" for condition, reason in _rules()), "END"]
)
"""Null for a row that is believed."""
MOMENT: Final = "CASE event WHEN 'sent' THEN at_us WHEN 'leased' THEN it_us ELSE ts_us END"
"""When the event happened to the message."""
