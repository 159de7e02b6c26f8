"""Chooses the engine that reads a trace: DuckDB for what one machine holds, else Spark."""

import importlib.util
from collections.abc import Sequence
from typing import Final

from dovemq.pipeline.errors import JavaUnfit
from dovemq.pipeline.java import check_java
from dovemq.pipeline.places import local_path

ENGINES: Final = ("auto", "spark", "duckdb")
DUCKDB_ROWS_MAX: Final = 20_000_000
"""About a minute's work; beyond it the start of a Spark session costs little in comparison."""


def engine_for(asked: str, traces: Sequence[str], out: str | None = None) -> str:
    """Returns the requested engine; `auto` decides by the place and size of the traces."""
    if asked != "auto":
        return asked
    if any(local_path(place) is None for place in (*traces, *([out] if out else []))):
        return "spark"
    return "spark" if _rows(traces) > DUCKDB_ROWS_MAX and _has_spark() else "duckdb"


def _rows(traces: Sequence[str]) -> int:
    from dovemq.pipeline.traces import find_traces

    return find_traces(traces).rows


def _has_spark() -> bool:
    if importlib.util.find_spec("pyspark") is None:
        return False
    try:
        check_java()
    except JavaUnfit:
        return False
    return True
