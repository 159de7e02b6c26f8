"""A trace observed by DuckDB, in this process."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from dovemq.models.calibration.samples import BITS, PER_DOUBLING, TIME_US_MAX
from dovemq.pipeline.calibration.events import EVENTS
from dovemq.pipeline.calibration.observed import SLICES, Observed
from dovemq.pipeline.metrics.damage import damage_named
from dovemq.pipeline.metrics.rules import REASON
from dovemq.pipeline.metrics.sources import Traces, readable_traces
from dovemq.pipeline.statements import statement

_BOUNDS: Final = {"time_us_max": TIME_US_MAX, "per_doubling": PER_DOUBLING, "bits": BITS}
_PARTS: Final = ("steps", "visits", "requests")


def observed_by_duckdb(places: Sequence[Path]) -> Observed:
    traces = readable_traces(places)
    with (
        damage_named(traces),
        tempfile.TemporaryDirectory(prefix="dovemq-duckdb-") as folder,
        duckdb.connect(config={"temp_directory": folder}) as connection,
    ):
        return observe(connection, connection.read_parquet(traces.paths), traces)


def observe(connection: Any, source: Any, traces: Traces | None = None) -> Observed:
    """`source` is a relation of a trace's rows."""
    source.create_view("trace")
    columns = ", ".join(EVENTS)
    connection.execute(
        f"CREATE VIEW events AS SELECT {columns} FROM trace WHERE ({REASON}) IS NULL"
    )
    rows, good = connection.execute(
        f"SELECT count(*), count(*) FILTER (({REASON}) IS NULL) FROM trace"
    ).fetchone()
    for part in _PARTS:
        connection.execute(f"CREATE TEMP TABLE {part} AS {statement(__package__, part)}")
    return Observed.of(
        lambda name: connection.sql(
            statement(__package__, name), params=_parameters(name)
        ).to_arrow_table(),
        rows=rows,
        quarantined=rows - good,
        refused=traces.refused if traces else (),
        engine="duckdb",
    )


def _parameters(name: str) -> dict[str, int]:
    return {"times": _BOUNDS, "front_ends": {"slices": SLICES}}.get(name, {})
