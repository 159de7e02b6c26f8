"""The real service under load, on this machine, and what its lifecycle trace tells of a period."""

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np

from dovemq.load.faults.process import ServerProcess
from dovemq.load.plan import Endpoint, Plan
from dovemq.load.run import run
from dovemq.models.simulation.estimates import BATCHES, Estimate, ratio
from dovemq.pipeline.calibration.duck import observe
from dovemq.pipeline.calibration.parameters import Calibration, calibrated

CONFIDENCE: Final = 0.95


class LoadFailed(RuntimeError):
    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"load {name} did not come to its end: {why}")


class Service:
    """A server process with a trace; it is stopped before the trace is read."""

    def __init__(self, folder: Path) -> None:
        self._trace = folder / "trace"
        # Signatures are no part of what is measured, and loopback alone is reached.
        args = ["--insecure-no-auth", "--trace", str(self._trace)]
        self._process = ServerProcess(folder / "data", args=args)

    def start(self) -> None:
        self._process.start()

    def stop(self) -> None:
        if self._process.running:
            self._process.stop()

    def load(self, name: str, **fields: Any) -> float:
        """Runs a plan to its end; answers the rate of its sends."""
        plan = Plan(endpoint=Endpoint(self._process.endpoint_url), name=name, **fields)
        result = asyncio.run(run(plan))
        if result.failed:
            raise LoadFailed(name, result.failure or "the account does not come out even")
        return result.figures["send rate"].median

    def traced(self, name: str) -> "Traced":
        """What was written of a load's queue; once the server has stopped."""
        return Traced(self._trace, f"%/{name}-1-0")


@contextlib.contextmanager
def service() -> Iterator[Service]:
    """On a directory of its own, which goes with it."""
    with tempfile.TemporaryDirectory(prefix="dovemq-loop-") as folder:
        made = Service(Path(folder))
        made.start()
        try:
            yield made
        finally:
            made.stop()


@dataclass(frozen=True, slots=True)
class Period:
    """From and until in µs since 1970."""

    from_us: int
    until_us: int

    def halves(self) -> "tuple[Period, Period]":
        middle_us = (self.from_us + self.until_us) // 2
        return Period(self.from_us, middle_us), Period(middle_us, self.until_us)


class Traced:
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

    def sojourn(self, period: Period) -> Estimate:
        """Seconds from commit to settle of what was sent in the period, by batches of it."""
        return self._batched(
            period,
            "message_id, min(at_us) AS began_us, max(CASE event WHEN 'settled' THEN ts_us END) "
            "- min(at_us) AS time_us",
            "message_id",
        )

    def latency(self, period: Period) -> Estimate:
        """Seconds from the send read to its answer written, by batches of the period."""
        return self._batched(
            period,
            "message_id, min(at_us) AS began_us, min(CASE event WHEN 'sent' THEN latency_us END) "
            "AS time_us",
            "message_id",
        )

    def _batched(self, period: Period, columns: str, group: str) -> Estimate:
        with duckdb.connect() as connection:
            times = self._rows(connection).aggregate(columns, group)
            inside = f"began_us BETWEEN {period.from_us} AND {period.until_us}"
            table = times.filter(f"{inside} AND time_us IS NOT NULL").to_arrow_table()
        began_us, times_us = (table[name].to_numpy() for name in ("began_us", "time_us"))
        span_us = period.until_us - period.from_us + 1
        slices = (began_us - period.from_us) * BATCHES // span_us
        sums = np.bincount(slices, times_us / 1e6, minlength=BATCHES).astype(np.float64)
        counts = np.bincount(slices, minlength=BATCHES).astype(np.float64)
        return ratio(sums[None, :], counts[None, :], CONFIDENCE)

    def _rows(self, connection: Any) -> Any:
        return connection.read_parquet(self._files).filter(f"queue LIKE '{self._queue}'")
