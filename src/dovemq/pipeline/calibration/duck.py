"""Observes a trace with DuckDB, in this process."""

import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Final

import duckdb

from dovemq.models.calibration.samples import BITS, PER_DOUBLING, TIME_US_MAX
from dovemq.pipeline.calibration.observed import SLICES, Observed
from dovemq.pipeline.errors import TracesMissing
from dovemq.pipeline.rules import MOMENT, VALID
from dovemq.pipeline.traces import Traces, damage_named, find_traces, statement

_PARAMETERS: Final[Mapping[str, Mapping[str, int]]] = {
    "times": {"time_us_max": TIME_US_MAX, "per_doubling": PER_DOUBLING, "bits": BITS},
    "front_ends": {"slices": SLICES},
}
"""The parameters of statements."""
_EVENTS: Final = (
    *("event", "queue", f"{MOMENT} AS moment_us", "message_id", "receive_count", "client"),
    *("front_end", "job_type", "latency_us", "ot_us - latency_us AS asked_us"),
    "ot_us AS answered_us",
)
_PARTS: Final = ("steps", "visits", "requests")


def observed_by_duckdb(places: Sequence[str]) -> Observed:
    traces = find_traces(places)
    if not traces.files:
        raise TracesMissing(places)
    with (
        damage_named(traces),
        tempfile.TemporaryDirectory(prefix="dovemq-duckdb-") as folder,
        duckdb.connect(config={"temp_directory": folder}) as connection,
    ):
        return observe(connection, connection.read_parquet(traces.paths), traces)


def observe(connection: Any, source: Any, traces: Traces | None = None) -> Observed:
    """`source` is a relation with the rows of a trace."""
    source.create_view("trace")
    columns = ", ".join(_EVENTS)
    connection.execute(f"CREATE VIEW events AS SELECT {columns} FROM trace WHERE {VALID}")
    rows, good = connection.execute(
        f"SELECT count(*), count(*) FILTER ({VALID}) FROM trace"
    ).fetchone()
    for part in _PARTS:
        connection.execute(f"CREATE TEMP TABLE {part} AS {statement(__package__, part)}")
    return Observed.of(
        lambda name: connection.sql(
            statement(__package__, name), params=_PARAMETERS.get(name, {})
        ).to_arrow_table(),
        rows=rows,
        quarantined=rows - good,
        refused=traces.refused if traces else (),
        engine="duckdb",
    )
