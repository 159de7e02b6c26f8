"""Chooses the engine that reads a trace: DuckDB for what one machine holds, else Spark."""

import importlib.util
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from dovemq.pipeline.errors import JavaUnfit
from dovemq.pipeline.places import local_path
from dovemq.pipeline.session import check_java

if TYPE_CHECKING:
    from dovemq.pipeline.calibration.observed import Observed
    from dovemq.pipeline.session import SparkPlan

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


def observed(
    periods: Sequence[Sequence[str]], engine: str, plan: "SparkPlan"
) -> Iterator["Observed"]:
    """Starts one Spark session for all periods."""
    if engine_for(engine, [place for places in periods for place in places]) == "duckdb":
        from dovemq.pipeline.calibration.duck import observed_by_duckdb

        for places in periods:
            yield observed_by_duckdb(places)
        return
    from dovemq.pipeline.calibration.spark import observed_by_spark
    from dovemq.pipeline.session import spark_session

    with spark_session(plan) as session:
        for places in periods:
            yield observed_by_spark(session, places)
