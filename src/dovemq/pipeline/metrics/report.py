"""The report of metrics: small tables for people, and what was left out and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovemq.pipeline.traces import Refusal

QUEUES_MAX: Final = 1_000
WINDOWS_MAX: Final = 10_000
"""The most rows of a report; the written tables have all rows."""
TABLES: Final = ("metrics_by_queue", "metrics_by_window", "overall", "quarantine")
"""The names of the written tables. Windows are partitioned by `DAY`."""
DAY: Final = "day"


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """`by_queue`, `by_window` and `overall` are Arrow tables, sorted by queue and time.

    `rows` counts the valid rows, `reasons` the invalid ones; `refused` files were not read.
    `written` are the places of the tables.
    """

    engine: str
    rows: int
    reasons: Mapping[str, int]
    refused: tuple[Refusal, ...]
    by_queue: Any
    by_window: Any
    overall: Any
    written: tuple[str, ...] = ()

    @property
    def quarantined(self) -> int:
        return sum(self.reasons.values())

    @property
    def sound(self) -> bool:
        """Tells whether no row and no file was left out."""
        return not self.reasons and not self.refused

    @property
    def truncated(self) -> bool:
        """Tells whether there may be more queues or windows than the report has."""
        rows: tuple[int, int] = (self.by_queue.num_rows, self.by_window.num_rows)
        return rows[0] >= QUEUES_MAX or rows[1] >= WINDOWS_MAX
