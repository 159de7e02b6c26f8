"""Observes periods of a trace with the requested or the suitable engine."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dovemq.pipeline.engines import engine_for

if TYPE_CHECKING:
    from dovemq.pipeline.calibration.observed import Observed
    from dovemq.pipeline.session import SparkPlan


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
