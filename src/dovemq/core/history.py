"""A point of the history of a queue, as servers keep it and pages show it."""

from msgspec import Struct


class HistoryPoint(Struct, frozen=True, array_like=True):
    """Counts, the age of the oldest visible message, and messages per second, at a time."""

    at_ms: int
    visible: int
    leased: int
    delayed: int
    oldest_age_ms: int
    sent: float
    received: float
    settled: float
