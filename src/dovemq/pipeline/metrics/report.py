"""What a run of metrics reports: small tables for people, and what was left out and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovemq.pipeline.traces import Refusal

QUEUES_MAX: Final = 1_000
WINDOWS_MAX: Final = 10_000
"""Rows of a report; the tables that are written have all of them."""
TABLES: Final = ("metrics_by_queue", "metrics_by_window", "overall", "quarantine")
"""Names of the tables that are written. Windows are partitioned by `DAY`."""
DAY: Final = "day"


@dataclass(frozen=True, slots=True)
class MetricsReport:
    """`by_queue`, `by_window` and `overall` are Arrow tables, in order of queue and time.

    `rows` is the number of valid rows, `reasons` counts the invalid ones, `refused` are files that
    were not read at all. `written` are the places of the tables.
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
        """No row and no file was left out."""
        return not self.reasons and not self.refused

    @property
    def truncated(self) -> bool:
        """There may be more queues or windows than the report holds."""
        rows: tuple[int, int] = (self.by_queue.num_rows, self.by_window.num_rows)
        return rows[0] >= QUEUES_MAX or rows[1] >= WINDOWS_MAX
