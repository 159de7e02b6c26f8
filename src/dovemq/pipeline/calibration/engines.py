"""Periods of a trace observed by the engine that is asked for, or that suits them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dovemq.pipeline.metrics.choice import engine_for
from dovemq.pipeline.metrics.sources import find_traces

if TYPE_CHECKING:
    from dovemq.pipeline.calibration.observed import Observed
    from dovemq.pipeline.session import SparkPlan


def observed(
    periods: Sequence[Sequence[Path]], engine: str, plan: "SparkPlan"
) -> Iterator["Observed"]:
    """A Spark session is started once for all."""
    if engine == "auto":
        engine = engine_for(sum(find_traces(places).rows for places in periods))
    if engine == "duckdb":
        from dovemq.pipeline.calibration.duck import observed_by_duckdb

        for places in periods:
            yield observed_by_duckdb(places)
        return
    from dovemq.pipeline.calibration.spark import observed_by_spark
    from dovemq.pipeline.session import spark_session

    with spark_session(plan) as session:
        for places in periods:
            yield observed_by_spark(session, places)
