"""Periods of one queue's trace, calibrated and measured.

By DuckDB, in this process.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dovemq.models.calibration import CONFIDENCE
from dovemq.pipeline.calibration.commits import Commits, commits_of
from dovemq.pipeline.calibration.duck import observe
from dovemq.pipeline.calibration.parameters import Calibration, calibrated


@dataclass(frozen=True, slots=True)
class Period:
    """From and until in µs since 1970."""

    from_us: int
    until_us: int

    def split(self, share: float) -> "tuple[Period, Period]":
        """The first of them is such a share of it."""
        at_us = self.from_us + int(share * (self.until_us - self.from_us))
        return Period(self.from_us, at_us), Period(at_us, self.until_us)


class Traced:
    """`queue` is a pattern of SQL."""

    def __init__(self, directory: Path, queue: str) -> None:
        self._files = str(directory / "*.parquet")
        self._queue = queue

    def sending(self, warm_up_seconds: float) -> Period:
        """From the first send and a warm-up on until the last."""
        with duckdb.connect() as connection:
            rows = self._rows(connection).filter("event = 'sent'")
            ((first_us, last_us),) = rows.aggregate("min(at_us), max(at_us)").fetchall()
        return Period(first_us + int(1e6 * warm_up_seconds), last_us)

    def calibrated(self, period: Period, condition: str = "true") -> Calibration:
        within = f"ts_us BETWEEN {period.from_us} AND {period.until_us} AND {condition}"
        with duckdb.connect() as connection:
            observed = observe(connection, self._rows(connection).filter(within))
        return calibrated(observed, CONFIDENCE)

    def sojourn(self, period: Period) -> float:
        """Mean seconds from commit to settle of what was sent in the period."""
        return self._mean(period, "max(CASE event WHEN 'settled' THEN ts_us END) - min(at_us)")

    def latency(self, period: Period) -> float:
        """Mean seconds from a send read to its answer written, of the period's messages."""
        return self._mean(period, "min(CASE event WHEN 'sent' THEN latency_us END)")

    def commits(self, period: Period) -> Commits:
        """Of the sends of the period."""
        within = f"event = 'sent' AND at_us BETWEEN {period.from_us} AND {period.until_us}"
        with duckdb.connect() as connection:
            requests = self._rows(connection).filter(f"{within} AND latency_us IS NOT NULL")
            times = requests.aggregate(
                "min(ot_us - latency_us) AS read_us, min(at_us) AS at_us, ot_us", "client, ot_us"
            ).fetchnumpy()
        return commits_of(times["read_us"], times["at_us"], times["ot_us"])

    def _mean(self, period: Period, time_us: str) -> float:
        """`time_us` is of the rows of one message."""
        inside = f"began_us BETWEEN {period.from_us} AND {period.until_us}"
        with duckdb.connect() as connection:
            times = self._rows(connection).aggregate(
                f"message_id, min(at_us) AS began_us, {time_us} AS time_us", "message_id"
            )
            ((mean_us,),) = times.filter(inside).aggregate("avg(time_us)").fetchall()
        return float(mean_us) / 1e6

    def _rows(self, connection: Any) -> Any:
        return connection.read_parquet(self._files).filter(f"queue LIKE '{self._queue}'")
