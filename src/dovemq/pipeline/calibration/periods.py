"""Calibrates and measures periods of the trace of one queue, with DuckDB."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dovemq.models.calibration.commits import RequestTimes
from dovemq.models.estimates import CONFIDENCE
from dovemq.pipeline.calibration.duck import observe
from dovemq.pipeline.calibration.parameters import Calibration, calibrated


@dataclass(frozen=True, slots=True)
class Period:
    """A period in microseconds since 1970."""

    from_us: int
    until_us: int

    def split(self, share: float) -> "tuple[Period, Period]":
        """Splits the period; the first part is the given share of it."""
        at_us = self.from_us + int(share * (self.until_us - self.from_us))
        return Period(self.from_us, at_us), Period(at_us, self.until_us)


class Traced:
    """A trace. `queue` is an SQL pattern; `seen` is a trace of the same messages by their
    clients."""

    def __init__(self, directory: Path, queue: str, seen: Path) -> None:
        self._files = str(directory / "*.parquet")
        self._queue = queue
        self._seen = str(seen / "*.parquet")

    def sending(self, warm_up_seconds: float) -> Period:
        """Returns the period from the first send, after a warm-up, to the last send."""
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
        """Returns the mean seconds from commit to settle of messages sent in the period."""
        inside = f"began_us BETWEEN {period.from_us} AND {period.until_us}"
        with duckdb.connect() as connection:
            times = self._rows(connection).aggregate(
                "message_id, min(at_us) AS began_us, "
                "max(CASE event WHEN 'settled' THEN ts_us END) - min(at_us) AS time_us",
                "message_id",
            )
            ((mean_us,),) = times.filter(inside).aggregate("avg(time_us)").fetchall()
        return float(mean_us) / 1e6

    def sends(self, period: Period) -> RequestTimes:
        """Returns the sends of the period whose answers the clients have seen."""
        within = f"event = 'sent' AND at_us BETWEEN {period.from_us} AND {period.until_us}"
        with duckdb.connect() as connection:
            seen = connection.read_parquet(self._seen).filter("event = 'sent'")
            rows = self._rows(connection).filter(f"{within} AND latency_us IS NOT NULL")
            both = rows.join(seen.project("message_id, latency_us AS response"), "message_id")
            found = both.aggregate(
                "min(ot_us - latency_us) AS read, min(at_us) AS at_, "
                "ot_us AS written, min(response) AS response",
                "client, ot_us",
            ).fetchnumpy()
        return RequestTimes(*(found[name] for name in ("read", "at_", "written", "response")))

    def _rows(self, connection: Any) -> Any:
        return connection.read_parquet(self._files).filter(f"queue LIKE '{self._queue}'")
